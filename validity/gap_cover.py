"""Every pair of evidence, scale and target has a line: weights and repeated people by their law, what had none yet by
the public function itself; and the step from counts to weights.

`COVER` names, for each combination, the line that stands for it; tests/unit/test_gap_cover.py asks the product which
combinations it takes and finds every pair of them here, or a refusal with its reason.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inside.gaps import certified
from inside.inference import (
    Atoms,
    Comparison,
    Gaps,
    LinearGaps,
    Scale,
    UnitSums,
    linear_to_highest,
    make_gaps,
)
from validity.board import Cell

Random = np.random.Generator
Run = Callable[[int, Random], NDArray[np.float64]]
SHARES, RATES, KNOWN = np.array([0.25, 0.35, 0.4]), np.array([0.3, 0.45, 0.2]), 0.35
SCALES: tuple[Scale, ...] = ("difference", "ratio")
TARGETS = ("rest", "overall", "group", "number")
OF_ROWS = ("weights", "units", "weights+units")
LARGER = 3  # times the people, so that a certificate can be had at all
WORDS = {"rest": "the rest", "overall": "everyone", "group": "a named group", "number": "a known number"}


# -- weights and units, by their law ------------------------------------------------------------------------------
def true_gap(scale: Scale, target: str) -> float:
    """Of the first of three groups, whose shares are drawn as well."""
    rest = float(SHARES[1:] @ RATES[1:] / SHARES[1:].sum())
    other = {"rest": rest, "overall": float(SHARES @ RATES), "group": float(RATES[1]), "number": KNOWN}[
        target
    ]
    return float(RATES[0]) - other if scale == "difference" else float(RATES[0]) / other


def sums_of(unit: Any, group: Any, weight: Any, value: Any) -> UnitSums:
    return UnitSums.of_rows(unit, group, weight, value, len(SHARES))


def rows(evidence: str, random: Random, larger: int = 1) -> tuple[Any, Any, Any, Any]:
    """Unit, group, weight, value of each row: 400 people once, or 160 with rates of their own and up to five rows."""
    people = larger * (160 if "units" in evidence else 400)
    times = random.integers(1, 6, people) if "units" in evidence else np.ones(people, dtype=np.int64)
    group = random.choice(3, people, p=SHARES)
    own = random.beta(4 * RATES[group], 4 * (1 - RATES[group])) if "units" in evidence else RATES[group]
    unit = np.repeat(np.arange(people), times)
    value = (random.random(unit.size) < own[unit]).astype(np.float64)
    weight = np.exp(0.5 * random.normal(size=unit.size)) if "weights" in evidence else np.ones(unit.size)
    return unit, group[unit], weight, value


def of_rows(evidence: str, scale: Scale, target: str) -> Run:
    """The true gap is outside the 95% interval."""
    member = np.array([[True, False, False]])
    against = {"rest": ~member, "overall": member | ~member, "group": np.array([[False, True, False]])}
    reference, truth = against.get(target, np.zeros_like(member)), true_gap(scale, target)
    comparison = Comparison(member, reference, np.array([KNOWN]) if target == "number" else None)

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        found = np.zeros(repeats)
        for i in range(repeats):
            gaps = LinearGaps(sums_of(*rows(evidence, random)), comparison, scale)
            found[i] = 2 * min(tail[0] for tail in gaps.tails(np.array([truth]))) <= 0.05
        return found

    return run


def certified_at_the_edge(evidence: str, scale: Scale) -> Run:
    """A certificate where the true gap to a named group stands at the end of what is tolerated."""
    comparison = Comparison(np.array([[True, False, False]]), np.array([[False, True, False]]))
    truth = true_gap(scale, "group")
    band = (truth, -truth if scale == "difference" else 1.0 / truth)

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        found = np.zeros(repeats)
        for i in range(repeats):
            gaps = LinearGaps(sums_of(*rows(evidence, random, LARGER)), comparison, scale)
            found[i] = certified(gaps, band, 0.9)[0]
        return found

    return run


def to_highest(evidence: str) -> Run:
    """Share of groups whose true ratio to the highest true rate is outside the 95% interval."""
    truth, member = RATES / RATES.max(), np.eye(3, dtype=bool)

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        found = np.zeros(repeats)
        for i in range(repeats):
            sums = sums_of(*rows(evidence, random))
            limits = linear_to_highest(sums, member, (0.8, 1.25), 0.95)
            found[i] = np.mean((truth < limits.low) | (truth > limits.high))
        return found

    return run


def marked(evidence: str) -> Run:
    """Some group is said to be below four fifths where all rates are equal: groups are dealt anew."""

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        found = np.zeros(repeats)
        for i in range(repeats):
            unit, _, weight, value = rows(evidence, random)
            group = random.choice(3, unit.max() + 1, p=SHARES)[unit]
            sums = sums_of(unit, group, weight, value)
            found[i] = linear_to_highest(sums, np.eye(3, dtype=bool), (0.8, 1.25), 0.95).below.any()
        return found

    return run


# -- the step from counts to weights ------------------------------------------------------------------------------
APART = Comparison(np.array([[True, False]]), np.array([[False, True]]))


def stepping(n1: int, n2: int, p: float, noise: float) -> Run:
    """No gap rejected, as the package does it: equal weights are counts, weights that differ at all are not."""

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        group, unit = np.repeat([0, 1], [n1, n2]), np.arange(n1 + n2)
        found = np.zeros(repeats)
        for i in range(repeats):
            value = (random.random(n1 + n2) < p).astype(np.float64)
            weight = 1.0 + noise * random.random(n1 + n2)
            found[i] = inferred(unit, group, weight, value).p_equal()[0] <= 0.05
        return found

    return run


def inferred(unit: Any, group: Any, weight: Any, value: Any) -> Gaps:
    """Counts where all weigh the same and everybody has one row."""
    sums = UnitSums.of_rows(unit, group, weight, value, 2)
    if not sums.counted:
        return LinearGaps(sums, APART)
    people = np.bincount(group).astype(np.float64)
    mean = np.bincount(group, value) / people
    return make_gaps(Atoms(people, mean, people * mean * (1.0 - mean), True), APART)


# -- what else had no line: by certify itself ---------------------------------------------------------------------
def printed(draw: Callable[[Random], Any], scale: Scale, truth: float, **asked: Any) -> Run:
    """The first group's true gap is outside the printed 95% interval."""

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        from fairtrial import certify

        found = np.zeros(repeats)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for i in range(repeats):
                audit, metric, by = draw(random)
                told = certify(audit, metric, by=by, scale=scale, **asked).estimates
                row = next(row for row in told if row["group"] == "a")
                low, high = (row[f"{scale}_{end}"] for end in ("low", "high"))
                found[i] = (isinstance(low, float) and low > truth) or (
                    isinstance(high, float) and high < truth
                )
        return found

    return run


