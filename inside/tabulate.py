"""What the tests, the board and the side trees use of tabulate beside the public names."""

from fairtrial._compare.tables import TABLES as TABLES
from fairtrial._compare.tabulate import entry as entry
