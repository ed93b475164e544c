"""What the tests, the board and the side trees use of plan beside the public names."""

from fairtrial.methods.plan import answer as answer
from fairtrial.methods.plan import monitoring as monitoring
