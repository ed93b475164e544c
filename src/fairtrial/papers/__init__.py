"""The five papers' own systems, each whole in a room of its own, with its authors' names and choices.

What the papers call certified, flagged or explained need not hold its level; where it does not, the paper's page in the
documentation shows by how much. The questions of `fairtrial` itself are the valid procedures.
"""

from __future__ import annotations

import lazy_loader

# The stub beside this file lists the rooms; each is loaded on first use.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
