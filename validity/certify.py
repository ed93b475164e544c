"""Does certify hold its level? Coverage, joint sizes, simultaneous coverage, edges of the band, planned power."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from inside.direct_calls import gap_root, gap_tails
from inside.gaps import certified
from inside.inference import (
    Comparison,
    Floats,
    KnownRateGaps,
    bonferroni_level,
    gap_covariance,
    joint_test,
    make_gaps,
    max_t_quantile,
    normal_quantile,
)
from inside.papers import TargetMethod, paper_gaps
from validity.board import Cell
from validity.certify_designs import (
    ATOM_SHARES,
    Generator,
    Overlap,
    Pair,
    TwoRates,
    atoms_of,
    atoms_of_counts,
    overlapping_counts,
    overlapping_groups,
)
from validity.certify_edges import CELLS as EDGES
from validity.certify_edges import known_rate_certificate
from validity.certify_options import CELLS as OTHERS
from validity.certify_shapes import CERTIFY as SHAPES
from validity.gap_cover import CELLS as COVER
from validity.gap_criteria import CELLS as CRITERIA
from validity.gap_evidence import CELLS as EVIDENCE
from validity.gap_evidence import POWER as EVIDENCE_POWER
from validity.gap_levels import CERTIFY as LEVELS
from validity.gap_means import CELLS as MEANS
from validity.gap_models import CELLS as MODELS
from validity.gap_pairs import CELLS as PAIRS
from validity.gap_pairs import POWER as PAIRS_POWER
from validity.gap_rare import CELLS as RARE
from validity.gap_within import CELLS as WITHIN
from validity.ordered_cuts import CELLS as ORDERED
from validity.printed_numbers import printed
from validity.probable_groups import CELLS as PROBABLE_GROUPS
from validity.promises import CELLS as PROMISES
from validity.skewed_means import CERTIFY as SKEWED
from validity.small_levels import CELLS as SMALL_LEVELS
from validity.unknown_outcomes import CELLS as UNKNOWN_OUTCOMES
from validity.unmeasured import CELLS as UNMEASURED
from validity.weighted_values import CELLS as WEIGHTED_VALUES
from validity.whole_functions import lines

Z = normal_quantile(0.95)
Run = Callable[[int, Generator], np.ndarray]


def binary_coverage(design: Pair | Overlap) -> Run:
    """Misses of the profile interval: the root at the true gap beyond the quantile."""
    return lambda repeats, generator: (
        np.abs(gap_root(design.counts(repeats, generator), np.full(repeats, design.gap))) > Z
    ).astype(float)


def row_coverage(design: Pair, target_method: TargetMethod = "profile") -> Run:
    """Misses of the interval for real values."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        missed = np.zeros(repeats)
        for index in range(repeats):
            low, high = paper_gaps(*design.rows(generator), target_method=target_method).limits(0.95)
            missed[index] = low[0] > design.gap or high[0] < design.gap
        return missed

    return run


