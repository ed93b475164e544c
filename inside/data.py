"""What the tests, the board and the side trees use of data beside the public names."""

from fairtrial._audit import columns as columns
from fairtrial._audit import spark_units as spark_units
from fairtrial._audit.arguments import definition as definition
from fairtrial._audit.arguments import merging as merging
from fairtrial._audit.cells import Cells as Cells
from fairtrial._audit.cells import Coded as Coded
from fairtrial._audit.cells import LeftOut as LeftOut
from fairtrial._audit.cells import distinct as distinct
from fairtrial._audit.direction import associate as associate
from fairtrial._audit.direction import harmed_side as harmed_side
from fairtrial._audit.direction import read_score_favours as read_score_favours
from fairtrial._audit.expressions import EXPRESSIONS as EXPRESSIONS
from fairtrial._audit.frames import Counted as Counted
from fairtrial._audit.groups import check_target as check_target
from fairtrial._audit.groups import find_groups as find_groups
from fairtrial._audit.query import Query as Query
from fairtrial._audit.roles import ROLE_NAMES as ROLE_NAMES
from fairtrial._audit.schema import UnknownOutcomes as UnknownOutcomes
