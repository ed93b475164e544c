"""Two audits side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairtrial
from inside.inference import change
from inside.trial import difference, difference_page


def audit(*entries: dict[str, Any], code: str = "violated", **data: Any) -> dict[str, Any]:
    base = {"method": "measure", "metric": "fpr", "against": "rest", "effect": 0.1, "low": 0.0, "high": 0.2,
            "kind": "points", "p_value": 0.01, "adjusted": 0.02, "significant": True, "n": 10}  # fmt: skip
    return {
        "verdict": {"code": code, "text": code},
        "data": {"rows": 100, "digest": "a", "roles": {}, **data},
        "seed": 0,
        "correction": {"alpha": 0.05, "tests": len(entries)},
        "versions": {"fairtrial": "1"},
        "family": [{**base, **entry} for entry in entries],
        "sections": [
            {
                "id": "measure",
                "status": "done",
                "error": "",
                "result": {"verdict": {"code": code, "text": code}},
            }
        ],
    }


def changes(found: dict[str, Any]) -> dict[str, str]:
    return {test["subject"]: test["change"] for test in found["tests"]}


def test_what_became_significant_and_what_no_longer_is() -> None:
    old = audit({"subject": "a", "significant": False}, {"subject": "b"}, {"subject": "c"}, {"subject": "d"})
    new = audit({"subject": "a"}, {"subject": "b", "significant": False}, {"subject": "c"}, {"subject": "e"})
    found = difference(old, new)
    assert changes(found) == {
        "a": "became significant",
        "b": "no longer significant",
        "c": "",
        "d": "no longer asked",
        "e": "new, significant",
    }
    assert [test["subject"] for test in found["became_significant"]] == ["a"]
    assert [test["subject"] for test in found["no_longer_significant"]] == ["b"]


def test_what_differs_around_the_numbers_is_named() -> None:
    found = difference(
        audit({"subject": "a"}), audit({"subject": "a"}, code="undetermined", rows=90, digest="b")
    )
    assert found["verdict"]["changed"]
    assert {item["what"] for item in found["setting"]} == {"rows", "data"}
    assert found["sections"][0]["changed"]


def test_nothing_changed() -> None:
    found = difference(audit({"subject": "a"}), audit({"subject": "a"}))
    assert not found["setting"]
    assert not found["verdict"]["changed"]
    assert set(changes(found).values()) == {""}


def test_limits_of_a_change_are_the_published_ones() -> None:
    """Newcombe (1998), Statistics in Medicine 17, table II, contrast (a): 56/70 and 48/80, Wilson limits, method 10."""

    def wilson(k: int, n: int) -> tuple[float, float, float]:
        z, p = 1.959963984540054, k / n
        middle, half = p + z * z / (2 * n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return p, (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)

    found = change(wilson(48, 80), wilson(56, 70), 0.95)
    assert [round(float(end), 4) for end in (found.low, found.high)] == [0.0524, 0.3339]
    assert found.p_value < 0.05, "as the limits leave zero out"


def test_a_change_agrees_with_the_sum_of_variances_where_limits_are_symmetric() -> None:
    """The oracle: with limits of ±1.96 standard errors it is the z-test of a difference."""
    from scipy import stats

    old, new, errors = 0.10, 0.16, (0.02, 0.015)
    z = stats.norm.isf(0.025)
    sides = [(gap, gap - z * error, gap + z * error) for gap, error in zip((old, new), errors, strict=True)]
    found = change(*sides, 0.95)
    expected = 2 * stats.norm.sf(abs(new - old) / np.hypot(*errors))
    assert float(found.p_value) == pytest.approx(expected, rel=1e-9)
    assert float(found.high - found.low) == pytest.approx(2 * z * np.hypot(*errors))


def people(seed: int, rate: float) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    group = np.repeat(["<b>a", "b"], 1500)
    chosen = random.uniform(size=3000) < np.where(group == "b", 0.5, rate)
    return pd.DataFrame({"group": group, "chosen": chosen.astype(int)})


def results(seed: int, rate: float, scale: str = "difference") -> dict[str, Any]:
    spec = {
        "data": {"decision": "chosen", "groups": ["group"]},
        "measure": {"metric": "selection_rate", "target": {"group": "b"}},
    }
    if scale == "ratio":
        spec["measure"] |= {"scale": "ratio", "tolerance": 0.8}
    return fairtrial.run(spec, data=people(seed, rate)).to_dict()


def test_a_change_beyond_noise_is_told_and_noise_is_not() -> None:
    before = results(1, 0.4)
    moved, stayed = difference(before, results(2, 0.55)), difference(before, results(3, 0.4))
    [test] = moved["changed_gaps"]
    assert test["gap_change"]["low"] <= 0.15 <= test["gap_change"]["high"]
    assert stayed["changed_gaps"] == []
    assert all(test["gap_change"] for test in stayed["tests"])
    page = difference_page(before, results(2, 0.55))
    assert "1 of 1 gap changed by more than noise" in page
    assert "<b>a" not in page
    assert "does not show that they stayed" in difference_page(before, results(3, 0.4))


def test_ratios_change_by_a_factor_and_the_same_data_by_nothing() -> None:
    before = results(1, 0.4, "ratio")
    [test] = difference(before, results(2, 0.55, "ratio"))["tests"]
    assert test["gap_change"]["low"] < 0.55 / 0.4 < test["gap_change"]["high"]
    same = difference(before, before)
    assert "same data" in same["not_compared"]
    assert same["tests"][0]["gap_change"] is None


def test_a_gap_is_counted_once_however_often_it_is_asked() -> None:
    """a against b and b against a, in two questions: one gap, one change."""
    spec = {
        "data": {"decision": "chosen", "groups": ["group"]},
        "measure": {"metric": "selection_rate"},
        "flag": {"metric": "selection_rate", "direction": "below"},
    }
    old, new = (
        fairtrial.run(spec, data=people(seed, rate)).to_dict() for seed, rate in ((1, 0.4), (2, 0.55))
    )
    found = difference(old, new)
    assert len(old["family"]) == 4
    assert len(found["changed_gaps"]) == 1
    assert "1 of 1 gap changed by more than noise" in difference_page(old, new)
    subjects = [test["subject"] for test in found["tests"] if not test["repeats"]]
    assert len(subjects) == 1, "mirror images are told once"
    one_sided = {test["subject"]: test["change"] for test in found["no_longer_significant"]}
    assert "<b>a" in one_sided, "what became of the other side's test is told all the same"


def test_groups_with_the_same_numbers_are_two_gaps() -> None:
    counts = {"a": 20, "b": 20, "c": 35}
    frames = []
    for more in (0, 12):
        rows = [(group, int(place < yes + (more if group == "c" else 0))) for group, yes in counts.items()
                for place in range(100)]  # fmt: skip
        frames.append(pd.DataFrame(rows, columns=["group", "chosen"]))
    spec = {"data": {"decision": "chosen", "groups": ["group"]}, "measure": {"metric": "selection_rate"}}
    old, new = (fairtrial.run(spec, data=frame).to_dict() for frame in frames)
    assert len(difference(old, new)["tests"]) == 3