def certified_among_people_alike(scale: Scale, tolerance: float) -> Run:
    """The first group is certified although its gap within every job is at the end of what is tolerated."""
    draw = stratified(scale, 4 * 400)

    def run(repeats: int, random: Random) -> NDArray[np.float64]:
        from fairtrial import certify

        found = np.zeros(repeats)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for i in range(repeats):
                audit, metric, _ = draw(random)
                told = certify(audit, metric, by=[{"g": "a"}], target={"g": "b"}, scale=scale, within="job",
                               tolerance=tolerance)  # fmt: skip
                found[i] = told.verdict.code == "certified"
        return found

    return run


def _audit(columns: dict[str, Any], **roles: Any) -> Any:
    import pyarrow as pa

    from fairtrial import Audit

    return Audit(pa.table(columns), **({"groups": "g", "decision": "d"} | roles))


def _letters(group: Any) -> Any:
    return np.array(["a", "b", "c"])[group]


def counted(random: Random) -> Any:
    group = random.choice(3, 300, p=SHARES)
    decision = (random.random(300) < RATES[group]).astype(np.int64)
    return _audit({"g": _letters(group), "d": decision}), "selection_rate", "g"


def valued(random: Random) -> Any:
    """Gamma values whose means are the rates."""
    from fairtrial import Metric

    group = random.choice(3, 300, p=SHARES)
    value = random.gamma(2.0, RATES[group] / 2.0)
    decision = np.zeros(300, dtype=np.int64)
    return _audit({"g": _letters(group), "d": decision, "v": value}), Metric("v", "v"), "g"


def stratified(scale: Scale, people: int = 400) -> Callable[[Random], Any]:
    """Three jobs with rates of their own; the first group is elsewhere, and its gap is the same in each."""

    def draw(random: Random) -> Any:
        job = random.integers(0, 3, people)
        group = (random.random(people) < 0.2 + 0.2 * job).astype(np.int64) * (
            1 + random.integers(0, 2, people)
        )
        base = 0.2 + 0.15 * job
        own = base + 0.1 if scale == "difference" else 1.3 * base
        decision = (random.random(people) < np.where(group == 0, own, base)).astype(np.int64)
        return _audit({"g": _letters(group), "d": decision, "job": _letters(job)}), "selection_rate", "g"

    return draw


def answered(random: Random) -> Any:
    """Three answers to each of 80 people who have leanings of their own; the first is ten points more often yes."""
    leaning = np.tile(random.beta(2, 3, 80) * 0.9, 3)
    group = np.repeat(np.arange(3), 80)
    decision = (random.random(240) < leaning + 0.1 * (group == 0)).astype(np.int64)
    columns = {"g": _letters(group), "d": decision, "person": np.tile(np.arange(80), 3)}
    return _audit(columns, pair="person"), "selection_rate", "g"


