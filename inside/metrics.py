"""What the tests, the board and the side trees use of metrics beside the public names."""

from fairtrial.metrics.groups import Group as Group
from fairtrial.metrics.groups import Target as Target
from fairtrial.metrics.groups import find_target as find_target
from fairtrial.metrics.harm import describes_people as describes_people
from fairtrial.metrics.harm import effect_of as effect_of
from fairtrial.metrics.harm import harmed_side as harmed_side
from fairtrial.metrics.table import find_metric as find_metric
from fairtrial.metrics.table import find_metrics as find_metrics
from fairtrial.metrics.values import ROLES as ROLES
from fairtrial.metrics.values import Role as Role
