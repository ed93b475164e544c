"""The article's parts that the question shares: criteria (U, W, T), distances, the projection and its dual."""

from fairtrial._transport.solver.distances import kernel_distance as kernel_distance
from fairtrial._transport.solver.distances import linear_distance as linear_distance
from fairtrial._transport.solver.distances import mixed_distance as mixed_distance
from fairtrial._transport.solver.distances import predict_distance as predict_distance
from fairtrial._transport.solver.distances import score_distance as score_distance
from fairtrial._transport.solver.distances import tree_distance as tree_distance
from fairtrial._transport.solver.programs import Limits as Limits
from fairtrial._transport.solver.programs import band_program as band_program
from fairtrial._transport.solver.projection import Projection as Projection
from fairtrial._transport.solver.projection import project as project
from fairtrial._transport.solver.projection import transport_plan as transport_plan
from fairtrial._transport.solver.rate_contrasts import RateContrasts as RateContrasts
from fairtrial._transport.solver.rate_contrasts import band as band
from fairtrial._transport.solver.rate_contrasts import disjoint_families as disjoint_families
from fairtrial._transport.solver.rate_contrasts import from_matrices as from_matrices
from fairtrial._transport.solver.rate_contrasts import overlapping_families as overlapping_families
