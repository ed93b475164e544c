"""Numbers as the public functions print them: every limit and p-value that is read off a table, on people alike.

Each repeat asks the public function about one table of people and looks at a printed column; where a table has
several rows, the error is the share of wrong rows, or whether any is (adjusted p-values, limits "all at once").
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from validity.board import Cell
from validity.whole_functions import Random, audit, explanations, people

Rows = list[dict[str, Any]]
Ask = Callable[[Random], Rows]
RATE, GAP = 0.3, 0.1  # the false positive rate of everyone, and how much higher women's is where it differs
ENDS = ("low", "high")


# -- what is asked ---------------------------------------------------------------------------------------------
def measure_rows(random: Random) -> Rows:
    from fairtrial import measure

    return list(measure(audit(random, 500, ["sex", "race"]), "fpr").estimates)


def certify_rows(random: Random, **options: Any) -> Rows:
    from fairtrial import certify

    return list(certify(audit(random, 500, ["sex", "race"]), "fpr", **options).estimates)


def certify_women(random: Random, **options: Any) -> Rows:
    """Women against men, whose rate is lower by `GAP`."""
    from fairtrial import certify

    rows = audit(random, 600, ["sex"], gap=GAP)
    return list(certify(rows, "fpr", by=[{"sex": "f"}], target={"sex": "m"}, **options).estimates)


def flag_rows(random: Random) -> Rows:
    from fairtrial import flag

    return list(flag(audit(random, 500, ["sex", "race"]), "fpr", direction="differs").estimates)


def scan_all_rows(random: Random) -> Rows:
    from fairtrial import scan

    asked = audit(random, 400, ["sex", "age"])
    seed = int(random.integers(2**31))
    return list(
        scan(asked, "fpr", protected="sex", features=["age"], permutations=199, jobs=1, seed=seed).estimates
    )


def transport_rows(random: Random) -> Rows:
    from fairtrial import transport

    """Women against men, of whom there are more, so that they are the reference."""
    rows = audit(random, 400, ["sex"], gap=GAP, sexes=(0.7, 0.3))
    return list(transport(rows, "predictive_equality", by="sex").estimates)


def explain_rows(random: Random) -> Rows:
    """Groups' rates under the rule with both features: the score at least .4, or of race a and old."""
    return [row for row in explanations(people(random, 500), 0.4)[0].estimates if row["part"] == "rate"]


def compare_rows(random: Random) -> Rows:
    """The contributions to the gap, which no rule changes: the sexes are alike."""
    before, after = explanations(people(random, 500), 0.4, 0.6)
    changed = before.compare(after).estimates
    return [row for row in changed if row["part"] == "gap"][1:]


# -- what is wrong with it -------------------------------------------------------------------------------------
def missed(ask: Ask, name: str, truth: float, *, every: bool = True) -> Callable[[int, Random], np.ndarray]:
    """The share of printed intervals that miss the truth, or whether any does."""

    def wrong(random: Random) -> float:
        limits = [[row[f"{name}_{end}"] for end in ENDS] for row in ask(random)]
        known = [(low, high) for low, high in limits if isinstance(low, float) and isinstance(high, float)]
        off = [not low - 1e-12 <= truth <= high + 1e-12 for low, high in known]
        return _share(off, every)

    return _repeated(wrong)


def rejected(ask: Ask, name: str, *, every: bool = True) -> Callable[[int, Random], np.ndarray]:
    """The share of printed p-values at most 5%, or whether any is."""

    def wrong(random: Random) -> float:
        known = [row[name] for row in ask(random) if isinstance(row[name], float)]
        return _share([p <= 0.05 for p in known], every)

    return _repeated(wrong)


def _share(off: list[bool], every: bool) -> float:
    return (float(np.mean(off)) if every else float(any(off))) if off else 0.0


