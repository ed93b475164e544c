"""What the tests, the board and the side trees use of tabulate beside the public names."""

from fairtrial.methods.tabulate.answer import TABLES as TABLES
from fairtrial.methods.tabulate.method import entry as entry
