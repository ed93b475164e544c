"""Testing Group Fairness via Optimal Transport Projections, by Si, Murthy, Blanchet and Nguyen (2021): their system.

`fairness_test` is the article's test of an audit. Its parts, on arrays: `disjoint_families`, `overlapping_families` and
`from_matrices` make a criterion (U, W, T), as `RateContrasts`; `band` its tolerance; `linear_distance` and others the
distances; `project` solves (7) and (9) exactly and `transport_plan` says who moves; `band_program` is the linear
program with its dual γ; `article_test` is the law of Theorems 1 and 2.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
