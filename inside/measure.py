"""What the tests, the board and the side trees use of measure beside the public names."""

from fairtrial.methods.measure.curves import STEP as STEP
