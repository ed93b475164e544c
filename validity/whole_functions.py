"""Lines that call the public function itself on a table of people in every repeat: reading, verdicts and all."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import numpy as np

from validity.board import Cell

Random = np.random.Generator
One = Callable[[Random], bool]


def people(random: Random, n: int, *, sexes: tuple[float, ...] = (0.5, 0.5), gap: float = 0.0) -> Any:
    """A table in which nothing depends on race, and on sex only by `gap`: scores are in hundredths, so discrete."""
    import pyarrow as pa

    sex = random.choice(len(sexes), n, p=sexes)
    outcome = (random.random(n) < 0.45).astype(np.int64)
    chance = 0.3 + 0.2 * outcome + gap * (sex == 1)
    selected = random.random(n) < chance
    score = np.where(selected, 0.5 + 0.5 * random.random(n), 0.5 * random.random(n))
    return pa.table(
        {
            "sex": np.array(["m", "f"])[sex],
            "race": random.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
            "age": random.choice(["young", "old"], n),
            "outcome": outcome,
            "score": np.clip(np.floor(100 * score) / 100, 0.0, 1.0),
        }
    )


def audit(random: Random, n: int, groups: list[str], **settings: Any) -> Any:
    from fairtrial import Audit

    return Audit(
        people(random, n, **settings), outcome="outcome", score="score", threshold=0.5, groups=groups
    )


def _repeated(one: One) -> Callable[[int, Random], np.ndarray]:
    def run(repeats: int, random: Random) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.array([float(one(random)) for _ in range(repeats)])

    return run


# -- one wrong statement per function ------------------------------------------------------------------------------
def measured(random: Random) -> bool:
    from fairtrial import measure

    result = measure(audit(random, 500, ["sex", "race"]), ["fpr", "tpr"])
    return bool(result.verdict.code == "violated")


def certified_wrongly(random: Random) -> bool:
    """Women's rate is 8 points higher, exactly the tolerance: a certificate is an error."""
    from fairtrial import certify

    result = certify(
        audit(random, 600, ["sex"], gap=0.08), "selection_rate", by=[{"sex": "f"}], tolerance=0.08
    )
    return bool(result.verdict.code == "certified")


def certified_as_the_paper_does(random: Random) -> bool:
    from inside.papers import certify

    people = audit(random, 600, ["sex"], gap=0.08)
    result = certify(people, "selection_rate", by=[{"sex": "f"}], tolerance=0.08, target_method="profile")
    return bool(result.verdict.code == "paper-certified")


def plug_in_missed(random: Random, target_method: Literal["profile", "plug-in"]) -> bool:
    """The 95% interval of a group against a small reference misses the true gap of 0."""
    from inside.papers import certify

    result = certify(
        audit(random, 1000, ["race"]), "selection_rate", by=[{"race": "a"}], target={"race": "c"}, minimum=30,
        target_method=target_method,
    )  # fmt: skip
    row = result.estimates[0]
    return not float(row["difference_low"]) <= 0.0 <= float(row["difference_high"])


def flagged(random: Random) -> bool:
    from fairtrial import flag

    result = flag(audit(random, 600, ["sex", "race"]), "fpr", direction="differs")
    return any(row["flagged"] is True for row in result.estimates)


def scanned(random: Random, null: str = "ladder") -> bool:
    from fairtrial import scan

    result = scan(
        audit(random, 500, ["sex", "race", "age"]), "fpr", protected={"sex": "f"}, permutations=99, null=null,  # type: ignore[arg-type]
        jobs=1, seed=int(random.integers(2**31)),
    )  # fmt: skip
    return bool(result.p_value is not None and result.p_value <= 0.05)


def scanned_all(random: Random) -> bool:
    from fairtrial import scan

    result = scan(
        audit(random, 400, ["sex", "age"]), "fpr", protected="sex", features=["age"], permutations=199, jobs=1,
        seed=int(random.integers(2**31)),
    )  # fmt: skip
    return bool(result.verdict.code == "found")


def transported(random: Random) -> bool:
    from fairtrial import transport

    p = transport(audit(random, 400, ["sex"]), "equalized_odds", by="sex").p_value
    return p is not None and p <= 0.05


def _explanation(table: Any, drawn: np.ndarray) -> Any:
    from fairtrial import Audit, explain

    rules = Audit(table, outcome="outcome", score="score", threshold=0.5, groups=["sex"])
    return explain(rules, "tpr", coalitions=drawn, by="sex", sensitive="absent", features=["race", "age"])


