"""The paper's parts that the question shares: ESL sequences, weights and tensors, and both stages' targets."""

from fairtrial._explain.solver.esl import MEMBERS as MEMBERS
from fairtrial._explain.solver.esl import all_coalitions as all_coalitions
from fairtrial._explain.solver.esl import b_sequence as b_sequence
from fairtrial._explain.solver.esl import coefficients as coefficients
from fairtrial._explain.solver.esl import given_sequence as given_sequence
from fairtrial._explain.solver.esl import needed_coalitions as needed_coalitions
from fairtrial._explain.solver.esl import pooling_matrix as pooling_matrix
from fairtrial._explain.solver.esl import sample_coalitions as sample_coalitions
from fairtrial._explain.solver.esl import sampled_coefficients as sampled_coefficients
from fairtrial._explain.solver.esl import tells_groups_apart as tells_groups_apart
from fairtrial._explain.solver.esl import tensor_coefficients as tensor_coefficients
from fairtrial._explain.solver.group_values import baseline_of as baseline_of
from fairtrial._explain.solver.group_values import group_targets as group_targets
from fairtrial._explain.solver.group_values import interaction_contrasts as interaction_contrasts
from fairtrial._explain.solver.group_values import linear_wald as linear_wald
from fairtrial._explain.solver.group_values import multi_attribute_targets as multi_attribute_targets
