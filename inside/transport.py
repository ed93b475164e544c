"""What the tests, the board and the side trees use of transport beside the public names."""

from fairtrial._transport import sentences as sentences
from fairtrial._transport.method import linear_rule as linear_rule
from fairtrial._transport.solver import change_bootstrap as change_bootstrap
from fairtrial._transport.solver import distances as distances
from fairtrial._transport.solver.change_bootstrap import Sizes as Sizes
from fairtrial._transport.solver.change_bootstrap import change_intervals as change_intervals
from fairtrial._transport.solver.change_bootstrap import sizes_of_change as sizes_of_change
from fairtrial._transport.solver.distances import leaf_boxes as leaf_boxes
from fairtrial._transport.solver.distances import linear_distance as linear_distance
from fairtrial._transport.solver.distances import predict_distance as predict_distance
from fairtrial._transport.solver.distances import tree_distance as tree_distance
from fairtrial._transport.solver.gap_test import person_test as person_test
from fairtrial._transport.solver.gap_test import pooled_test as pooled_test
from fairtrial._transport.solver.programs import Limits as Limits
from fairtrial._transport.solver.programs import band_program as band_program
from fairtrial._transport.solver.projection import project as project
from fairtrial._transport.solver.projection import transport_plan as transport_plan
from fairtrial._transport.solver.rate_contrasts import Floats as Floats
from fairtrial._transport.solver.rate_contrasts import Nearest as Nearest
from fairtrial._transport.solver.rate_contrasts import RateContrasts as RateContrasts
from fairtrial._transport.solver.rate_contrasts import band as band
from fairtrial._transport.solver.rate_contrasts import disjoint_families as disjoint_families
from fairtrial._transport.solver.rate_contrasts import from_matrices as from_matrices
from fairtrial._transport.solver.rate_contrasts import overlapping_families as overlapping_families
from fairtrial.papers.transport._article_test import _bound_tail as _bound_tail
from fairtrial.papers.transport._article_test import article_test as article_test
