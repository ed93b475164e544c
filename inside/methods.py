"""What the tests, the board and the side trees use of methods beside the public names."""

from fairtrial.methods import declaration as declaration
from fairtrial.methods.declaration import EVIDENCE as EVIDENCE
from fairtrial.methods.declaration import Method as Method
from fairtrial.methods.declaration import declared_methods as declared_methods
from fairtrial.methods.declaration import find_method as find_method
from fairtrial.methods.declaration import trial_methods as trial_methods