def plug_in_coverage(design: Pair) -> Run:
    """Misses of the paper's interval, which takes the estimated target as known (Theorem 2)."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        parts = design.counts(repeats, generator)
        group, reference = parts.rates
        k, n = parts.k_both + parts.k_group, parts.n_both + parts.n_group
        known = KnownRateGaps(n, k, reference, "likelihood")
        assert np.allclose(known.estimate, group - reference)
        return (np.abs(known.root(np.full(repeats, design.gap))) > Z).astype(float)

    return run


# Four disjoint groups; three of them overlap in the second membership.
SIZES = np.array([0.1, 0.2, 0.3, 0.4])
# Ten groups of about thirty beside a large one.
ONE_LARGE = np.array([0.009] * 10 + [0.91])
SPREADS = (1.0, 3.0, 0.5, 2.0)


def joint_size(
    kind: str,
    *,
    binary: bool,
    n: int = 500,
    likelihood: str = "empirical",
    rate: float = 0.3,
    groups: int = 9,
    sizes_of: Floats = SIZES,
) -> Run:
    """Rejections of 'every gap is zero' when it is true, with unequal variances for real values."""
    overlapping = overlapping_groups()[:groups]
    disjoint = np.eye(sizes_of.size, dtype=bool)

    def one(generator: Generator) -> float:
        shares = ATOM_SHARES if kind == "overlapping" else sizes_of
        sizes = generator.multinomial(n, shares)
        if binary:
            values = [(generator.random(size) < rate).astype(float) for size in sizes]
        else:
            spread = np.resize(SPREADS, sizes.size)
            values = [
                2.0 + s * (generator.exponential(size=size) - 1.0)
                for s, size in zip(spread, sizes, strict=True)
            ]
        atoms = atoms_of(values, binary=binary)
        if kind == "reference":
            member, reference = disjoint[:-1], disjoint[-1]
        else:
            member = disjoint if kind == "partition" else overlapping
            reference = np.ones(sizes.size, dtype=bool)
        return float(joint_test(atoms, member, reference, None, likelihood).p_value <= 0.05)  # type: ignore[arg-type]

    return lambda repeats, generator: np.array([one(generator) for _ in range(repeats)])


def simultaneous_coverage(n: int, target: str) -> Run:
    """Repeats in which the interval of at least one of 23 overlapping groups misses."""
    member = overlapping_groups()
    rates = np.linspace(0.15, 0.5, ATOM_SHARES.size)
    reference = ~member if target == "rest" else np.ones_like(member)

    def truth() -> Floats:
        group = member @ (ATOM_SHARES * rates) / (member @ ATOM_SHARES)
        return group - reference @ (ATOM_SHARES * rates) / (reference @ ATOM_SHARES)

    def run(repeats: int, generator: Generator) -> np.ndarray:
        sizes, ones = overlapping_counts(repeats, n, rates, generator)
        missed = np.zeros(repeats)
        for index in range(repeats):
            atoms = atoms_of_counts(sizes[index], ones[index])
            critical = max_t_quantile(gap_covariance(atoms, member, reference), 0.95, seed=index, draws=4000)
            roots = make_gaps(atoms, Comparison(member, reference)).root(truth())
            missed[index] = np.abs(roots).max() > critical
        return missed

    return run


def simultaneous_rare(groups: int, size: int, beside: int, rate: float) -> Run:
    """Repeats in which some interval of many small groups with few events misses the common rate's zero gap."""
    member = np.eye(groups + 1, dtype=bool)[:groups]

    def run(repeats: int, generator: Generator) -> np.ndarray:
        sizes = np.append(np.full(groups, float(size)), float(beside))
        missed = np.zeros(repeats)
        for index, ones in enumerate(generator.binomial(sizes.astype(int), rate, (repeats, groups + 1))):
            atoms = atoms_of_counts(sizes, ones)
            gaps = make_gaps(atoms, Comparison(member, ~member))
            covariance = gap_covariance(atoms, member, ~member)
            level = 1.0 - 2.0 * special.ndtr(-max_t_quantile(covariance, 0.95, seed=index, draws=2000))
            low, high = gaps.limits_together(float(level), bonferroni_level(groups, 0.95))
            missed[index] = bool(np.any((low > 0) | (high < 0)))
        return missed

    return run


def wrong_certificate(design: Pair) -> Run:
    """The gap sits at the band's edge, and the 90% interval lies inside the band."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        edge = abs(design.gap)
        return certified(TwoRates(design.counts(repeats, generator)), (-edge, edge), 0.9).astype(float)

    return run


def one_sided(design: Pair, side: str) -> Run:
    """Rejections of 'at most' or 'at least' with the gap at the bound."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        above, below = gap_tails(design.counts(repeats, generator), np.full(repeats, design.gap))
        return ((above if side == "above" else below) <= 0.05).astype(float)

    return run


def interval_null(design: Pair, width: float, *, paper: bool = False) -> Run:
    """Rejections of 'inside the band' with the gap at its upper edge; the paper halves a chi-square tail."""

    def run(repeats: int, generator: Generator) -> np.ndarray:
        gaps = TwoRates(design.counts(repeats, generator))
        high = design.gap
        low = high - width
        if not paper:
            return (gaps.p_inside(low, high) <= 0.05).astype(float)
        root = np.abs(gaps.root(np.where(gaps.estimate > high, high, low)))
        outside = (gaps.estimate < low) | (gaps.estimate > high)
        return np.where(outside, special.ndtr(-root) <= 0.05, False).astype(float)

    return run


def _binary_pairs() -> list[Pair]:
    pairs = [
        Pair(target, share, n, mean, other)
        for target in ("overall", "rest")
        for share in (0.1, 0.5, 0.9)
        for n in (500, 2000)
        for mean, other in ((0.05, 0.5),)
    ]
    pairs += [Pair("reference", 0.5, n, 0.3, 0.3, 0.1) for n in (500, 2000)]
    return [*pairs, Pair("reference", 0.1, 500, 0.5, 0.05, 0.5)]


