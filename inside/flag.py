"""What the tests, the board and the side trees use of flag beside the public names."""

from fairtrial.methods.flag import answer as answer
from fairtrial.methods.flag.chart import LIGHT_INK as LIGHT_INK
from fairtrial.methods.flag.chart import contrast as contrast
from fairtrial.methods.flag.chart import tile_colours as tile_colours
