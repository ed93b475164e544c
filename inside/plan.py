"""What the tests, the board and the side trees use of plan beside the public names."""

from fairtrial._plan import answer as answer
