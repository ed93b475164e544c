"""Columns that are empty, and so not shown, unless ratios, pairs, strata or bounds were asked for."""

from __future__ import annotations

from fairtrial._results.column import Column, StateKind, with_limits

PART = Column("metric_label", "metric", "text")  # of a criterion that joins several
RATIO_COLUMNS = (
    Column("scale", "scale", "text", shown=False),
    *with_limits("ratio", "ratio", "ratio"),
)
CERTIFIED_RATIO_COLUMNS = (
    *RATIO_COLUMNS,
    Column("ratio_together_low", "low ratio, all at once", "ratio", shown=False),
    Column("ratio_together_high", "high ratio, all at once", "ratio", shown=False),
    Column("ratio_certificate_low", "low ratio of the certificate", "ratio", shown=False),
    Column("ratio_certificate_high", "high ratio of the certificate", "ratio", shown=False),
)
CUT = Column("cut", "decision", "text")  # of a decision with an order
UNPAIRED = Column("unpaired", "people with one answer", "people")
ADJUSTED_COLUMNS = (
    UNPAIRED,
    Column("unadjusted", "unadjusted difference", "points"),
    Column("unadjusted_low", "low", "points"),
    Column("unadjusted_high", "high", "points"),
    Column("unadjusted_ratio", "unadjusted ratio", "ratio"),
    Column("unadjusted_ratio_low", "low", "ratio"),
    Column("unadjusted_ratio_high", "high", "ratio"),
    Column("compared", "compared", "rate", share_of="n"),
    Column("heterogeneity_p", "p, gap differs between strata", "p"),
)
# what a gap lies between where some outcomes are unknown
UNKNOWN_COLUMNS = (
    Column("unknown", "outcome unknown", "people", part_of="n"),
    Column("rate_least", "least rate", "rate", share_of="n"),
    Column("rate_most", "largest rate", "rate", share_of="n"),
    Column("difference_least", "least difference", "points"),
    Column("difference_most", "largest difference", "points"),
    Column("ratio_least", "least ratio", "ratio"),
    Column("ratio_most", "largest ratio", "ratio"),
)
# two more answers where groups are known with a probability, each under its own assumption
PROBABLE_COLUMNS = (
    *with_limits("weighted", "weighted difference", "points"),
    *with_limits("dual", "dual difference", "points"),
)


# -- Why a group is listed but not tested.
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
NO_SPREAD = StateKind("no spread", words="not tested")
NOT_TESTED = StateKind("not tested")
NOT_COMPARED = (TOO_FEW, NOBODY, EVERYONE, NO_TARGET, FEW_IN_TARGET, NO_SPREAD, NOT_TESTED)
NOT_COMPARED_CODES = frozenset(kind.code for kind in NOT_COMPARED)
UNDETERMINED = StateKind("undetermined")
# of the tables of the field
LISTED = StateKind("listed")
LEFT_OUT = StateKind("left out", compared=False)
UNKNOWN = StateKind("unknown", compared=False)
BEYOND = StateKind("beyond", "bad", words="beyond the threshold")
WITHIN = StateKind("within", "good", words="within the threshold")
NO_THRESHOLD = StateKind("no threshold", words="no threshold stated")
