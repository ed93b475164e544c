"""Empirical Likelihood-based Fairness Auditing (ELFA): the paper's certification and flagging, with its own choices.

An estimated target is taken as known (plug-in), statistics are compared with chi-square, and what is not rejected is
called certified. None of that holds its level; `fairtrial.certify` and `fairtrial.flag` are the valid procedures.
"""

from __future__ import annotations

import lazy_loader

# The stub beside this file lists the functions, the results and the building blocks.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
