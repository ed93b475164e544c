"""What the tests, the board and the side trees use of measure beside the public names."""

from fairtrial._compare.measure.thresholds_answer import STEP as STEP
