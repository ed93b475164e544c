# The papers' rooms, and what they share: what `fairtrial.papers.X` finds, on first use.
from . import conditional_bias_scan as conditional_bias_scan
from . import elfa as elfa
from . import improvability as improvability
from . import shapley_rawls as shapley_rawls
from . import transport as transport
from ._data import data as data
from ._reproduction import Reproduction as Reproduction
