"""A table of counts gives to the last digit what the table of its people gives, one row each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import fairtrial as ft
from fairtrial import Audit, papers
from frames.makers import KINDS, make
from inside.methods import declared_methods
from properties.odd_calls import draw_call
from properties.odd_inputs import MANY
from properties.random_tables import draw_table

ABOUT_THE_COUNTS = {"counted-people", "independent-rows"}


def lines(seed: int, size: int = 70) -> pd.DataFrame:
    """Rows that stand for 0 to 12 people each; the same row may stand there twice."""
    random = np.random.default_rng(seed)
    group = random.choice(["Alpha", "Beta", "Gamma"], size, p=[0.5, 0.3, 0.2])
    outcome = random.integers(0, 2, size)
    score = np.round(0.2 + 0.3 * outcome + 0.15 * (group == "Alpha") + 0.35 * random.random(size), 1)
    counts = random.integers(0, 13, size)
    return pd.DataFrame({
        "g": np.append(group, "Nobody"), "n": np.append(counts, 0),
        "side": random.choice(["left", "right"], size + 1), "level": random.integers(0, 3, size + 1),
        "y": np.append(outcome, 1), "s": np.append(score, 0.5), "d": np.append((score >= 0.5).astype(int), 1),
        "d2": random.integers(0, 2, size + 1), "age": random.integers(18, 70, size + 1),
        "pay": np.round(random.gamma(3.0, 700.0, size + 1), 2), "w": np.round(random.gamma(2.0, 1.0, size + 1), 2),
        "u": random.integers(0, 40, size + 1), "month": np.sort(random.integers(1, 5, size + 1)),
        "h": random.choice(["x", "y", None], size + 1), "grade": random.choice(["no", "later", "yes"], size + 1),
        "y_lacking": np.where(random.random(size + 1) < 0.2, np.nan, np.append(outcome, 1)),
        "p": (p := np.round(random.random(size + 1), 2)), "q": 1 - p,
    })  # fmt: skip


def people(frame: pd.DataFrame, count: str = "n") -> pd.DataFrame:
    """Every row as often as it counts."""
    return frame.loc[frame.index.repeat(frame[count])].drop(columns=count).reset_index(drop=True)


def told(result: Any) -> dict[str, Any]:
    """All that a result says, but for the column of the counts."""
    content = result.to_dict()
    content["provenance"]["roles"].pop("count", None)
    content["provenance"]["roles"].pop("total", None)
    for part in (content["provenance"], content["provenance"]["arguments"]):
        part.pop("state", None)  # of a watch: its file, and a hash that covers the roles
    content["notes"] = [note for note in content["notes"] if note["code"] not in ABOUT_THE_COUNTS]
    return content


def outcome_of(call: Callable[[Audit], Any], audit: Callable[[], Audit]) -> Any:
    """What the call gives, or the fault it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ft.FairtrialWarning)
        try:
            return told(call(audit()))
        except ft.FairtrialError as error:
            return str(error)


def roles(**more: Any) -> dict[str, Any]:
    return {
        "decision": "d",
        "outcome": "y",
        "score": "s",
        "groups": "g",
        "features": ["level", "side"],
        **more,
    }


def watched(audit: Audit) -> Any:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return ft.watch(f"{folder}/state.jsonl", audit, "fpr", period="month", tolerance=0.05)


