"""What the tests, the board and the side trees use of flag beside the public names."""

from fairtrial._compare.flag import answer as answer
from fairtrial._compare.flag.chart import LIGHT_INK as LIGHT_INK
from fairtrial._compare.flag.chart import contrast as contrast
from fairtrial._compare.flag.chart import tile_colours as tile_colours
