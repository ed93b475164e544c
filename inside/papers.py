"""What the tests, the board and the side trees use of the papers beside the public names."""

from fairtrial.papers.elfa._gaps import TargetMethod as TargetMethod