def _row_pairs() -> list[Pair]:
    return [
        Pair("overall", 0.5, 500, 1.0, 2.0),
        Pair("overall", 0.9, 2000, 1.0, 2.0),
        Pair("rest", 0.5, 500, 2.0, 1.0),
        Pair("rest", 0.1, 2000, 2.0, 1.0),
        Pair("reference", 0.5, 2000, 1.0, 1.0, 0.1),
    ]


def _cell(name: str, design: str, claim: str, run: Run, **more: object) -> Cell:
    return Cell("certify", name, design, claim, run, **more)  # type: ignore[arg-type]


def _rates_of(pair: Pair) -> str:
    return f"{pair.words}, rates {pair.mean:g} and {pair.other_mean:g}"


_JOINT = ("certify.joint.p_value",)
# a joint test of thousands of rows takes a tenth of a second; those of counts are cheap and many
_BY_ROWS: dict[str, object] = {"short": 60, "long": 600, "whole_analysis": True}
FEW_REFERENCE = Pair("reference", 0.5, 500, 1.0, 1.0, 0.1)
PLUG_OVERALL = Pair("overall", 0.5, 2000, 0.05, 0.5)
PLUG_REFERENCE = Pair("reference", 0.5, 2000, 0.3, 0.3, 0.1)
EDGE = Pair("reference", 0.5, 2000, 0.35, 0.30, 0.5)
NARROW = Pair("reference", 0.5, 2000, 0.305, 0.30, 0.5)

