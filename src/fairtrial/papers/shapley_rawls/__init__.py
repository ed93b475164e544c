"""Shapley meets Rawls, by Amri-Jouidel, Kemel and Mussard (2026): their framework.

`explain` is the paper's explanation of an audit. Its parts, on arrays: `b_sequence` has the sequences b of the five
efficient, symmetric and linear (ESL) values in `MEMBERS`, `coefficients` their weights on coalitions, and
`tensor_coefficients` those of several attributes (Theorem A.1); `group_targets` and `multi_attribute_targets` are the
first stage's φ; `pooled_z` and `paper_interval` are its test and interval of a gap.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