def _repeated(wrong: Callable[[Random], float]) -> Callable[[int, Random], np.ndarray]:
    def run(repeats: int, random: Random) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.array([wrong(random) for _ in range(repeats)])

    return run


def _repeats(method: str) -> dict[str, Any]:
    """A call of these takes a twentieth of a second or more; the same statistics have lines of their own in bulk."""
    return (
        {"long": 800, "whole_analysis": True}
        if method in ("certify", "compare", "explain", "scan_all")
        else {}
    )


# -- the board -------------------------------------------------------------------------------------------------
def _interval(method: str, name: str, design: str, ask: Ask, truth: float, **more: Any) -> Cell:
    """A line on one column and its limits; `words` names it apart from others of the column."""
    every, words = more.pop("every", True), more.pop("words", name.replace("_", " "))
    covers = tuple(f"{method}.{name}_{end}" for end in ENDS)
    settings: dict[str, Any] = {"short": 0, "covers": covers, **_repeats(method), **more}
    return Cell(method, f"printed interval, {words}", design, "coverage", missed(ask, name, truth, every=every),
                **settings)  # fmt: skip


def _p(method: str, name: str, design: str, ask: Ask, **more: Any) -> Cell:
    run = rejected(ask, name, every=name == "p_value")
    words = "share of p-values at most 5%" if name == "p_value" else "any adjusted p-value at most 5%"
    settings: dict[str, Any] = {"short": 0, "covers": (f"{method}.{name}",), **_repeats(method), **more}
    return Cell(method, f"printed, {words}", design, "size", run, **settings)


_ALIKE = "two sexes and three races alike, 500 people, false positive rate 30%"
_WOMEN = "women against men, 10 points higher, 600 people"
_PAIRS = "2 features, the sexes alike, 500 people"
_RATIO: dict[str, Any] = {"scale": "ratio"}

_ALL = (
    _interval("measure", "rate", _ALIKE, measure_rows, RATE),
    _interval("measure", "difference", _ALIKE, measure_rows, 0.0),
    _interval("measure", "ratio", _ALIKE, measure_rows, 1.0),
    _p("measure", "p_value", _ALIKE, measure_rows),
    _p("measure", "p_adjusted", _ALIKE, measure_rows),
    _interval("certify", "difference", _WOMEN, certify_women, GAP),
    _interval("certify", "certificate", _WOMEN, certify_women, GAP, nominal=0.1),
    _interval("certify", "ratio_certificate", _WOMEN, lambda random: certify_women(random, **_RATIO),
              (RATE + GAP) / RATE, nominal=0.1),
    _interval("certify", "together", _ALIKE, certify_rows, 0.0, every=False),
    _interval("certify", "ratio_together", _ALIKE, lambda random: certify_rows(random, **_RATIO), 1.0, every=False),
    _p("certify", "p_value", _ALIKE, certify_rows),
    _p("certify", "p_adjusted", _ALIKE, certify_rows),
    _p("flag", "p_value", _ALIKE, flag_rows),
    _p("flag", "p_adjusted", _ALIKE, flag_rows, long=4000),
    _interval("scan_all", "rate", "the best subgroup of each sex, nothing differs, 400 people", scan_all_rows, RATE,
              covers=("scan.rate_low", "scan.rate_high")),
    _interval("transport", "difference", "120 women against 280 men, 10 points apart", transport_rows, GAP),
    _interval("explain", "rate", _PAIRS, explain_rows, 0.72,
              covers=tuple(f"explain.{place}rate_{end}" for place in ("", "groups.") for end in ENDS)),
    _interval("compare", "difference", _PAIRS, compare_rows, 0.0),
    _p("compare", "p_value", _PAIRS, compare_rows),
    _p("compare", "p_adjusted", _PAIRS, compare_rows),
)  # fmt: skip


def printed(method: str) -> tuple[Cell, ...]:
    """The lines of one method."""
    return tuple(cell for cell in _ALL if cell.method == method)
