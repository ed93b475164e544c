"""Lines of explain where few rows tell: small groups, rates near 0 and 1, paired decisions, cells of two attributes.

People are decided by every coalition with the same chance, their decisions being alike by a common disposition: every
true contribution is then known (a rate's is the rate times Σ_S c_k(S)), whatever the coalitions' decisions share.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy import special, stats

from inside.explain import (
    Contributions,
    Floats,
    RowForm,
    Targets,
    b_sequence,
    coefficients,
    contributions,
    estimates_of,
    gap_tests,
    interval,
    merge_targets,
    multi_attribute_targets,
    pair_targets,
    two_sided_p,
)
from inside.inference import Atoms, PairGaps, holm
from validity.board import Cell
from validity.explain_designs import LEVEL, Run

Random = np.random.Generator
Sizes = tuple[int, ...]
EVERY = (slice(None), slice(None))
ALIKE = 0.6  # how much a person's decisions by different coalitions have in common


def _decisions(random: Random, rates: Floats, features: int, alike: Floats | float = ALIKE) -> np.ndarray:
    """Decisions of all coalitions (none of the empty one) for people with these chances."""
    common = random.standard_normal((rates.size, 1))
    own = random.standard_normal((rates.size, (1 << features) - 1))
    share = np.broadcast_to(np.asarray(alike, dtype=float), rates.shape)[:, None]
    decided = np.sqrt(share) * common + np.sqrt(1 - share) * own < special.ndtri(rates)[:, None]
    return np.concatenate([np.zeros((rates.size, 1)), decided], axis=1).astype(np.uint8)


def _everyone(n: int) -> RowForm:
    none, one = np.zeros(n), np.ones(n)
    return RowForm(none, one, one, one)


def _own_and_gap(groups: int = 2) -> Targets:
    """Each group's own rate, then the gap of the first two."""
    singles = np.left_shift(np.int64(1), np.arange(groups, dtype=np.int64))
    own = Targets(singles, np.eye(groups)[:, None])
    return merge_targets([own, pair_targets(groups, [(0, 1)], np.ones(1), 1.0)])


def _sample(
    random: Random,
    sizes: Sizes,
    rates: tuple[float, ...],
    features: int,
    member: str,
    alike: Floats | float = ALIKE,
) -> Contributions:
    group = np.repeat(np.arange(len(sizes)), sizes)
    together = alike if isinstance(alike, float) else np.asarray(alike)[group]
    decided = _decisions(random, np.array(rates)[group], features, together)
    c = coefficients(b_sequence(member, features))[None]
    return contributions(decided, _everyone(group.size), group, len(sizes), c, _own_and_gap(len(sizes)))


def _limits(found: Contributions, plain: bool) -> tuple[Floats, Floats, Floats]:
    """As explain gives them; `plain` for the influence values' own spread, as it was before the quarter rows."""
    if plain:
        error = found.spread()
        return *interval(found.estimate, error, LEVEL), two_sided_p(found.estimate, error)
    ours = estimates_of(found, EVERY, LEVEL, found.with_quarter_rows())
    return ours.low, ours.high, ours.p_value


def any_driver(
    sizes: Sizes, rates: tuple[float, ...], *, features: int = 3, member: str = "shapley", plain: bool = False,
    alike: Floats | float = ALIKE,
) -> Run:  # fmt: skip
    """Some feature is called a driver after Holm: an error where the groups' rates are the same, power elsewhere."""

    def run(repeats: int, random: Random) -> np.ndarray:
        found = np.empty(repeats)
        for r in range(repeats):
            p = _limits(_sample(random, sizes, rates, features, member, alike), plain)[2][-1, 0]
            found[r] = holm(np.nan_to_num(p, nan=1.0)).min() <= 1 - LEVEL
        return found

    return run


