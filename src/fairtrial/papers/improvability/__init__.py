"""Auerbach, Liang, Okumura and Tabord-Meehan (2025), Testing the fairness-accuracy improvability of algorithms.

The test as the article states it, and its parts: the split, the median rule and the number of splits that makes
re-running pointless, the fairness component with its kink, and the programs of Appendix F.
"""

from __future__ import annotations

import lazy_loader

# The stub beside this file lists the public names; each is loaded on first use.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
