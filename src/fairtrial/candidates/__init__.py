"""Selection rules for `improve`: what a less discriminatory alternative may look like, and how it is chosen."""

from fairtrial.candidates.adapters import Estimator, FixedColumn, Function, Training
from fairtrial.candidates.programs import LinearProgram
from fairtrial.candidates.rules import Inputs, Rule
from fairtrial.candidates.utilities import Payoff

__all__ = ["Estimator", "FixedColumn", "Function", "Inputs", "LinearProgram", "Payoff", "Rule", "Training"]
