"""What the tests, the board and the side trees use of metrics beside the public names."""

from fairtrial._metrics.groups import Favours as Favours
from fairtrial._metrics.groups import Group as Group
from fairtrial._metrics.groups import Target as Target
from fairtrial._metrics.groups import describes_people as describes_people
from fairtrial._metrics.groups import effect_of as effect_of
from fairtrial._metrics.groups import find_target as find_target
from fairtrial._metrics.groups import harmed_side as harmed_side
from fairtrial._metrics.table import ALIASES as ALIASES
from fairtrial._metrics.table import MetricName as MetricName
from fairtrial._metrics.table import find_metric as find_metric
from fairtrial._metrics.table import find_metrics as find_metrics
from fairtrial._metrics.values import ROLES as ROLES
from fairtrial._metrics.values import Role as Role
