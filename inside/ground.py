"""What the tests, the board and the side trees use of ground beside the public names."""

import fairtrial._options
from fairtrial._errors import PYTHON as PYTHON
from fairtrial._errors import Cancelled as Cancelled
from fairtrial._errors import Fault as Fault
from fairtrial._errors import Faults as Faults
from fairtrial._errors import GateClosed as GateClosed
from fairtrial._errors import MissingExtra as MissingExtra
from fairtrial._errors import Named as Named
from fairtrial._errors import NotApplicable as NotApplicable
from fairtrial._errors import Note as Note
from fairtrial._errors import NotWritten as NotWritten
from fairtrial._errors import Set as Set
from fairtrial._errors import Use as Use
from fairtrial._errors import Words as Words
from fairtrial._errors import check_choice as check_choice
from fairtrial._errors import did_you_mean as did_you_mean
from fairtrial._labels import MISSING as MISSING
from fairtrial._labels import canonical as canonical
from fairtrial._labels import is_missing as is_missing
from fairtrial._options import Argument as Argument
from fairtrial._options import Option as Option
from fairtrial._options import arguments_of as arguments_of
from fairtrial._options import checked as checked
from fairtrial._options import recorded as recorded
from fairtrial._options.kinds import cuts as cuts
from fairtrial._work import FileStore as FileStore
from fairtrial._work import MemoryStore as MemoryStore
from fairtrial._work import checksum as checksum
from fairtrial._work import extras as extras
from fairtrial._work import generator as generator
from fairtrial._work import map_batches as map_batches
from fairtrial._work import memory as memory
from fairtrial._work import notebook as notebook
from fairtrial._work import session as session
from fairtrial._work.cluster import cluster as cluster
from fairtrial._work.compiled import _Compiling as _Compiling
from fairtrial._work.kept_files import write_whole as write_whole

declared_arguments_of = fairtrial._options.arguments_of
