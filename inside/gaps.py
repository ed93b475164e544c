"""What the tests, the board and the side trees use of gaps beside the public names."""

import fairtrial._compare.unknown_outcomes
from fairtrial._compare import comparing as comparing
from fairtrial._compare import words as words
from fairtrial._compare.judgement import certified as certified
from fairtrial._compare.probable_groups import DEPENDS as DEPENDS
from fairtrial._compare.probable_groups import DUAL as DUAL
from fairtrial._compare.probable_groups import WEIGHTED as WEIGHTED
from fairtrial._compare.strata import expected_chance as expected_chance
from fairtrial._compare.strata import expected_mean as expected_mean
from fairtrial._compare.unknown_outcomes import labels_needed as labels_needed
from fairtrial._compare.unknown_outcomes import outcome_bounds as outcome_bounds
from fairtrial._compare.words import range_words as range_words
from fairtrial._method.selective_labels import SelectiveLabels as SelectiveLabels
from fairtrial._method.selective_labels import left_out_text as left_out_text

outcome_bounds_DEPENDS = fairtrial._compare.unknown_outcomes.DEPENDS
