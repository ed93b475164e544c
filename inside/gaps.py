"""What the tests, the board and the side trees use of gaps beside the public names."""

import fairtrial.methods.gaps.outcome_bounds
from fairtrial.methods.gaps import compared_rows as compared_rows
from fairtrial.methods.gaps import words as words
from fairtrial.methods.gaps.between_ends import range_words as range_words
from fairtrial.methods.gaps.judgement import certified as certified
from fairtrial.methods.gaps.known_outcomes import SelectiveLabels as SelectiveLabels
from fairtrial.methods.gaps.known_outcomes import left_out_text as left_out_text
from fairtrial.methods.gaps.labels_needed import labels_needed as labels_needed
from fairtrial.methods.gaps.model_adjusted import expected_chance as expected_chance
from fairtrial.methods.gaps.model_adjusted import expected_mean as expected_mean
from fairtrial.methods.gaps.outcome_bounds import outcome_bounds as outcome_bounds
from fairtrial.methods.gaps.probable_bounds import DEPENDS as DEPENDS
from fairtrial.methods.gaps.probable_bounds import DUAL as DUAL
from fairtrial.methods.gaps.probable_bounds import WEIGHTED as WEIGHTED

outcome_bounds_DEPENDS = fairtrial.methods.gaps.outcome_bounds.DEPENDS
