"""One line per method: how it is called here, and where a property cannot hold, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import fairtrial as ft
from fairtrial import Audit, Result

SPLITS = "it splits the rows at random, by their order"
COPIES = "copies of one person would fall on both sides of its random split"
PENALTY = "the penalty of the models it fits weighs less on more rows"
ONE_SIDE = "it looks for one group's deviation from comparable people, not for a difference of two"


@dataclass(frozen=True)
class Case:
    """A method on the people below; `gap` is the column that changes its sign, `drawn` columns hold random numbers."""

    run: Callable[[pd.DataFrame], Result]
    gap: str = ""
    points: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()
    not_for: Mapping[str, str] = field(default_factory=dict)


def people(groups: tuple[str, ...] = ("Alpha", "Beta", "Gamma"), n: int = 900) -> pd.DataFrame:
    """A score that favours the first group, and a rule `d2` that does less so."""
    random = np.random.default_rng(7)
    group, side = random.choice(groups, n), random.choice(["left", "right"], n)
    level = np.minimum(random.integers(0, 3, n) + (group == groups[0]) * random.integers(0, 2, n), 2)
    age = random.integers(18, 80, n) + 5 * (group == groups[0])
    outcome = (random.random(n) < 0.2 + 0.2 * level + 0.3 * ((age > 30) & (age < 55))).astype(int)
    noise = random.random(n)
    score = np.round(0.15 + 0.2 * outcome + 0.12 * (group == groups[0]) + 0.1 * (level - 1) + 0.3 * noise, 3)
    return pd.DataFrame({
        "g": group, "level": [f"level {value}" for value in level], "side": side, "y": outcome, "age": age,
        "part": np.where(random.random(n) < 0.5, "train", "test"),
        "s": np.clip(score, 0, 1), "d": (score >= 0.45).astype(int),
        "d2": (score + 0.06 * (group != groups[0]) >= 0.5).astype(int),
    })  # fmt: skip


def audit(frame: pd.DataFrame) -> Audit:
    return Audit(frame, outcome="y", decision="d", score="s", groups="g", features=("level", "side"))


def by_score(frame: pd.DataFrame) -> Audit:
    return Audit(frame, outcome="y", score="s", threshold=0.45, groups="g")


def reference(frame: pd.DataFrame) -> dict[str, Any]:
    """The second group by its label, which every variant of the people keeps in its place."""
    return {"g": frame["g"].drop_duplicates().sort_values().iloc[1]}


def explained(frame: pd.DataFrame, model: str = "logistic") -> Any:
    return ft.explain(
        audit(frame), "selection_rate", by="g", model=model, features=["level", "age"],
        target=reference(frame), test="part",
    )  # fmt: skip


def watched(frame: pd.DataFrame) -> Any:
    """People come in the order of their age, each year a period."""
    with TemporaryDirectory() as folder:
        state = f"{folder}/state.jsonl"
        return ft.watch(state, audit(frame), "fpr", period="age", target=reference(frame), tolerance=0.05)


CASES: dict[str, Case] = {
    "measure": Case(
        lambda frame: ft.measure(audit(frame), ["fpr", "ppv", "brier"], target=reference(frame)),
        gap="difference", points=("rate", "difference"),
    ),
    "tabulate": Case(
        lambda frame: ft.tabulate(audit(frame), "credit-decisions", target=reference(frame)),
        gap="difference", points=("rate", "ratio", "difference", "odds_ratio"),
    ),
    "certify": Case(
        lambda frame: ft.certify(audit(frame), "fpr", target=reference(frame)),
        gap="difference", points=("rate", "difference"),
    ),
    "flag": Case(
        lambda frame: ft.flag(audit(frame), "fpr", by="g", depth=1, direction="differs", target=reference(frame)),
        gap="difference", points=("rate", "difference"),
    ),
    "scan": Case(
        lambda frame: ft.scan(audit(frame), "fpr", protected=reference(frame), permutations=99, top=1),
        points=("rate", "target_rate"), drawn=("p_value",), not_for={"swap": ONE_SIDE},
    ),
    "scan of every class": Case(
        lambda frame: ft.scan(audit(frame), "fpr", protected="g", permutations=99),
        points=("rate",), drawn=("p_value", "p_adjusted", "draws"), not_for={"swap": ONE_SIDE},
    ),
    "transport": Case(
        lambda frame: ft.transport(by_score(frame), "equal_opportunity", by="g"),
        points=("rate", "rate_after"),
        not_for={"swap": "it compares with whichever group has the most favourable rate"},
    ),
    "explain": Case(
        explained, gap="difference", not_for={"duplication": PENALTY},
    ),
    "compare": Case(
        lambda frame: explained(frame).compare(explained(frame, "tree")),
        gap="difference", not_for={"duplication": PENALTY},
    ),
    "improve": Case(
        lambda frame: ft.improve(
            audit(frame), "selection_rate", by="g", candidates=ft.Fixed("d2"), splits=3,
            bootstrap=400,
        ),
        # the fairness line shows the pair of groups with the largest p-value, which is drawn
        drawn=("p_value", "p_split", "standard_error", "statistic", "p_delta_method"),
        not_for={"row order": SPLITS, "duplication": COPIES, "swap": "the gap has no sign: groups are not ordered"},
    ),
    "watch": Case(
        watched, gap="difference", points=("rate", "difference"),
    ),
}  # fmt: skip

# these take no data
WITHOUT_DATA = {"plan"}
