"""What the tests, the board and the side trees use of tabulate beside the public names."""

from fairtrial.methods.tabulate.method import entry as entry
from fairtrial.methods.tabulate.tables import TABLES as TABLES