def _coalitions(table: Any, cut: float) -> np.ndarray:
    """Decisions of four coalition rules: nothing seen, one column, the other, and both with the score."""
    race = np.array(table["race"].to_pylist()) == "a"
    age = np.array(table["age"].to_pylist()) == "old"
    score = table["score"].to_numpy()
    seen = [score >= 0.55, race & (score >= cut), age | (score >= 0.8), race & age | (score >= cut)]
    return np.stack(seen, axis=1).astype(np.int64)


def explanations(table: Any, *cuts: float) -> list[Any]:
    """What explain says of the rules with these cuts of the score."""
    return [_explanation(table, _coalitions(table, cut)) for cut in cuts]


def explained(random: Random) -> bool:
    """No feature carries anything, the sexes being alike: a driver after Holm is an error."""
    (result,) = explanations(people(random, 500), 0.4)
    adjusted = [row["p_adjusted"] for row in result.drivers if isinstance(row["p_adjusted"], float)]
    return bool(adjusted) and min(adjusted) <= 0.05


def compared(random: Random) -> bool:
    before, after = explanations(people(random, 500), 0.4, 0.6)
    changed = before.compare(after)
    rows = [row for row in changed.estimates if row["part"] == "gap"]
    adjusted = [row["p_adjusted"] for row in rows[1:] if isinstance(row["p_adjusted"], float)]
    return bool(adjusted) and min(adjusted) <= 0.05


def family(random: Random, n: int, kinds: tuple[str, ...], *, adjust: bool = True, **settings: Any) -> bool:
    """Anything significant after the correction over a whole trial in which nothing differs."""
    from fairtrial import flag, measure, transport
    from inside.trial import correct

    rows = audit(random, n, ["sex", "race"], **settings)
    asked: dict[str, Callable[[], Any]] = {
        "measure": lambda: measure(rows, ["fpr", "tpr"]),
        "flag": lambda: flag(rows, "selection_rate", direction="differs"),
        "transport": lambda: transport(rows, "equal_opportunity", by="sex"),
        "scores": lambda: measure(rows, "mean_score"),
    }
    entries = correct([(kind, asked[kind]()) for kind in kinds], 0.05)
    return any(entry.significant if adjust else entry.p_value <= 0.05 for entry in entries)


@cache
def lines(method: str) -> tuple[Cell, ...]:
    """The whole-function lines of one method."""
    return tuple(cell for cell in _ALL if cell.method == method)


def _cell(method: str, name: str, design: str, one: One, claim: str = "size", **more: object) -> Cell:
    return Cell(method, f"whole function, {name}", design, claim, _repeated(one), **more)  # type: ignore[arg-type]


_TOLERANCE = "two groups of 300, rates that differ by exactly the tolerance of 8 points"
_REFERENCE = "group of 60% against a reference of 10%, equal rates, 1,000 people"
# most of such a repeat goes into the sizes that an undetermined group would need
_SLOW: dict[str, Any] = {"whole_analysis": True, "short": 60, "long": 1500}
_ALIKE = "2 features, nothing depends on the group, 500 people"

_ALL = (
    _cell("measure", "nothing called violated", "two metrics, five groups, nothing differs, 500 people", measured,
          long=20_000),
    _cell("certify", "certificate at the band's edge", _TOLERANCE, certified_wrongly, "wrong certification", **_SLOW),
    _cell("certify", "rule='paper'", _TOLERANCE, certified_as_the_paper_does, "wrong certification",
          variant="paper", counterpart="whole function, certificate at the band's edge", **_SLOW),
    _cell("certify", "interval against a reference", _REFERENCE, lambda random: plug_in_missed(random, "profile"),
          "coverage"),
    _cell("certify", "target_method='plug-in'", _REFERENCE, lambda random: plug_in_missed(random, "plug-in"),
          "coverage", variant="paper", counterpart="whole function, interval against a reference"),
    _cell("flag", "nothing flagged", "two attributes and their intersections, nothing differs, 600 people", flagged,
          "false flagging rate", long=20_000),
    _cell("scan", "no bias", "12 cells, 500 people, discrete scores, 99 draws", scanned),
    _cell("scan_all", "no bias", "both values of one attribute, 400 people", scanned_all),
    _cell("transport", "equalized odds", "two groups of 200, discrete scores", transported),
    _cell("explain", "no driver", _ALIKE, explained),
    _cell("compare", "no change", _ALIKE, compared),
)  # fmt: skip
