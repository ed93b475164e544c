"""Selection rules for `improve`: what a less discriminatory alternative may look like, and how it is chosen."""

from fairtrial.methods.improve.candidates.adapters import Estimator, FixedColumn, Function, Training
from fairtrial.methods.improve.candidates.programs import LinearProgram
from fairtrial.methods.improve.candidates.rules import Inputs, Rule
from fairtrial.methods.improve.candidates.utilities import Payoff

__all__ = ["Estimator", "FixedColumn", "Function", "Inputs", "LinearProgram", "Payoff", "Rule", "Training"]
