"""What the tests, the board and the side trees use of flag beside the public names."""

from fairtrial._compare import flag_answer as flag_answer
from fairtrial._compare.charts import LIGHT_INK as LIGHT_INK
from fairtrial._compare.charts import contrast as contrast
from fairtrial._compare.charts import tile_colours as tile_colours
from fairtrial._compare.small_cell_words import beyond_words as beyond_words
from fairtrial._compare.small_cell_words import whole_sentence as whole_sentence
