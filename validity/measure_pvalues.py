"""More lines of measure: its p-values one by one, and over a whole table after Holm."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import product

import numpy as np
import pyarrow as pa
from scipy.stats import binom

from inside.direct_calls import gap_p
from inside.inference import KnownRateGaps, PartCounts, holm
from validity.board import Cell
from validity.measure_designs import Draw, Errors, Random, linear, repeated, survey

EVERY_RATE = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99)


def known_rate(repeats: int, random: Random, *, n: int, rate: float, plain: bool = False) -> Errors:
    """Rejections of 'the rate is this number'; `plain` leaves the binomial tails out."""
    count = np.full(repeats, float(n))
    events = random.binomial(n, rate, repeats).astype(np.float64)
    gaps = KnownRateGaps(count, events, np.full(repeats, rate))
    if plain:
        score = (events - n * rate) / np.sqrt(n * rate * (1 - rate))
        return np.asarray(np.abs(score) > 1.959964, dtype=np.float64)
    return np.asarray(gaps.p_equal(0.0) <= 0.05, dtype=np.float64)


def known_rate_exactly(repeats: int, random: Random, *, sizes: tuple[int, ...], level: float) -> Errors:
    """Exact chance that 'the rate is this number' is rejected where it is, by adding up every count."""
    found = []
    for n, rate in product(sizes, EVERY_RATE):
        events = np.arange(n + 1.0)
        p = KnownRateGaps(np.full(n + 1, float(n)), events, np.full(n + 1, rate)).p_equal(0.0)
        found.append(binom.pmf(events, n, rate)[p <= level].sum())
    return np.array(found)


def each_person_once(repeats: int, random: Random, *, sizes: tuple[int, ...], level: float) -> Errors:
    """The same by `measure` itself, of people who are named by `unit` and have one row each."""
    from fairtrial import Audit, measure

    found = []
    for n, rate in product(sizes, (0.005, 0.01, 0.02, 0.1)):
        mass = binom.pmf(np.arange(n + 1), n, rate)
        rejected = 0.0
        for events in np.flatnonzero(mass > 1e-9):
            rows = {
                "decision": (np.arange(n) < events).astype(np.int64),
                "person": np.arange(n),
                "g": ["a"] * n,
            }
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # nobody has the event in some of them
                audit = Audit(pa.table(rows), decision="decision", groups=["g"], unit="person")
                (row,) = measure(audit, "selection_rate", target=rate).estimates
            rejected += mass[events] * (row["p_value"] <= level)
        found.append(rejected)
    return np.array(found)


def overall_rate(repeats: int, random: Random, *, n: int, share: float, rate: float) -> Errors:
    """Rejections of 'the group's rate is everybody's', the group being part of everybody."""
    n1 = random.binomial(n, share, repeats).astype(np.float64)
    k1, k2 = (random.binomial(size.astype(int), rate).astype(np.float64) for size in (n1, n - n1))
    zero = np.zeros(repeats)
    return np.asarray(gap_p(PartCounts(k1, n1, zero, zero, k2, n - n1), zero) <= 0.05, dtype=np.float64)


def weighted(
    repeats: int, random: Random, *, draw: Draw, rate: float | None = None, real: bool = False
) -> Errors:
    """Rejections with weights or repeated rows: against a known rate, of another group's rate, or of its mean."""
    errors = np.zeros(repeats)
    for i in range(repeats):
        values, inside, weight, person = draw(random)
        if real:
            values = values + random.gamma(2.0, 0.5, values.size)
        p = linear(values, inside, weight, person, known=rate).p_equal(0.0)[0]
        errors[i] = p <= 0.05
    return errors


def table(
    repeats: int, random: Random, *, sizes: tuple[int, ...], rate: float, adjust: bool = True
) -> Errors:
    """Some line of a table of equal rates is called violated, every group being compared with the rest."""
    count = np.array(sizes, dtype=np.float64)
    ones = random.binomial(np.array(sizes), rate, (repeats, len(sizes))).astype(np.float64)
    total, events = count.sum(), ones.sum(axis=1, keepdims=True)
    zero = np.zeros(ones.size)
    n1, n2 = np.tile(count, repeats), np.tile(total - count, repeats)
    p = gap_p(PartCounts(zero, zero, ones.ravel(), n1, (events - ones).ravel(), n2), zero)
    p = p.reshape(repeats, -1)
    if adjust:
        p = np.array([holm(row) for row in p])
    return np.asarray(p.min(axis=1) <= 0.05, dtype=np.float64)


def _size(name: str, design: str, run: object, short: int = 2000, long: int = 20_000, **more: object) -> Cell:
    return Cell("measure", name, design, "size", run, short=short, long=long, **more)  # type: ignore[arg-type]


def _slower(name: str, design: str, run: object) -> Cell:
    return _size(name, design, run, 400, 2000)


_FEW = "50 people, rate 2%, the known number"
_EIGHT = "eight groups of 40 to 400 people, rate 20%"
_SIZES = (40, 60, 80, 100, 150, 200, 300, 400)
_RARE = partial(survey, n1=50, n2=300, rate=0.02, spread=0.5)

CELLS = [
    _size("p-value against a known number", "100 people, rate 10%, the known number",
          partial(known_rate, n=100, rate=0.1)),
    _size("p-value against a known number, rare events", _FEW, partial(known_rate, n=50, rate=0.02)),
    _size("p-value of the plain score", _FEW, partial(known_rate, n=50, rate=0.02, plain=True), variant="paper",
          counterpart="p-value against a known number, rare events", short=20_000),
    *(
        _size(f"p-value against a known number, every count{words}", "20 to 400 people, rates .5% to 99%",
              partial(known_rate_exactly, sizes=(20, 38, 50, 100, 150, 400), level=level), nominal=level, exact=True)
        for level, words in ((0.05, ""), (0.01, ", level .01"), (0.001, ", level .001"))
    ),
    _size("p-value against a known number, unit= with every person once", "50, 100 and 150 people, rates .5% to 10%",
          partial(each_person_once, sizes=(50, 100, 150), level=0.05), exact=True),
    _size("p-value of a difference to overall", "30% of 600 people, rate 30%",
          partial(overall_rate, n=600, share=0.3, rate=0.3)),
    _size("p-value of a difference to overall, rare events", "7% of 600 people, rate 5%",
          partial(overall_rate, n=600, share=0.07, rate=0.05)),
    _slower("p-value of a weighted rate against a known number", "50 people, 2%, weights vary by half",
            partial(weighted, draw=_RARE, rate=0.02)),
    _slower("p-value of a weighted difference", "60 and 300 people, 30%, weights vary by half",
            partial(weighted, draw=partial(survey, n1=60, n2=300, rate=0.3, spread=0.5))),
    _slower("p-value of a difference of repeated rows", "60 and 150 persons with up to five rows",
            partial(weighted, draw=partial(repeated, n1=60, n2=150, rate=0.3, across=False))),
    _slower("p-value of a weighted difference of means", "60 and 300 people, gamma values, weights vary by half",
            partial(weighted, draw=partial(survey, n1=60, n2=300, rate=0.3, spread=0.5), real=True)),
    _size("no line of a table called violated", _EIGHT, partial(table, sizes=_SIZES, rate=0.2)),
    _size("every line of a table at its own 5%", _EIGHT, partial(table, sizes=_SIZES, rate=0.2, adjust=False),
          variant="paper", counterpart="no line of a table called violated"),
    _size("no line of a table called violated, rare events", "twelve groups of 30 beside 1,000, rate 2%",
          partial(table, sizes=(30,) * 12 + (1000,), rate=0.02)),
]  # fmt: skip
