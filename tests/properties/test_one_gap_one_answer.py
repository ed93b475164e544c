"""One gap, one answer: the same group, metric, target and level have the same numbers in every method and view."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from fairtrial import Audit, ExplainResult, certify, explain, flag, measure, run, transport
from inside.results import format_value, scalar

SIZES = {"a": 60, "b": 180, "c": 320}
NUMBERS = ("n", "rate", "target_rate", "difference", "difference_low", "difference_high", "p_value")
TARGETS = ["rest", "overall", {"g": "c"}, 0.35]
LEVELS = [0.8, 0.99]


def people(seed: int, rates: tuple[float, float, float]) -> Audit:
    """Decisions at these rates, skewed scores, and an outcome."""
    generator = np.random.default_rng(seed)
    group = np.repeat(list(SIZES), list(SIZES.values()))
    rate = np.repeat(rates, list(SIZES.values()))
    frame = pd.DataFrame(
        {
            "g": group,
            "d": (generator.random(group.size) < rate).astype(int),
            "y": generator.integers(0, 2, group.size),
            "s": np.clip(generator.beta(0.5, 1.5, group.size) + 0.1 * (group == "a"), 0.0, 1.0),
        }
    )
    return Audit(frame, decision="d", outcome="y", score="s", groups="g")


CASES = [people(1, (0.3, 0.4, 0.35)), people(2, (0.02, 0.05, 0.04)), people(3, (0.98, 0.9, 0.6))]


def rows(result) -> dict[str, dict]:
    return {row["group"].removeprefix("g: "): row for row in result.estimates}


RATES = [(case, metric) for case in range(len(CASES)) for metric in ("selection_rate", "fpr")]


@pytest.mark.parametrize(("case", "metric"), [*RATES, (0, "mean_score"), (1, "brier")])
@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.filterwarnings("ignore")
def test_measure_certify_and_flag_agree(case: int, metric: str, target: object, level: float) -> None:
    audit = CASES[case]
    asked = {"by": "g", "target": target, "confidence_level": level, "minimum": 10}
    shown = rows(measure(audit, metric, **asked))
    for other in (certify(audit, metric, **asked), flag(audit, metric, direction="differs", **asked)):
        compared = 0
        for group, row in rows(other).items():
            if scalar(row["p_value"]) is None:
                continue
            compared += 1
            for name in NUMBERS:
                ours, theirs = scalar(shown[group][name]), scalar(row[name])
                assert (ours is None) == (theirs is None), (group, name)
                if ours is not None:
                    assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-12), (group, name)
        assert compared == (2 if isinstance(target, dict) else 3)


@pytest.mark.parametrize("metric", ["selection_rate", "fpr", "tpr", "accuracy"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize(("group", "reference"), [("a", "c"), ("b", "a"), ("c", "b")])
@pytest.mark.filterwarnings("ignore")
def test_transport_agrees(case: int, metric: str, level: float, group: str, reference: str) -> None:
    """Every reference; transport is about rates of decisions, and has no other targets."""
    audit = CASES[case]
    by = [{"g": group}, {"g": reference}]
    asked = {"by": by, "target": {"g": reference}, "confidence_level": level, "minimum": 20}
    shown = rows(measure(audit, metric, **asked))[group]
    other = transport(audit, metric, **asked)
    mine = rows(other)[group]
    for name in ("n", "target_n", "rate", "difference", "difference_low", "difference_high"):
        assert scalar(shown[name]) == pytest.approx(scalar(mine[name]), rel=1e-12, abs=1e-12), name
    assert other.p_value == pytest.approx(shown["p_value"], rel=1e-12)


def explained(metric: str, level: float, names: str) -> tuple[Audit, ExplainResult]:
    """Rules that see no feature, one or the other, or both: explain's first stage is about the decisions themselves."""
    generator = np.random.default_rng(4)
    frame = pd.DataFrame({"g": generator.choice(list(names), 400)})
    frame = frame.assign(
        x=generator.integers(0, 2, 400).astype(str), z=generator.integers(0, 2, 400).astype(str)
    )
    frame = frame.assign(d=generator.integers(0, 2, 400), y=generator.integers(0, 2, 400))
    frame = frame.assign(s=generator.beta(0.5, 1.5, 400))
    audit = Audit(frame, decision="d", outcome="y", score="s", groups="g", features=["x", "z"])
    seen = [frame.d * 0, frame.d, (frame.x == "1").astype(int), frame.d]
    asked = {"coalitions": np.stack(seen, axis=1), "sensitive": "absent", "features": ["x", "z"]}
    return audit, explain(audit, metric, by="g", confidence_level=level, **asked)


def first_stage(told: ExplainResult) -> list[dict]:
    return [row for row in told.estimates if row["part"] == "gap" and row["feature"] == "(all features)"]


