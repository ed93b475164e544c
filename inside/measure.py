"""What the tests, the board and the side trees use of measure beside the public names."""

from fairtrial._compare.threshold_curves import STEP as STEP
