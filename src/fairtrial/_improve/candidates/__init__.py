"""Rules that `improve` can try in the place of the status quo, and what they are worth.

The names listed here are public; the modules beside this file are not.
"""

from fairtrial._improve.candidates.adapters import Estimator, FixedColumn, Function, Training
from fairtrial._improve.candidates.programs import LinearProgram
from fairtrial._improve.candidates.rules import Inputs, Rule
from fairtrial._improve.payoff import Payoff

__all__ = ["Estimator", "FixedColumn", "Function", "Inputs", "LinearProgram", "Payoff", "Rule", "Training"]