@pytest.mark.parametrize("metric", ["selection_rate", "fpr", "mean_score", "brier"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("names", ["ac", "abc"])
@pytest.mark.filterwarnings("ignore")
def test_the_first_stage_of_explain_agrees(metric: str, level: float, names: str) -> None:
    """Rates and real values; explain compares groups in pairs, and has no other targets."""
    audit, told = explained(metric, level, names)
    pairs = first_stage(told)
    assert len(pairs) == len(names) * (len(names) - 1) / 2
    for mine in pairs:
        by = [{"g": mine["group"]}, {"g": mine["target"]}]
        compared = measure(audit, metric, by=by, target={"g": mine["target"]}, confidence_level=level)
        shown = rows(compared)[mine["group"]]
        for name in ("n", "target_n", "difference", "difference_low", "difference_high", "p_value"):
            assert scalar(mine[name]) == pytest.approx(scalar(shown[name]), rel=1e-12), name


def section_texts(page: str, names: list[str]) -> dict[str, str]:
    """What the report says in each of these sections, and nowhere else, with a hyphen for a minus."""
    page = page.replace("\N{MINUS SIGN}", "-")
    starts = sorted((page.index(f'id="{name}"'), name) for name in names)
    ends = [start for start, _ in starts[1:]] + [len(page)]
    return {name: page[start:end] for (start, name), end in zip(starts, ends, strict=True)}


@pytest.mark.parametrize("metric", ["selection_rate", "mean_score"])
@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize("target", ["rest", {"g": "c"}], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_the_report_shows_the_same_digits_and_the_asked_level(
    metric: str, level: float, target: object, tmp_path
) -> None:
    generator = np.random.default_rng(1)
    group = np.repeat(
        list(SIZES), [4 * size for size in SIZES.values()]
    )  # enough people for nothing to be masked
    frame = pd.DataFrame(
        {"g": group, "d": generator.integers(0, 2, group.size), "s": generator.beta(0.5, 1.5, group.size)}
    ).assign(x=generator.integers(0, 2, group.size).astype(str))
    data = {"decision": "d", "score": "s", "groups": ["g"], "features": ["x"]}
    about = {"target": target, "confidence_level": level}
    asked: dict = {
        "data": data,
        "measure": {"metric": [metric], **about},
        "certify": {"metric": metric, **about},
        "flag": {"metric": metric, "direction": "differs", **about},
    }
    if target != "rest":  # transport and explain compare named groups
        asked["explain"] = {"metric": metric, "by": [{"g": "a"}, target], "confidence_level": level}
        if metric == "selection_rate":
            asked["transport"] = {"metric": metric, "by": [{"g": "a"}, target], **about}
    trial = run(asked, data=frame, out=tmp_path)
    parts = section_texts((tmp_path / "report.html").read_text(encoding="utf-8"), list(trial.results))
    sections = {part["id"]: part for part in json.loads((tmp_path / "results.json").read_text())["sections"]}
    shown = rows(measure(Audit(frame, **data), metric, by="g", target=target, confidence_level=level))
    kind = "points" if metric == "selection_rate" else "number"
    for name, result in trial.results.items():
        assert f"{100 * level:g}% interval" in parts[name]
        saved = sections[name]["result"]["estimates"]
        gaps = [
            row for row in saved if scalar(row["difference"]) is not None and row.get("part", "gap") == "gap"
        ]
        assert len(gaps) == (1 if name in ("explain", "transport") else 3 if target == "rest" else 2)
        for row in gaps:
            ours = shown[row["group"].removeprefix("g: ")]
            ends = [format_value(ours[f"difference_{end}"], kind) for end in ("low", "high")]
            assert f"{ends[0]} to {ends[1]}" in parts[name], (name, row["group"])
            assert [row[f"difference_{end}"] for end in ("low", "high")] == [
                ours[f"difference_{end}"] for end in ("low", "high")
            ]
        assert result.confidence_level == level


@pytest.mark.parametrize("metric", ["selection_rate", "mean_score"])
@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.filterwarnings("ignore")
def test_every_view_shows_the_same_digits_and_the_asked_level(metric: str, level: float) -> None:
    audit = CASES[0]
    results: list = [
        measure(audit, metric, by="g", confidence_level=level),
        certify(audit, metric, by="g", target="rest", confidence_level=level),
        flag(audit, metric, by="g", target="rest", direction="differs", confidence_level=level),
        explained(metric, level, "ac")[1],
    ]
    if metric == "selection_rate":
        asked = {"by": [{"g": "a"}, {"g": "c"}], "confidence_level": level}
        results.append(transport(audit, metric, target={"g": "c"}, **asked))
    percent = f"{100 * level:g}%"
    for result in results:
        row = first_stage(result)[0] if isinstance(result, ExplainResult) else rows(result)["a"]
        kind = "points" if metric == "selection_rate" else "number"
        ends = [format_value(row[f"difference_{end}"], kind) for end in ("low", "high")]
        assert f"{percent} interval" in result.summary()
        assert f"{ends[0]} to {ends[1]}" in result.summary()
        page = result._repr_html_()
        assert f"{percent} interval" in page
        assert f"{ends[0]} to {ends[1]}" in page
        saved = json.loads(json.dumps(result.to_dict()))["estimates"]
        frame = result.to_frame("pandas")
        place = result.estimates.index(row)
        for name in ("difference", "difference_low", "difference_high"):
            assert saved[place][name] == row[name] == frame[name][place]
        assert result.details["confidence_level"] == level
