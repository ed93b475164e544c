"""The caller's tolerance, and what readers must know of how gaps were inferred."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairtrial._audit.direction import harmed_side
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.request import Request
from fairtrial._compare.sorted_groups import OwnEstimate
from fairtrial._errors import Example, Fault, InputError, NotApplicable, Note, Words, notes_where
from fairtrial._inference.laws.gaps import Gaps
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.binary_gaps import FEW_EVENTS
from fairtrial._inference.ways import CHANGED_RULE, ROWS_RULE, SKEWNESS_RULE, SUMS_RULE
from fairtrial._method.selective_labels import left_out_notes
from fairtrial._metrics.groups import find_side
from fairtrial._metrics.values import Metric
from fairtrial._options import Share

# -- Ratios as the scale of a gap: their tolerance, their cells in the tables, and their words.
RATIO_BAND = (
    "of a ratio must be a number between 0 and 1, such as 0.8 for four fifths, or two numbers [low, high]"
)

# One number below it would let a group have less than half the other's rate: a difference such as 0.05, most likely.
LEAST_RATIO = 0.5
NO_RATIO = "of a ratio is a ratio itself, such as 0.8 for four fifths: {:g} would tolerate any ratio from {:g} to {:g}"
NO_RATIO_CURE = (
    "Write {0:g} if a rate may be {1:g}% lower than the other, or both ends, [{2:g}, {3:g}], if you mean them"
)


def find_ratio_band(who: str, tolerance: Any) -> tuple[float, float] | None:
    """[t, 1/t] from one number, [low, high] from two."""
    if tolerance is None:
        return None
    if _in_people(tolerance):
        cure = "Write the ratio, such as 0.8 for four fifths, or ask for the difference"
        raise InputError(
            who, Fault("tolerance", "is told in people, which is a difference of rates", cure=cure)
        )
    single = not isinstance(tolerance, list | tuple)
    values = [tolerance] if single else list(tolerance)
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    if not numbers or not all(np.isfinite(value) for value in values) or len(values) > 2:
        raise InputError(who, Fault("tolerance", RATIO_BAND, got=tolerance))
    low, high = (values[0], 1.0 / values[0] if values[0] else np.inf) if single else values
    if not 0 < low <= 1 <= high:
        raise InputError(who, Fault("tolerance", RATIO_BAND, got=tolerance))
    if single and low < LEAST_RATIO:
        cure = NO_RATIO_CURE.format(1.0 - low, 100.0 * low, low, high)
        raise InputError(who, Fault("tolerance", NO_RATIO.format(low, low, high), cure=cure))
    return float(low), float(high)


def one_sided(
    band: tuple[float, float] | None, direction: str | None, scale: str
) -> tuple[float, float] | None:
    """The band with its other side open: only gaps below, or only gaps above, are looked for."""
    if band is None or direction is None:
        return band
    least = -np.inf if scale == "difference" else 0.0
    return (band[0], np.inf) if direction == "below" else (least, band[1])


def refuse_ratio_of_means(who: str, kind: str) -> None:
    """Ratios of means are inferred of two samples apart, or of one and a number."""
    if kind not in ("rest", "reference", "number"):
        required = "'ratio' of means is not inferred against everyone or an estimate of your own"
        raise NotApplicable(who, Fault("scale", required, cure="Use everyone else or a reference group"))


def band_p_values(gaps: Gaps, band: tuple[float, float] | None) -> Floats:
    """Of 'inside the band', or of no gap where there is none."""
    return gaps.p_equal() if band is None else gaps.p_inside(*band)


Band = tuple[float, float]
BAND = Words("must be a number or two numbers, low and high, such as {}", Example([-0.02, 0.05]))


def find_tolerance(request: Request, metric: Metric) -> Band | None:
    """The tolerated gaps of a metric, on the sides that count."""
    band = find_scaled_band(request.who, request.tolerance, metric, request.scale)
    side = find_side(request.who, request.direction, metric, harmed_side(request.audit, metric))
    return one_sided(band, side, request.scale)


def find_scaled_band(who: str, tolerance: Any, metric: Metric, scale: str) -> tuple[float, float] | None:
    """The tolerated gaps on the scale asked for; None where no tolerance was given."""
    return find_ratio_band(who, tolerance) if scale == "ratio" else find_band(who, tolerance, metric)


def find_band(who: str, tolerance: Any, metric: Metric) -> tuple[float, float] | None:
    """[-t, t] from one number, [t1, t2] from two; None where no tolerance was given.

    Rates cannot differ by more than 1: a band that holds every difference would certify anything, and is most likely
    meant in points. One side may be open: [-1, 0.05].
    """
    if tolerance is None:
        return None
    if _in_people(tolerance) and metric.binary is False:
        cure = f"Write it in units of the {metric.label}"
        raise InputError(
            who, Fault("tolerance", "is told in people, but a mean has units of its own", cure=cure)
        )
    single = not isinstance(tolerance, list | tuple)
    pair = (-_number(who, tolerance), _number(who, tolerance)) if single else tolerance
    if len(pair) != 2:
        raise InputError(who, Fault("tolerance", BAND, got=tolerance))
    low, high = (_number(who, value) for value in pair)
    if low > high or (single and tolerance < 0):
        required = "must not be negative, nor two numbers of which the first is the larger one"
        raise InputError(who, Fault("tolerance", required, got=tolerance))
    if metric.binary and (max(-low, high) > 1 or (low <= -1 and high >= 1)):
        raise InputError(
            who,
            Fault(
                "tolerance", "of a rate is a share: 0.05 is 5 points", got=tolerance, cure="Divide it by 100"
            ),
        )
    return low, high


def check_band(who: str, band: tuple[float, float] | None, disparities: Disparities) -> None:
    """Refuse a band that holds every difference the observed values can have: it would certify anything.

    Means lie between the smallest and the largest value, so two of them differ by at most that range.
    """
    if band is None or disparities.scale == "ratio" or not np.isfinite(band).all():
        return
    low, high = _value_range(disparities)
    target = disparities.target
    known = target.value if isinstance(target, OwnEstimate) or target.kind == "number" else None
    least, most = (low - high, high - low) if known is None else (low - known, high - known)
    if low < high and band[0] <= least and band[1] >= most:
        required = (
            f"[{band[0]:g}, {band[1]:g}] holds every difference that is possible: the {disparities.metric.label} runs "
            f"from {low:g} to {high:g} here, so anything would pass"
        )
        raise InputError(who, Fault("tolerance", required, cure="Choose a narrower one"))


def _in_people(tolerance: Any) -> bool:
    """Whether it was told as so many in so many people."""
    return any(
        isinstance(one, Share) for one in (tolerance if isinstance(tolerance, list | tuple) else [tolerance])
    )


def plain_band(band: tuple[float, float] | None) -> list[float | None] | None:
    """As results record it; a side without an end is none."""
    return None if band is None else [float(end) if np.isfinite(end) else None for end in band]


def _value_range(disparities: Disparities) -> tuple[float, float]:
    """The smallest and the largest value."""
    atoms = disparities.atoms
    if atoms.binary:
        return 0.0, 1.0
    finest, some = atoms.finest, atoms.count > 0
    return float(finest.low[some].min()), float(finest.high[some].max())


def _number(who: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise InputError(who, Fault("tolerance", BAND, got=value))
    return float(value)


def common_notes(disparities: Disparities) -> list[Note]:
    """What readers must know of how the gaps were inferred, and of who is left out."""
    return [
        *left_out_notes(disparities.left_out),
        *inference_notes([disparities]),
        *adjusted_notes(disparities),
        *disparities.request.procedure.notes(disparities.comparison),
        *_left_out_notes(disparities),
    ]


def adjusted_notes(disparities: Disparities) -> list[Note]:
    """Who is compared among people alike, and where their gap differs."""
    if disparities.within is None:
        return []
    from fairtrial._compare.strata import within_notes

    return within_notes(disparities.within, [group.label for group in disparities.groups])


def inference_notes(several: list[Disparities]) -> list[Note]:
    """How the gaps of one or several metrics were inferred."""
    own = {note.code: note for disparities in several for note in disparities.notes}
    rules = sorted({rule for disparities in several for rule in _rules_used(disparities)})
    counts = (
        "Where a count is below 10, p-values are never smaller and intervals never shorter than binomial probabilities "
        "allow."
    )
    told = {
        "rules": (bool(rules), f"Inference by: {'; '.join(rules)}."),
        "small-counts": (any(FEW_EVENTS in rule for rule in rules), counts),
    }
    of_means = notes_of_means(
        [(disparities.gaps, [group.label for group in disparities.groups]) for disparities in several]
    )
    return [*own.values(), *notes_where(told), *of_means]


def _rules_used(disparities: Disparities) -> list[str]:
    """The rule of each gap that has inference."""
    gaps = disparities.gaps
    return [str(rule) for rule, why in zip(gaps.rule, gaps.reason, strict=True) if why is None]


def _left_out_notes(disparities: Disparities) -> list[Note]:
    """Groups without inference, groups not tested, combinations without people."""
    notes = []
    reasons = zip(disparities.groups, disparities.gaps.reason, strict=True)
    degenerate = [f"{group.label} ({why})" for group, why in reasons if why is not None]
    if degenerate:
        notes.append(Note("no-inference", f"No inference, kept with p = 1: {'; '.join(degenerate)}."))
    small = [item for item in disparities.untested if item.small]
    if small:
        few = "1 group has" if len(small) == 1 else f"{len(small)} groups have"
        named = "; ".join(item.group.label for item in small[:8])  # no counts: notes are published
        more = f" and {len(small) - 8} more" if len(small) > 8 else ""
        text = f"{few} fewer than {disparities.request.minimum} members, not tested: {named}{more}."
        notes.append(Note("small-groups", text))
    if disparities.people.absent:
        many = (
            "1 combination has"
            if disparities.people.absent == 1
            else f"{disparities.people.absent} combinations have"
        )
        notes.append(Note("absent", f"{many} no people at all."))
    return notes


def plain_target(disparities: Disparities) -> Any:
    """The target as it is recorded; influence values are data and are not."""
    target = disparities.target
    return {"estimate": target.value} if isinstance(target, OwnEstimate) else target.to_dict()


# -- What readers must know of gaps between means of real values.
NAMED = 8
WAYS = {
    ROWS_RULE: "skewness, a permutation test and the bootstrap allow, all by the rows",
    SUMS_RULE: "skewness allows, by the sums of each group (n, mean, second and third central sums, smallest and "
    "largest value)",
    SKEWNESS_RULE: "skewness allows",
    CHANGED_RULE: "skewness allows, by the pairs that change and their share",
}


def notes_of_means(several: Sequence[tuple[Gaps, Sequence[str]]]) -> list[Note]:
    """How means were compared, and where that may not hold; nothing for rates. Gaps come with their groups' labels."""
    means = [(gaps, labels) for gaps, labels in several if gaps.bounded_by]
    if not any(gaps.defined.any() for gaps, _ in means):
        return []
    ways = sorted({WAYS[gaps.bounded_by] for gaps, _ in means})
    bounds = (
        f"Means are never compared more sharply than {'; or '.join(ways)}. A side of an interval without a limit "
        "means that too few values carry the mean. What no row shows, such as a rare large loss that is absent from "
        "the file, nothing can protect against."
    )
    uneven = [
        label
        for gaps, labels in means
        for label, odd in zip(labels, gaps.unequal_spreads & gaps.defined, strict=True)
        if odd
    ]
    uneven = list(dict.fromkeys(uneven))
    named = "; ".join(uneven[:NAMED]) + (f" and {len(uneven) - NAMED} more" if len(uneven) > NAMED else "")
    spread = (
        f"Skewed values that spread more than twice as far in one of the two samples as in the other ({named}): with "
        "heavy tails and equal sizes a 5% test was then wrong in 6 to 11% of repeats."
    )
    return notes_where({"means": (True, bounds), "unequal-spread": (bool(uneven), spread)})
