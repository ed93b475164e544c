"""What the tests, the board and the side trees use of papers beside the public names."""

from fairtrial.papers.conditional_bias_scan import BERNOULLI as BERNOULLI
from fairtrial.papers.conditional_bias_scan import GAUSSIAN as GAUSSIAN
from fairtrial.papers.conditional_bias_scan import CellList as CellList
from fairtrial.papers.conditional_bias_scan import CellNumbers as CellNumbers
from fairtrial.papers.conditional_bias_scan import Designs as Designs
from fairtrial.papers.conditional_bias_scan import Expectations as Expectations
from fairtrial.papers.conditional_bias_scan import SearchedCells as SearchedCells
from fairtrial.papers.conditional_bias_scan import drawn_class as drawn_class
from fairtrial.papers.conditional_bias_scan import drawn_events as drawn_events
from fairtrial.papers.conditional_bias_scan import expected_events as expected_events
from fairtrial.papers.conditional_bias_scan import find_subgroups as find_subgroups
from fairtrial.papers.conditional_bias_scan import maximum_scores as maximum_scores
from fairtrial.papers.conditional_bias_scan import penalty_roots as penalty_roots
from fairtrial.papers.conditional_bias_scan import plan_search as plan_search
from fairtrial.papers.conditional_bias_scan import pooled_propensity as pooled_propensity
from fairtrial.papers.conditional_bias_scan import pooled_rates as pooled_rates
from fairtrial.papers.conditional_bias_scan import prepare as prepare
from fairtrial.papers.conditional_bias_scan import scan_draws as scan_draws
from fairtrial.papers.conditional_bias_scan import scan_observed as scan_observed
from fairtrial.papers.conditional_bias_scan import set_peak as set_peak
from fairtrial.papers.conditional_bias_scan import spread as spread
from fairtrial.papers.conditional_bias_scan import stratified as stratified
from fairtrial.papers.conditional_bias_scan import whole_sample as whole_sample
