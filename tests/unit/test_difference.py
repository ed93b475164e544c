"""Two audits side by side."""

from __future__ import annotations

from typing import Any

from fairtrial.trial.difference import difference


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