RATES = ["selection_rate", "fpr", "ppv", "accuracy"]
CALLS: dict[str, tuple[Callable[[Audit], Any], dict[str, Any]]] = {
    "measure": (lambda a: ft.measure(a, RATES), {}),
    "measure means": (lambda a: ft.measure(a, ["brier", "mean_score", "calibration"]), {}),
    "measure all thresholds": (lambda a: ft.measure(a, "tpr", thresholds="all"), {"decision": None}),
    "measure depth": (lambda a: ft.measure(a, RATES, by=["g", "side"], depth=2, target="overall"), {}),
    "measure ratio": (
        lambda a: ft.measure(a, "selection_rate", target={"g": "Beta"}, scale="ratio"), {"favourable": 1},
    ),
    "measure within": (lambda a: ft.measure(a, "selection_rate", within=["level", "side"]), {}),
    "measure model": (lambda a: ft.measure(a, "selection_rate", within=["level", "age"], adjustment="model"), {}),
    "measure pay": (lambda a: ft.measure(a, ft.Metric("pay", value="pay")), {}),
    "measure weights": (lambda a: ft.measure(a, RATES), {"weight": "w"}),
    "measure weighted means": (lambda a: ft.measure(a, "brier"), {"weight": "w"}),
    "measure units": (lambda a: ft.measure(a, RATES), {"unit": "u"}),
    "measure units and weights": (lambda a: ft.measure(a, RATES), {"unit": "u", "weight": "w"}),
    "measure bins": (lambda a: ft.measure(a, RATES, by="age"), {"bins": {"age": 3}}),
    "measure real outcome": (lambda a: ft.measure(a, "base_rate"), {"outcome": "pay"}),
    "measure unknown groups": (lambda a: ft.measure(a, RATES, by="h"), {"missing": "category"}),
    "measure dropped": (lambda a: ft.measure(a, RATES, by="h"), {"missing": "drop", "outcome": "y_lacking"}),
    "measure bounds": (lambda a: ft.measure(a, "fpr"), {"outcome": "y_lacking", "unlabelled": "bounds"}),
    "certify odds": (
        lambda a: ft.certify(a, "base_rate", tolerance=0.1),
        {"outcome": "y_lacking", "unlabelled": {"odds": 1.5, "alike": ["side"]}},
    ),
    "measure order": (
        lambda a: ft.measure(a, "selection_rate"),
        {"decision": "grade", "order": ["no", "later", "yes"], "favourable": "yes"},
    ),
    "measure probable": (
        lambda a: ft.measure(a, "selection_rate"), {"groups": {"race": {"Black": "p", "White": "q"}}},
    ),
    "measure defined": (
        lambda a: ft.measure(a, RATES, by="young"),
        {"groups": (), "define": {"young": {"age": {"below": 30}, "side": "left"}}},
    ),
    "tabulate": (lambda a: ft.tabulate(a, "credit-decisions"), {}),
    "tabulate jobs": (lambda a: ft.tabulate(a, "adverse-impact", by="g"), {}),
    "certify": (lambda a: ft.certify(a, "fpr", tolerance=0.1), {}),
    "certify within": (lambda a: ft.certify(a, "selection_rate", within="side", tolerance=0.8, scale="ratio"), {}),
    "flag": (lambda a: ft.flag(a, "selection_rate", by=["g", "side"], depth=2, tolerance=0.02), {}),
    "scan": (lambda a: ft.scan(a, "fpr", protected={"g": "Beta"}, permutations=39), {}),
    "scan of every class": (lambda a: ft.scan(a, "fpr", protected="g", permutations=39), {}),
    "transport": (lambda a: ft.transport(a, "equal_opportunity", by="g"), {"decision": None, "threshold": 0.5}),
    "transport parity": (lambda a: ft.transport(a, "statistical_parity", by="g"), {}),
    "explain": (lambda a: ft.explain(a, "selection_rate", by="g", model="logistic", features=["level", "age"]), {}),
    "improve": (
        lambda a: ft.improve(a, "selection_rate", by="g", candidates=ft.Fixed("d2"), splits=2, bootstrap=100), {},
    ),
    "improve learned": (
        lambda a: ft.improve(
            a, "selection_rate", by="g", candidates=LogisticRegression(), splits=2, bootstrap=100,
        ), {},
    ),
    "watch": (watched, {}),
    "papers certify": (lambda a: papers.elfa.certify(a, "fpr", tolerance=0.1), {}),
    "papers flag": (lambda a: papers.elfa.flag(a, "selection_rate", by="g"), {}),
    "papers transport": (lambda a: papers.transport.fairness_test(a, "equal_opportunity", by="g"), {}),
}  # fmt: skip


# Sums of real values and of weights differ in their last digits from one run of an engine to its next, on one table.
SUMMED = {"measure means", "measure pay", "measure weights", "measure weighted means", "measure real outcome"}


def same(one: Any, other: Any, nearly: bool) -> bool:
    """Whether both are equal, `nearly` but for the last digits of numbers."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key], nearly) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b, nearly) for a, b in zip(one, other, strict=True))
    if nearly and isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=1e-9, abs=1e-12)
    return bool(one == other)


def test_no_method_was_forgotten() -> None:
    """Every question that takes data, and each paper's own form of one."""
    named = {name.split(" ")[1 if name.startswith("papers") else 0] for name in CALLS}
    assert named >= {
        one.kind for found in declared_methods().values() for one in (found.result, *found.also)
    } - {"plan", "compare"}  # of no data, and of two results


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("seed", range(6 if MANY else 1))
@pytest.mark.slow
def test_counts_give_what_their_people_give(name: str, seed: int) -> None:
    call, given = CALLS[name]
    frame = lines(seed)
    counted = outcome_of(call, lambda: Audit(frame, count="n", **roles(**given)))
    one_by_one = outcome_of(call, lambda: Audit(people(frame), **roles(**given)))
    assert isinstance(one_by_one, dict), one_by_one
    assert same(counted, one_by_one, nearly=name in SUMMED)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["measure", "measure means", "measure weights", "measure units", "measure bins", "scan"]
)
@pytest.mark.slow
def test_every_engine_counts_as_its_people(
    name: str, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    call, given = CALLS[name]
    frame = lines(3)[["g", "n", "side", "level", "y", "s", "d", "age", "w", "u"]]
    (tmp_path / "people").mkdir()
    table = make(kind, frame.to_dict("list"), tmp_path, request)
    written = make(kind, people(frame).to_dict("list"), tmp_path / "people", request)
    counted = outcome_of(call, lambda: Audit(table, count="n", **roles(**given)))
    one_by_one = outcome_of(call, lambda: Audit(written, **roles(**given)))
    assert isinstance(one_by_one, dict), one_by_one
    assert same(counted, one_by_one, nearly=name in SUMMED or kind == "spark")


@pytest.mark.parametrize("seed", range(400 if MANY else 30))
@pytest.mark.slow
def test_odd_calls_count_as_their_people(seed: int) -> None:
    """Odd labels, odd arguments: the same answer, or the same fault."""
    random = np.random.default_rng([seed, 38])
    drawn = draw_table(random)
    call = draw_call(random, drawn)
    frame = pd.DataFrame(dict(drawn.columns)).assign(times=random.integers(0, 4, drawn.score.size))
    if not frame["times"].any():
        return

    def ask(audit: Audit) -> Any:
        return getattr(ft, call.method)(audit, **call.arguments)

    counted = outcome_of(ask, lambda: Audit(frame, count="times", **call.roles))
    one_by_one = outcome_of(ask, lambda: Audit(people(frame, "times"), **call.roles))
    assert same(counted, one_by_one, nearly=True)