CELLS: list[Cell] = [
    *SKEWED,
    *(
        _cell(f"interval, binary, {pair.words}", _rates_of(pair), "coverage", binary_coverage(pair))
        for pair in _binary_pairs()
    ),
    _cell("interval, binary, rare events", "group of 10% against rest, rates 0.02, n 500",
          "coverage", binary_coverage(Pair("rest", 0.1, 500, 0.02, 0.02))),
    *(
        _cell(f"interval, exponential, {pair.words}",
              f"{pair.words}, exponential with means {pair.mean:g} and {pair.other_mean:g}", "coverage",
              row_coverage(pair))
        for pair in _row_pairs()
    ),
    _cell("interval, exponential, about 50 members", "group of 10% against rest, n 500",
          "coverage", row_coverage(Pair("rest", 0.1, 500, 1.0, 2.0))),
    _cell("interval, exponential, reference of about 50", "group of 50%, reference of 10%, n 500",
          "coverage", row_coverage(FEW_REFERENCE)),
    _cell("interval, binary, overlapping reference", "a third of the group is in the reference, n 1000", "coverage",
          binary_coverage(Overlap((0.1, 0.2, 0.3), (0.5, 0.2, 0.4), 1000))),
    _cell("interval, binary, overlapping reference, small", "rates 5% to 15%, group of 60 people, n 200", "coverage",
          binary_coverage(Overlap((0.1, 0.2, 0.3), (0.15, 0.05, 0.1), 200))),
    _cell("interval, orthogonal scores", "exponential, group of 50% against rest, n 500",
          "coverage", row_coverage(Pair("rest", 0.5, 500, 1.0, 2.0), "orthogonal")),
    _cell("joint test, reference, binary", "three groups and a reference, n 500", "size",
          joint_size("reference", binary=True), covers=_JOINT),
    _cell("joint test, partition, binary", "four groups against overall, n 500", "size",
          joint_size("partition", binary=True), covers=_JOINT),
    _cell("joint test, overlapping, binary", "nine overlapping groups against overall, n 500", "size",
          joint_size("overlapping", binary=True), covers=_JOINT),
    _cell("joint test, ten small groups, rare events", "groups of 30 beside 3,000, rate 0.2%", "size",
          joint_size("partition", binary=True, n=3300, rate=0.002, sizes_of=ONE_LARGE)),
    _cell("joint test, ten small groups against a large reference", "groups of 30, reference of 3,000, rate 1%", "size",
          joint_size("reference", binary=True, n=3300, rate=0.01, sizes_of=ONE_LARGE)),
    _cell("joint test, sparse intersections", "23 overlapping groups against overall, rate 5%, n 300", "size",
          joint_size("overlapping", binary=True, n=300, rate=0.05, groups=23)),
    _cell("joint test, reference, exponential", "three groups and a reference, unequal variances, n 2000", "size",
          joint_size("reference", binary=False, n=2000), covers=_JOINT, **_BY_ROWS),
    _cell("joint test, partition, exponential", "four groups against overall, unequal variances, n 2000", "size",
          joint_size("partition", binary=False, n=2000), **_BY_ROWS),
    _cell("joint test, overlapping, exponential", "nine overlapping groups, unequal variances, n 2000", "size",
          joint_size("overlapping", binary=False, n=2000), **_BY_ROWS),
    _cell("joint test, Euclidean, partition", "exponential, unequal variances, n 4000", "size",
          joint_size("partition", binary=False, n=4000, likelihood="euclidean"), **_BY_ROWS),
    _cell("simultaneous intervals, rest", "23 overlapping groups, rates 15% to 50%, n 2000", "coverage",
          simultaneous_coverage(2000, "rest")),
    _cell("simultaneous intervals, overall", "23 overlapping groups, rates 15% to 50%, n 2000", "coverage",
          simultaneous_coverage(2000, "overall")),
    _cell("simultaneous intervals, rare events", "20 groups of 30 beside 2000, rate 2%, target rest", "coverage",
          simultaneous_rare(20, 30, 2000, 0.02)),
    _cell("simultaneous intervals, few events", "10 groups of 40 beside 1000, rate 3%, target rest", "coverage",
          simultaneous_rare(10, 40, 1000, 0.03)),
    _cell("certificate at the band's edge", "true gap exactly the tolerance, n 2000", "wrong certification",
          wrong_certificate(EDGE)),
    _cell("certificate at the band's edge, rest", "group of 10%, true gap the tolerance, n 8000", "wrong certification",
          wrong_certificate(Pair("rest", 0.1, 8000, 0.25, 0.30))),
    _cell("certificate at the band's edge, few events", "100 people, rate 0.5%, known target 5% ± 4.5 points",
          "wrong certification", known_rate_certificate(100, 0.005, 0.05)),
    _cell("one-sided above at the bound", "reference of 50%, n 2000", "size", one_sided(EDGE, "above")),
    _cell("one-sided below at the bound", "reference of 50%, n 2000", "size", one_sided(EDGE, "below")),
    _cell("one-sided, small counts", "group of 10%, rates 5%, n 500", "size",
          one_sided(Pair("rest", 0.1, 500, 0.05, 0.05), "above")),
    _cell("interval null, wide band", "gap at the edge of 10 points", "size", interval_null(EDGE, 0.10)),
    _cell("interval null, narrow band", "gap at the edge of a twentieth of a point", "size",
          interval_null(NARROW, 0.0005)),
    _cell("plug-in, overall", _rates_of(PLUG_OVERALL), "coverage", plug_in_coverage(PLUG_OVERALL), variant="paper",
          counterpart=f"interval, binary, {PLUG_OVERALL.words}"),
    _cell("plug-in, reference", _rates_of(PLUG_REFERENCE), "coverage", plug_in_coverage(PLUG_REFERENCE),
          variant="paper", counterpart=f"interval, binary, {PLUG_REFERENCE.words}"),
    _cell("plug-in, reference, exponential", "group of 50%, reference of 10%, n 500", "coverage",
          row_coverage(FEW_REFERENCE, "plug-in"), variant="paper",
          counterpart="interval, exponential, reference of about 50"),
    _cell("interval null by half a chi-square", "gap at the edge of a twentieth of a point", "size",
          interval_null(NARROW, 0.0005, paper=True), variant="paper", counterpart="interval null, narrow band",
          short=2000, long=4000),
    *EDGES,
    *OTHERS,
    *SHAPES,
    *EVIDENCE,
    *COVER,
    *EVIDENCE_POWER,
    *UNKNOWN_OUTCOMES,
    *PROBABLE_GROUPS,
    *PAIRS,
    *PAIRS_POWER,
    *CRITERIA,
    *MEANS,
    *MODELS,
    *WITHIN,
    *UNMEASURED,
    *LEVELS, *RARE, *WEIGHTED_VALUES,
    *(cell for cell in ORDERED if cell.method == "certify"),
    *lines("certify"),
    *printed("certify"),
    *PROMISES,
    *SMALL_LEVELS,
]  # fmt: skip
