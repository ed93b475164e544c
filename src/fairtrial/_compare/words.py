"""Gaps in words, once for every method: what is compared, on which scale, with which tolerance and level.

Every template is listed with extreme values in tests/unit/test_sentences.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Any, Literal

from fairtrial._labels import in_a_sentence
from fairtrial._results.column import Column, StateKind, scalar, with_limits

Unit = Literal["points", "number", "ratio"]
MOST_NAMED = 4  # groups named in one sentence
# How every method that states a gap infers it, as their results say.
HOW_GAPS_ARE_INFERRED = (
    "Each group's mean is compared with its target by profile likelihood: the target's own uncertainty is part of "
    "it. Binary metrics: likelihood ratio (of ratios: score) from counts, never sharper than the score, its "
    "correction for skewness and, with few events, binomial tails; within strata the Mantel–Haenszel score; "
    "weighted rows and repeated people by the score at effective sizes, Student's t. "
    "Real-valued metrics: empirical likelihood of the rows, compared with Student's t and never sharper than "
    "skewness, permutation and bootstrap allow (against a known number skewness alone; above 1,000,000 rows, and in "
    "Spark, Student's t from sums and skewness)."
)


def unit_of(binary: bool, scale: str = "difference") -> Unit:
    """How a gap is said: a ratio as times, a difference of rates in points, of means as it is."""
    return "ratio" if scale == "ratio" else "points" if binary else "number"


def number_words(value: float, unit: Unit) -> str:
    """A number without its unit; nothing is ever minus zero.

    >>> number_words(-0.00001, "points"), number_words(0.05, "points"), number_words(-0.0, "number")
    ('0.0', '5.0', '0')
    """
    text = (
        f"{100.0 * value:,.1f}" if unit == "points" else f"{value:.2f}" if unit == "ratio" else _digits(value)
    )
    return text.removeprefix("-") if not text.strip("-0.,") else text


def measured(value: float, unit: str) -> str:
    """A number with a unit that is written in the plural.

    >>> measured(1.0, "units of the score"), measured(2.5, "units of the score"), measured(1.0, "log-odds of the score")
    ('1 unit of the score', '2.5 units of the score', '1 log-odds of the score')
    """
    text = number_words(value, "number")
    return f"{text} {unit.replace('units', 'unit', 1) if text == '1' else unit}"


def _digits(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def disparity_words(value: float, binary: bool) -> str:
    """A disparity in words: '5.0 points' of a rate, '0.2' of a mean."""
    return f"{number_words(value, 'points')} points" if binary else number_words(value, "number")


def band_words(band: tuple[float, float], binary: bool, scale: str = "difference") -> str:
    """A tolerance in words: '5.0 points', or both its ends.

    >>> band_words((-0.05, 0.05), True), band_words((0.8, 1.25), True, "ratio"), band_words((0.8, inf), True, "ratio")
    ('5.0 points', 'a ratio of 0.8 to 1.25', 'a ratio of at least 0.8')
    """
    if scale == "ratio":
        return _ratio_band(band)
    if inf in (-band[0], band[1]):
        ends = ("no limit" if abs(end) == inf else disparity_words(end, binary) for end in band)
        return f"[{', '.join(ends)}]"
    if band[0] == -band[1]:
        return disparity_words(abs(band[1]), binary)
    return f"[{disparity_words(band[0], binary)}, {disparity_words(band[1], binary)}]"


def _ratio_band(band: tuple[float, float]) -> str:
    if band[1] == inf:
        return f"a ratio of at least {band[0]:.3g}"
    return (
        f"a ratio of at most {band[1]:.3g}" if band[0] <= 0 else f"a ratio of {band[0]:.3g} to {band[1]:.3g}"
    )


def groups_words(labels: list[str]) -> str:
    """The groups by name, or how many there are and the first of them.

    >>> groups_words(["a", "b"]), groups_words(list("abcdef"))
    ('a and b', 'a, b, c, d and 2 more')
    """
    if len(labels) > MOST_NAMED:
        return f"{', '.join(labels[:MOST_NAMED])} and {len(labels) - MOST_NAMED} more"
    return in_a_sentence(labels)


def place_words(gap: float, target: str, unit: Unit) -> str:
    """Where a rate lies: '21.4 points above B', '0.67 times that of B', 'the same as that of B'."""
    if unit == "ratio":
        return f"{number_words(gap, unit)} times that of {target}"
    text = number_words(abs(gap), unit)
    if not text.strip("0.,"):
        return f"the same as that of {target}" if gap == 0 else f"hardly different from that of {target}"
    points = " points" if unit == "points" else ""
    return f"{text}{points} {'above' if gap > 0 else 'below'} {target}"


def sentence(
    label: str, group: str, target: str, gap: float, low: float, high: float, level: float, unit: Unit,
    effect: str = "",
) -> str:  # fmt: skip
    """'false positive rate of A is 21.4 points above B, 95% interval 18.2 to 24.5'.

    A gap below is told from below, its interval too; `effect` says whether the group is harmed or favoured.
    """
    if unit != "ratio" and gap < 0:
        low, high = -high, -low
    told = f" ({effect})" if effect else ""
    interval = f"{100 * level:g}% interval {_limit(low, unit)} to {_limit(high, unit)}"
    return f"{label} of {group} is {place_words(gap, target, unit)}{told}, {interval}"


def _limit(value: float, unit: Unit) -> str:
    return "no limit" if value != value or abs(value) == float("inf") else number_words(value, unit)


def range_words(least: float, most: float, target: str, unit: Unit) -> str:
    """Where a rate lies at both ends: '3.1 to 12.0 points below B', '2.0 points below to 1.0 points above B'."""
    if unit == "ratio":
        return f"{number_words(least, unit)} to {number_words(most, unit)} times that of {target}"
    if least >= 0 or most <= 0:
        near, far = sorted((abs(least), abs(most)))
        side = "above" if least >= 0 else "below"
        return f"{number_words(near, unit)} to {number_words(far, unit)} points {side} {target}"
    return f"{number_words(-least, unit)} points below to {number_words(most, unit)} points above {target}"


def range_sentence(
    label: str, group: str, target: str, ends: tuple[float, float], limits: tuple[float, float], level: float,
    unit: Unit, effect: str, assumption: str,
) -> str:  # fmt: skip
    """'true positive rate of F is 3.1 to 12.0 points below M, whatever the unknown outcomes are; 95% limits …'."""
    told = f" ({effect})" if effect else ""
    place = range_words(*ends, target, unit)
    outer = range_words(*limits, target, unit) if all(isfinite(end) for end in limits) else "none"
    return f"{label} of {group} is {place}{told}, {assumption}; {100 * level:g}% limits of that: {outer}"


# -- Columns that are empty, and so not shown, unless ratios, pairs, strata or bounds were asked for.

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
    Column("overturned_by", "overturned by a factor of", "number"),
    Column("overturned_in", "the factor is told in", "text", shown=False),
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
# -- What would overturn a gap among people alike.
ODDS, SHARE = "odds of being in the group", "share of what is left unexplained"
MOST_FACTORS = 3


def unmeasured_sentences(rows: Sequence[Mapping[str, Any]], details: Mapping[str, Any]) -> list[str]:
    """A sentence for each adjusted answer that a factor could overturn, the most easily overturned first.

    >>> row = {"group": "F", "metric": "fpr", "overturned_by": 1.84, "overturned_in": ODDS}
    >>> unmeasured_sentences([row], {"label": "false positive rate"})[0].partition("unless ")[2]
    'something not in the data multiplies the odds of being in the group by more than 1.8.'
    """
    known = [row for row in rows if scalar(row.get("overturned_by")) is not None]
    known.sort(key=lambda row: float(scalar(row["overturned_by"])))
    labels, label = details.get("labels", {}), details.get("label", "")
    told = [_unless(row, labels.get(str(row["metric"]), label)) for row in known[:MOST_FACTORS]]
    more = len(known) - MOST_FACTORS
    return [*told, f"The other {more:,} take more: see the table."] if more > 0 else told


def _unless(row: Mapping[str, Any], label: str) -> str:
    value = float(scalar(row["overturned_by"]))
    if row["overturned_in"] == ODDS:
        what = f"multiplies the odds of being in the group by more than {value:,.1f}"
    else:
        share = f"{100.0 * value:.1f}%"
        what = f"explains more than {share} of what is left unexplained of both the group and the {label}"
    return f"This holds for {row['group']} unless something not in the data {what}."
