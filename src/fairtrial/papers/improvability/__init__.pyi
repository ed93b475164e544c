# The public names of the improvability paper's room, loaded on first use.
from ._linear_program import LinearProgram as LinearProgram
from ._milp import LinearRule as LinearRule
from ._milp import ProgramRows as ProgramRows
from ._milp import best_linear_rule as best_linear_rule
from ._reproduce import reproduce as reproduce
from ._test import KinkedComponent as KinkedComponent
from ._test import combine_p_values as combine_p_values
from ._test import kinked_gap as kinked_gap
from ._test import split_rows as split_rows
from ._test import splits_against_manipulation as splits_against_manipulation
from .method import ImprovabilityResult as ImprovabilityResult
from .method import improve as improve
