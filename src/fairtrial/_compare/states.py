"""Why a group is listed but not tested."""

from __future__ import annotations

from fairtrial._results.column import Column, StateKind

REFERENCE = StateKind("reference", words="not tested")
EVERYONE = StateKind("everyone", words="not tested")
NOBODY = StateKind("nobody", words="not tested")
TOO_FEW = StateKind("too few", words="not tested", compared=False)
NO_TARGET = StateKind("no target", words="not tested")
FEW_IN_TARGET = StateKind("few in target", words="not tested", compared=False)
# What is found of a group that is favoured, or of what people are and not of what was decided, is no alarm.
FAVOURED = StateKind("favoured", found=True)
DESCRIBED = StateKind("described", words="differs", found=True)
EFFECT = Column("effect", "the group is", "text")
UNTESTED = (REFERENCE, EVERYONE, NOBODY, TOO_FEW, NO_TARGET, FEW_IN_TARGET)
