"""What the tests, the board and the side trees use of data beside the public names."""

from fairtrial.data import columns as columns
from fairtrial.data import spark_units as spark_units
from fairtrial.data.arguments import definition as definition
from fairtrial.data.cells import Cells as Cells
from fairtrial.data.cells import Coded as Coded
from fairtrial.data.cells import LeftOut as LeftOut
from fairtrial.data.cells import distinct as distinct
from fairtrial.data.counted import Counted as Counted
from fairtrial.data.expressions import EXPRESSIONS as EXPRESSIONS
from fairtrial.data.groups import check_target as check_target
from fairtrial.data.groups import find_groups as find_groups
from fairtrial.data.kept_cells import KeptCells as KeptCells
from fairtrial.data.query import Query as Query
from fairtrial.data.schema import ROLE_NAMES as ROLE_NAMES
from fairtrial.data.schema import Unlabelled as Unlabelled
