"""What the tests, the board and the side trees use of direct_calls beside the public names."""

from __future__ import annotations as annotations

from collections.abc import Sequence as Sequence
from typing import NamedTuple as NamedTuple

from numpy.typing import ArrayLike as ArrayLike
from scipy import special as special

from inside.inference import Areas as Areas
from inside.inference import EndToEnd as EndToEnd
from inside.inference import Floats as Floats
from inside.inference import Only as Only
from inside.inference import Sample as Sample
from inside.inference import Scale as Scale
from inside.inference import TwoRateLaw as TwoRateLaw
from inside.inference import TwoRates as TwoRates
from inside.inference import constrained_rates as constrained_rates
from inside.inference import contrast_tail as contrast_tail
from inside.inference import critical_value as critical_value
from inside.inference import el_mean_limits as el_mean_limits
from inside.inference import floats as floats
from inside.inference import mean_limits_of_many as mean_limits_of_many
from inside.inference import path_limits as path_limits
from inside.inference import path_log_ratio as path_log_ratio
from inside.inference import t_quantile as t_quantile
from inside.inference import two_sample_point as two_sample_point
