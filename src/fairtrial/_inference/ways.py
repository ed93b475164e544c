"""The ways a gap can be inferred, by name: what the methods offer and the inference takes."""

from __future__ import annotations

from typing import Literal

Scale = Literal["difference", "ratio"]
Likelihood = Literal["empirical", "euclidean"]
RateMethod = Literal["bounded", "wilson", "likelihood", "half-count", "exact"]
Refinement = Literal["bartlett", "balanced", "adjusted", "none"]
# How the rules of real values call the bounds that they keep to.
SKEWNESS_RULE = "bounded by skewness"
ROWS_RULE = "bounded by skewness, permutation and bootstrap"
SUMS_RULE = "bounded by skewness from sums"
CHANGED_RULE = "the pairs that change"