# selected, and of the people not selected and selected: labelled, and with outcome 1 among the labelled
LABELS = (0.5, np.array([0.7, 0.9]), np.array([0.4, 0.6]))


def partly_labelled(random: Random) -> Any:
    """All the unknown outcomes are such that the first group's true positive rate is the least that can be."""
    selected, labelled, ones = LABELS
    group = random.choice(2, 400, p=[0.4, 0.6])
    decision = (random.random(400) < selected).astype(np.int64)
    known, one = random.random(400) < labelled[decision], random.random(400) < ones[decision]
    outcome = np.where(known, one, np.nan)
    audit = _audit({"g": _letters(group), "d": decision, "y": outcome}, outcome="y", unlabelled="bounds")
    return audit, "tpr", "g"


def labelled_truth(scale: Scale, known: float | None = None) -> float:
    """The least true positive rate over the largest: unknown people not selected all have outcome 1, or none do."""
    selected, labelled, ones = LABELS
    share = np.array([1.0 - selected, selected])
    told, unknown = share * labelled * ones, share * (1.0 - labelled)
    least = told[1] / (told.sum() + unknown[0])
    most = known or (told[1] + unknown[1]) / (told.sum() + unknown[1])
    return float(least - most if scale == "difference" else least / most)


def probable(random: Random) -> Any:
    """Values go to the people of the first group as far as the probabilities allow: the truth is at the upper end."""
    p = random.choice([0.1, 0.4, 0.8], 400)
    inside = random.random(400) < p
    chance = np.where(inside, np.minimum(1.0, 0.5 / p), np.maximum(0.0, (0.5 - p) / (1.0 - p)))
    decision = (random.random(400) < chance).astype(np.int64)
    roles = {"groups": {"h": {"a": "pa", "b": "pb"}}}
    return _audit({"pa": p, "pb": 1.0 - p, "d": decision}, **roles), "selection_rate", "h"


def probable_truth(target: str) -> float:
    p = np.array([0.1, 0.4, 0.8])
    first = float(np.minimum(p, 0.5).sum() / p.sum())
    second = float(np.maximum(0.0, 0.5 - p).sum() / (1.0 - p).sum())
    return first - {"rest": second, "group": second, "overall": 0.5, "number": KNOWN}[target]


# -- the board ----------------------------------------------------------------------------------------------------
def _line(name: str, design: str, run: Run, claim: Any = "coverage", **more: Any) -> Cell:
    return Cell("certify", name, design, claim, run, **({"short": 0, "long": 4000} | more))


def _rows_name(evidence: str, scale: Scale, target: str) -> str:
    return f"{evidence.replace('+', ' and ')}, {scale} to {WORDS[target]}"


_DESIGNS = {
    "weights": "400 people of three groups, 20% to 45%, lognormal weights",
    "units": "160 people with one to five rows, of three groups, 20% to 45%",
    "weights+units": "160 people with one to five rows, of three groups, 20% to 45%, lognormal weights",
}
_STEPS = ((60, 300, 0.3), (40, 400, 0.05), (30, 30, 0.5))
_NOISE = {"weights all 1": 0.0, "weights 1 to 1.000001": 1e-6, "weights 1 to 1.1": 0.1}
# evidence, scale, target; the draw, the truth and how it is asked
WHOLE: dict[tuple[str, Scale, str], tuple[Callable[[Random], Any], float, dict[str, Any]]] = {
    ("counts", "ratio", "number"): (counted, true_gap("ratio", "number"), {"target": KNOWN}),
    ("means", "ratio", "number"): (valued, true_gap("ratio", "number"), {"target": KNOWN}),
    ("strata", "difference", "group"): (
        stratified("difference"), 0.1, {"target": {"g": "b"}, "within": "job"}
    ),
    ("strata", "ratio", "rest"): (stratified("ratio"), 1.3, {"target": "rest", "within": "job"}),
    ("pairs", "difference", "group"): (answered, 0.1, {"target": {"g": "b"}}),
    ("unlabelled", "ratio", "group"): (partly_labelled, labelled_truth("ratio"), {"target": {"g": "b"}}),
    ("unlabelled", "difference", "number"): (
        partly_labelled, labelled_truth("difference", 0.5), {"target": 0.5}
    ),
    ("probable", "difference", "overall"): (probable, probable_truth("overall"), {"target": "overall"}),
    ("probable", "difference", "number"): (probable, probable_truth("number"), {"target": KNOWN}),
    ("probable", "difference", "group"): (probable, probable_truth("group"), {"target": {"h": "b"}}),
}  # fmt: skip


def _whole_name(evidence: str, scale: Scale, target: str) -> str:
    return f"{evidence} by certify itself, {scale} to {WORDS[target]}"


