"""What the tests, the board and the side trees use of ground beside the public names."""

import fairtrial.options.declared
from fairtrial.errors import PYTHON as PYTHON
from fairtrial.errors import Cancelled as Cancelled
from fairtrial.errors import Fault as Fault
from fairtrial.errors import Faults as Faults
from fairtrial.errors import GateClosed as GateClosed
from fairtrial.errors import MissingExtra as MissingExtra
from fairtrial.errors import Named as Named
from fairtrial.errors import NotApplicable as NotApplicable
from fairtrial.errors import Note as Note
from fairtrial.errors import NotWritten as NotWritten
from fairtrial.errors import Set as Set
from fairtrial.errors import Use as Use
from fairtrial.errors import Words as Words
from fairtrial.errors import check_choice as check_choice
from fairtrial.errors import did_you_mean as did_you_mean
from fairtrial.labels import MISSING as MISSING
from fairtrial.labels import canonical as canonical
from fairtrial.labels import is_missing as is_missing
from fairtrial.options import Argument as Argument
from fairtrial.options import Option as Option
from fairtrial.options import arguments_of as arguments_of
from fairtrial.options import checked as checked
from fairtrial.options import cuts as cuts
from fairtrial.options.declared import recorded as recorded
from fairtrial.work import FileStore as FileStore
from fairtrial.work import MemoryStore as MemoryStore
from fairtrial.work import checksum as checksum
from fairtrial.work import generator as generator
from fairtrial.work import map_batches as map_batches
from fairtrial.work import memory as memory
from fairtrial.work import notebook as notebook
from fairtrial.work import session as session
from fairtrial.work.cluster import cluster as cluster
from fairtrial.work.compiled import _Compiling as _Compiling
from fairtrial.work.whole_files import write_whole as write_whole

declared_arguments_of = fairtrial.options.declared.arguments_of