def missed(
    sizes: Sizes, rates: tuple[float, ...], *, own: bool = False, features: int = 3, member: str = "shapley",
    plain: bool = False,
) -> Run:  # fmt: skip
    """Misses of the first feature's contribution to the gap; of the last group's own rate with `own`."""
    share = coefficients(b_sequence(member, features))[0].sum()
    truth = share * (rates[-1] if own else rates[0] - rates[1])
    place = (len(sizes) - 1 if own else len(sizes), 0, 0)

    def run(repeats: int, random: Random) -> np.ndarray:
        wrong = np.empty(repeats)
        for r in range(repeats):
            low, high, _ = _limits(_sample(random, sizes, rates, features, member), plain)
            wrong[r] = not low[place] - 1e-9 <= truth <= high[place] + 1e-9
        return wrong

    return run


# -- rates whose denominator moves: PPV and FOR --------------------------------------------------------------------
def ratio(
    sizes: Sizes, chosen: float, right: tuple[float, float], *, omission: bool = False, drivers: bool = False,
    plain: bool = False,
) -> Run:  # fmt: skip
    """PPV (or FOR) of coalitions that select alike: any driver, or misses of the first feature's gap contribution.

    Whom a coalition selects does not depend on the outcome, so each coalition's PPV is the group's rate of the outcome.
    """
    c = coefficients(b_sequence("shapley", 3))[None]
    truth = float(c[0, 0].sum()) * (right[0] - right[1])

    def run(repeats: int, random: Random) -> np.ndarray:
        group = np.repeat(np.arange(2), sizes)
        wrong = np.zeros(repeats)
        for r in range(repeats):
            y = (random.random(group.size) < np.array(right)[group]).astype(float)
            decided = _decisions(random, np.full(group.size, 1 - chosen if omission else chosen), 3)
            none, one = np.zeros_like(y), np.ones_like(y)
            form = RowForm(y, none, one, none) if omission else RowForm(none, y, none, one)
            found = contributions(decided, form, group, 2, c, _own_and_gap())
            if found.undefined.any():
                continue
            low, high, p = _limits(found, plain)
            if drivers:
                wrong[r] = holm(np.nan_to_num(p[-1, 0], nan=1.0)).min() <= 1 - LEVEL
            else:
                wrong[r] = not low[-1, 0, 0] <= truth <= high[-1, 0, 0]
        return wrong

    return run


# -- cells of two attributes ---------------------------------------------------------------------------------------
def cell_values(sizes: tuple[int, int, int, int], rates: tuple[float, ...], *, plain: bool = False) -> Run:
    """Share of the cells' contributions (Theorem A.1, two features) that are missed."""
    targets = multi_attribute_targets([b_sequence("shapley", 2)] * 2, 0.5)
    c = coefficients(b_sequence("shapley", 2))[None]
    inside = (targets.unions[:, None] >> np.arange(4)[None, :] & 1) * np.array(sizes)
    pooled = inside @ np.array(rates) / inside.sum(axis=1)
    truth = targets.weights[:, 0] @ pooled * c[0, 0].sum()

    def run(repeats: int, random: Random) -> np.ndarray:
        group, wrong = np.repeat(np.arange(4), sizes), np.empty(repeats)
        for r in range(repeats):
            decided = _decisions(random, np.array(rates)[group], 2)
            found = contributions(decided, _everyone(group.size), group, 4, c, targets)
            low, high, _ = _limits(found, plain)
            wrong[r] = ((truth[:, None] < low[:, 0]) | (truth[:, None] > high[:, 0])).mean()
        return wrong

    return run


# -- by enumeration: paired decisions, and the first stage ---------------------------------------------------------
PAIRED_SIZES, PAIRED_RATES = (20, 28, 36, 40, 44, 52, 60), (0.02, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97)


