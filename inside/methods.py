"""What the tests, the board and the side trees use of methods beside the public names."""

from fairtrial._method import declaration as declaration
from fairtrial._method.declaration import EVIDENCE as EVIDENCE
from fairtrial._method.declaration import Method as Method
from fairtrial._method.declaration import all_methods as all_methods
from fairtrial._method.declaration import declared_methods as declared_methods
from fairtrial._method.declaration import find_method as find_method
from fairtrial._method.declaration import trial_methods as trial_methods