CELLS: list[Cell] = [
    *(
        _line(_rows_name(evidence, scale, target), _DESIGNS[evidence], of_rows(evidence, scale, target),
              short=400 if (evidence, scale) == ("weights+units", "ratio") else 0)
        for evidence, scale, target in product(OF_ROWS, SCALES, TARGETS)
    ),
    *(
        _line(f"{evidence.replace('+', ' and ')}, ratio to the highest rate", _DESIGNS[evidence], to_highest(evidence),
              covers=("measure.impact_ratio_low", "measure.impact_ratio_high"))
        for evidence in OF_ROWS
    ),
    *(
        _line(f"{evidence.replace('+', ' and ')}, some group below four fifths", f"{_DESIGNS[evidence]}, dealt anew",
              marked(evidence), "size", covers=("measure.four_fifths",))
        for evidence in OF_ROWS
    ),
    *(
        _line(f"{evidence.replace('+', ' and ')}, certified at the edge, {scale}", f"3 × {_DESIGNS[evidence]}",
              certified_at_the_edge(evidence, scale), "wrong certification",
              short=400 if (evidence, scale) == ("weights+units", "difference") else 0)
        for evidence, scale in product(OF_ROWS, SCALES)
    ),
    *(
        _line(f"within strata, certified at the edge, {scale}", "1,600 people in three jobs",
              certified_among_people_alike(scale, tolerance), "wrong certification", long=1000, whole_analysis=True)
        for scale, tolerance in zip(SCALES, (0.1, 1.0 / 1.3), strict=True)
    ),
    *(
        _line(f"the step from counts, {words}, {n1} and {n2}", f"{n1} and {n2} people, rate {p:g}",
              stepping(n1, n2, p, noise), "size", short=400 if n1 == 60 else 0)
        for n1, n2, p in _STEPS
        for words, noise in _NOISE.items()
    ),
    *(
        _line(_whole_name(*which), "300 to 400 people, of pairs 80", printed(draw, which[1], truth, **asked),
              long=600, whole_analysis=True)
        for which, (draw, truth, asked) in WHOLE.items()
    ),
]  # fmt: skip

COVER: dict[tuple[str, str, str], str] = {
    ("counts", "difference", "rest"): "measure/difference, 40 of 30% against 60 of 50%",
    ("counts", "difference", "group"): "certify/difference of two rates, two-sided, every table",
    ("counts", "difference", "overall"): "measure/difference to overall, 7% of 600 people",
    ("counts", "difference", "number"): "certify/known number, rate, p-value",
    ("counts", "ratio", "rest"): "measure/ratio, 40 of 8% over 400 of 10%",
    ("counts", "ratio", "group"): "certify/ratio of two rates, two-sided, every table",
    ("counts", "ratio", "overall"): "certify/ratio to everyone, a small share",
    ("counts", "ratio", "most selected"): "certify/ratio to the highest rate",
    ("strata", "difference", "rest"): "certify/difference within strata, 6 against 12",
    ("strata", "ratio", "group"): "certify/ratio within strata, 6 against 12",
    ("weights in strata", "difference", "rest"):
        "certify/weights within strata, difference interval, 8 strata of 10 and 20",
    ("weights in strata", "ratio", "group"): "certify/weights within strata, ratio interval, 4 strata of 40 and 80",
    ("units in strata", "difference", "group"): "certify/units within strata, difference interval, 20 hospitals",
    ("units in strata", "ratio", "rest"): "certify/units within strata, ratio interval, 20 hospitals",
    ("models", "difference", "rest"): "certify/adjusted by a model, outcome's right, group's wrong",
    ("models", "difference", "group"): "certify/adjusted by a model, outcome's right, group's right",
    ("pairs", "difference", "rest"): "certify/pairs, 95% interval, every table",
    ("means", "difference", "rest"): "measure/difference of means, interval",
    ("means", "difference", "overall"): "measure/mean against overall, interval",
    ("means", "difference", "number"): "certify/known number, mean",
    ("means", "difference", "group"): "certify/interval of means, another shape",
    ("means", "ratio", "rest"): "certify/ratio of means, lognormal, 40 and 360",
    ("means", "ratio", "group"): "certify/ratio of means, exponential, 40 and 40",
    ("unlabelled", "difference", "rest"): "certify/unknown outcomes, limits at both ends, labels for the approved",
    ("probable", "difference", "rest"): "certify/probable groups, bounds, the truth at their end",
    **{
        (evidence, "ratio", "most selected"): f"certify/{evidence.replace('+', ' and ')}, ratio to the highest rate"
        for evidence in OF_ROWS
    },
    **{which: f"certify/{_rows_name(*which)}" for which in product(OF_ROWS, SCALES, TARGETS)},
    **{which: f"certify/{_whole_name(*which)}" for which in WHOLE},
}  # fmt: skip