def mitigation(
    level: float = LEVEL, *, plain: bool = False, sizes: Sizes = PAIRED_SIZES
) -> Callable[..., np.ndarray]:
    """Misses of the change of a rate when a feature is left out, over people × rates × how alike both decisions are."""

    def run(repeats: int, random: Random) -> np.ndarray:
        changes = [
            (rate, after)
            for rate in PAIRED_RATES
            for after in (rate, 0.8 * rate, 0.5 * rate, rate + 0.1 * (1 - rate), rate + 0.3 * (1 - rate))
        ]
        return np.array([_missed_change(n, *change, level, plain) for n in sizes for change in changes])

    return run


@cache
def _change_limits(n: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Of every table of n people, in the order of `_missed_change`."""
    gained, lost = (part.ravel().astype(float) for part in np.meshgrid(np.arange(n + 1), np.arange(n + 1)))
    kept = gained + lost <= n
    return PairGaps(gained[kept], lost[kept], np.full(int(kept.sum()), float(n))).limits(level)


def _missed_change(n: int, before: float, after: float, level: float, plain: bool) -> float:
    """The chance that the interval misses after − before, decisions sharing a disposition."""
    both = stats.multivariate_normal.cdf(special.ndtri([before, after]), cov=[[1.0, 0.8], [0.8, 1.0]])
    gain, lose = after - both, before - both
    gained, lost = (part.ravel().astype(float) for part in np.meshgrid(np.arange(n + 1), np.arange(n + 1)))
    kept = gained + lost <= n
    gained, lost = gained[kept], lost[kept]
    chance = np.exp(
        special.gammaln(n + 1) - special.gammaln(gained + 1) - special.gammaln(lost + 1)
        - special.gammaln(n - gained - lost + 1) + special.xlogy(gained, gain) + special.xlogy(lost, lose)
        + special.xlogy(n - gained - lost, 1 - gain - lose)
    )  # fmt: skip
    if plain:
        change = (gained - lost) / n
        half = -special.ndtri((1 - level) / 2) * np.sqrt(((gained + lost) / n - change**2) / n)
        low, high = change - half, change + half
    else:
        low, high = _change_limits(n, level)
    wrong = (after - before < low - 1e-9) | (after - before > high + 1e-9)
    return float(chance[wrong].sum())


TABLES = ((20, 20), (40, 15), (57, 20), (60, 25))
RATES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97)


def first_stage(level: float = LEVEL, *, claim: str = "size") -> Callable[..., np.ndarray]:
    """Two groups by enumeration: rejections of equal rates; misses; or where interval and p-value disagree."""

    def run(repeats: int, random: Random) -> np.ndarray:
        return np.concatenate([_two_groups(n, m, level, claim) for n, m in TABLES])

    return run


def _two_groups(n: int, m: int, level: float, claim: str) -> np.ndarray:
    k, j = (part.ravel().astype(float) for part in np.meshgrid(np.arange(n + 1), np.arange(m + 1)))
    tables = k.size
    count, ones = np.r_[np.full(tables, n), np.full(tables, m)].astype(float), np.r_[k, j]
    mean = ones / count
    member = np.concatenate(
        [np.eye(2 * tables, dtype=bool)[:tables], np.eye(2 * tables, dtype=bool)[tables:]]
    )
    pairs = [(t, tables + t) for t in range(tables)]
    gaps = gap_tests(Atoms(count, mean, count * mean * (1 - mean), True), member, pairs, level)
    p, low, high = (np.array([getattr(gap, name) for gap in gaps]) for name in ("p_value", "low", "high"))
    if claim == "agreement":
        return np.array([np.mean((p <= 1 - level) != ((low > 0) | (high < 0)))])
    errors = []
    for rate in RATES:
        for other in (rate,) if claim == "size" else (rate, 0.7 * rate, rate + 0.2 * (1 - rate)):
            chance = stats.binom.pmf(k, n, rate) * stats.binom.pmf(j, m, other)
            gap = rate - other
            wrong = p <= 1 - level if claim == "size" else (low > gap + 1e-9) | (high < gap - 1e-9)
            errors.append(float(chance[wrong].sum()))
    return np.array(errors)


# -- the lines -----------------------------------------------------------------------------------------------------
def _cell(
    name: str, design: str, run: Callable[..., np.ndarray], claim: str = "size", **more: object
) -> Cell:
    return Cell("explain", name, design, claim, run, **more)  # type: ignore[arg-type]


# The three designs in which drivers were called in groups that are alike: .178, .128 and .103 of the time.
_FOUND = (((400, 25), 0.97), ((1000, 60), 0.023), ((500, 50), 0.046))
_SIZES = ((20, 20), (25, 25), (100, 30), (400, 25), (2000, 30), (5000, 25))
_RATES = (0.03, 0.1, 0.2, 0.5, 0.8, 0.97)
_COVERED = (
    ((20, 20), (0.03, 0.2)), ((20, 20), (0.5, 0.97)), ((100, 30), (0.2, 0.03)), ((400, 25), (0.97, 0.97)),
    ((400, 25), (0.5, 0.8)), ((1000, 60), (0.023, 0.023)), ((5000, 25), (0.9, 0.97)), ((2000, 30), (0.1, 0.04)),
)  # fmt: skip


def _people(sizes: Sizes) -> str:
    return "/".join(f"{size:,}" for size in sizes)


def _driver_lines() -> list[Cell]:
    lines = []
    for sizes, rate in _FOUND:
        name, design = (
            f"any driver, groups alike, {_people(sizes)}",
            f"rate {rate} under every coalition, 3 features",
        )
        line = any_driver(sizes, (rate, rate), alike=0.9)
        lines.append(_cell(name, design, line, covers=("explain.p_adjusted",)))
        plain = any_driver(sizes, (rate, rate), alike=0.9, plain=True)
        lines.append(
            _cell(
                f"any driver by the rows' own spread, {_people(sizes)}",
                design,
                plain,
                variant="paper",
                counterpart=name,
            )
        )
    for sizes in _SIZES:
        for rate in _RATES:
            design = f"rate {rate} under every coalition, 3 features"
            run = any_driver(sizes, (rate, rate))
            lines.append(_cell(f"any driver, {_people(sizes)}, rate {rate}", design, run, short=0))
    for sizes in ((40, 40), (400, 25)):
        for rate in (0.1, 0.5, 0.9):
            design = "rates alike, one group's coalitions decide far more alike: zero contributions, unequal spread"
            run = any_driver(sizes, (rate, rate), alike=np.array([0.2, 0.95]))
            lines.append(
                _cell(f"any driver, unequal spread, {_people(sizes)}, rate {rate}", design, run, short=0)
            )
    for features, member in ((4, "shapley"), (6, "shapley"), (8, "equal_surplus")):
        for sizes, rate in (((25, 25), 0.5), ((400, 30), 0.04), ((2000, 30), 0.98)):
            run = any_driver(sizes, (rate, rate), features=features, member=member)
            name = f"any driver, {features} features, {member.replace('_', ' ')}, {_people(sizes)}"
            lines.append(_cell(name, f"rate {rate} under every coalition", run, short=0))
    return lines


def _coverage_lines() -> list[Cell]:
    lines = []
    for index, (sizes, rates) in enumerate(_COVERED):
        design = f"rates {rates[0]} and {rates[1]} under every coalition, 3 features"
        short = 400 if index in (3, 5) else 0
        for own, what in ((False, "gap"), (True, "group's rate")):
            covers = ("explain.difference_low", "explain.difference_high")
            lines.append(
                _cell(f"contribution to the {what}, {_people(sizes)}, {rates[0]} and {rates[1]}", design,
                      missed(sizes, rates, own=own), "coverage", short=short, covers=covers)
            )  # fmt: skip
    for cells, levels in (
        ((45, 36, 27, 12), (0.5, 0.4, 0.3, 0.2)), ((45, 36, 27, 12), (0.05, 0.05, 0.05, 0.05)),
        ((45, 36, 27, 12), (0.9, 0.97, 0.95, 0.9)), ((20, 20, 20, 20), (0.03, 0.1, 0.5, 0.9)),
        ((300, 200, 40, 25), (0.6, 0.5, 0.4, 0.8)),
    ):  # fmt: skip
        name = f"cells of two attributes (Theorem A.1), {_people(cells)}, first rate {levels[0]}"
        short = 400 if levels[0] == 0.05 else 0
        lines.append(
            _cell(name, f"rates {levels}, 2 features, Shapley", cell_values(cells, levels), "coverage", short=short,
                  covers=("explain.value_low", "explain.value_high"))
        )  # fmt: skip
    return lines


def _ratio_lines() -> list[Cell]:
    lines = []
    for sizes, chosen, right in (
        ((300, 120), 0.3, 0.97), ((300, 60), 0.2, 0.5), ((1000, 100), 0.1, 0.9), ((500, 50), 0.3, 0.97),
        ((200, 200), 0.05, 0.8),
    ):  # fmt: skip
        for omission, label in ((False, "ppv"), (True, "for")):
            design = f"3 features; {chosen} of the people count, rate {right}"
            name = f"{label}, {_people(sizes)}, {chosen} count, rate {right}"
            run = ratio(sizes, chosen, (right, right), omission=omission, drivers=True)
            lines.append(_cell(f"any driver of {name}", design, run, short=0))
            other = (right, right - 0.1)
            lines.append(
                _cell(f"contribution to the gap in {name}", f"{design}, the other's {other[1]:.2f}",
                      ratio(sizes, chosen, other, omission=omission), "coverage", short=0)
            )  # fmt: skip
    return lines


def _power_lines() -> list[Cell]:
    lines = []
    far = (((400, 20), (0.2, 0.02)), ((400, 20), (0.8, 0.5)))  # where more than ten points are lost
    why = "it also finds what is not there: see its lines of size"
    for sizes, rates in (
        ((400, 20), (0.5, 0.97)), ((400, 20), (0.2, 0.02)), ((400, 20), (0.8, 0.5)), ((400, 40), (0.8, 0.5)),
        ((286, 50), (0.84, 0.6)), ((2862, 501), (0.84, 0.8)),
    ):  # fmt: skip
        lines.append(
            _cell(f"power for a driver, {_people(sizes)}, {rates[0]} and {rates[1]}", "each of 3 features a third",
                  any_driver(sizes, rates), "power", short=0, rival=any_driver(sizes, rates, plain=True),
                  rival_name="the rows' own spread", loses=why if (sizes, rates) in far else "")
        )  # fmt: skip
    return lines


_PAIRED = "by enumeration: 20 to 60 people, rates .02 to .97, five changes each"
_TWO = "by enumeration: 20/20 to 60/25 people, rates .02 to .97"

CELLS: list[Cell] = [
    *_driver_lines(),
    *_coverage_lines(),
    *_ratio_lines(),
    *_power_lines(),
    _cell("mitigation: change of a rate", _PAIRED, mitigation(), "coverage", exact=True,
          covers=tuple(f"explain.pareto.changes.difference_{end}" for end in ("low", "high"))),
    _cell("mitigation by the usual standard error", _PAIRED, mitigation(plain=True), "coverage", exact=True,
          variant="paper", counterpart="mitigation: change of a rate"),
    _cell("mitigation: change of a rate, 99%", _PAIRED, mitigation(0.99), "coverage", nominal=0.01, exact=True,
          worst=0.015),
    _cell("first stage: equal rates of two groups", _TWO, first_stage(), exact=True, covers=("explain.p_value",)),
    _cell("first stage: equal rates of two groups, level .01", _TWO, first_stage(0.99), nominal=0.01, exact=True,
          worst=0.015),
    _cell("first stage: share of tables where the p-value and the interval disagree", _TWO,
          first_stage(claim="agreement"), exact=True, worst=0.0, covers=("explain.p_value",)),
    _cell("first stage: gap of two groups", _TWO, first_stage(claim="coverage"), "coverage", exact=True),
]  # fmt: skip
