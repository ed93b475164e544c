"""What the tests, the board and the side trees use of improve beside the public names."""

import fairtrial.methods.improve.candidates.frontier
from fairtrial.methods.improve import answer as answer
from fairtrial.methods.improve import sentences as sentences
from fairtrial.methods.improve import splits as splits
from fairtrial.methods.improve.arguments import Wanted as Wanted
from fairtrial.methods.improve.candidates import Inputs as Inputs
from fairtrial.methods.improve.candidates import Payoff as Payoff
from fairtrial.methods.improve.candidates import Rule as Rule
from fairtrial.methods.improve.candidates import listing as listing
from fairtrial.methods.improve.candidates import preparation as preparation
from fairtrial.methods.improve.candidates.constraints import dependence_p as dependence_p
from fairtrial.methods.improve.candidates.contest import refuse_equal_levels as refuse_equal_levels
from fairtrial.methods.improve.candidates.frontier import FrontierRules as FrontierRules
from fairtrial.methods.improve.candidates.frontier import gain_of as gain_of
from fairtrial.methods.improve.candidates.portfolio import Scored as Scored
from fairtrial.methods.improve.candidates.portfolio import reweighing as reweighing
from fairtrial.methods.improve.candidates.preparation import prepare as prepare
from fairtrial.methods.improve.candidates.rules import capacity_threshold as capacity_threshold
from fairtrial.methods.improve.candidates.scorers import SignedLinear as SignedLinear
from fairtrial.methods.improve.candidates.unlabelled import find_unlabelled as find_unlabelled
from fairtrial.methods.improve.candidates.utilities import Observed as Observed
from fairtrial.methods.improve.candidates.utilities import Worth as Worth
from fairtrial.methods.improve.candidates.utilities import evaluate as evaluate
from fairtrial.methods.improve.candidates.utilities import find_worth as find_worth
from fairtrial.methods.improve.claim_tests import examine as examine
from fairtrial.methods.improve.sampled_levels import Compared as Compared
from fairtrial.methods.improve.search import Found as Found
from fairtrial.methods.improve.search import fitted as fitted
from fairtrial.methods.improve.search import sure_enough as sure_enough
from fairtrial.methods.improve.search import variants_of as variants_of
from fairtrial.methods.improve.solver.all_splits import Aggregation as Aggregation
from fairtrial.methods.improve.solver.all_splits import Corner as Corner
from fairtrial.methods.improve.solver.all_splits import Staircase as Staircase
from fairtrial.methods.improve.solver.all_splits import combine_p_values as combine_p_values
from fairtrial.methods.improve.solver.all_splits import lower_median as lower_median
from fairtrial.methods.improve.solver.all_splits import rejection_prefixes as rejection_prefixes
from fairtrial.methods.improve.solver.all_splits import split_level as split_level
from fairtrial.methods.improve.solver.all_splits import split_thresholds as split_thresholds
from fairtrial.methods.improve.solver.all_splits import (
    splits_against_manipulation as splits_against_manipulation,
)
from fairtrial.methods.improve.solver.all_splits import staircase as staircase
from fairtrial.methods.improve.solver.area import area_component as area_component
from fairtrial.methods.improve.solver.improvement import Component as Component
from fairtrial.methods.improve.solver.improvement import MarginKind as MarginKind
from fairtrial.methods.improve.solver.improvement import accuracy_components as accuracy_components
from fairtrial.methods.improve.solver.improvement import directed_pairs as directed_pairs
from fairtrial.methods.improve.solver.improvement import gap_of as gap_of
from fairtrial.methods.improve.solver.improvement import log_levels as log_levels
from fairtrial.methods.improve.solver.improvement import paper_fairness_component as paper_fairness_component
from fairtrial.methods.improve.solver.improvement import (
    smooth_fairness_components as smooth_fairness_components,
)
from fairtrial.methods.improve.solver.improvement import worst_pair as worst_pair
from fairtrial.methods.improve.solver.milp import Sample as Sample
from fairtrial.methods.improve.solver.milp import best_linear_rule as best_linear_rule
from fairtrial.methods.improve.solver.thoroughness import least_gap as least_gap
from fairtrial.methods.improve.solver.thoroughness import least_gap_bound as least_gap_bound
from fairtrial.methods.improve.splits import Settings as Settings
from fairtrial.methods.improve.splits import enough_people as enough_people
from fairtrial.methods.improve.splits import split_rows as split_rows
from fairtrial.methods.improve.splits import test_split as test_split

frontier_gap_of = fairtrial.methods.improve.candidates.frontier.gap_of
