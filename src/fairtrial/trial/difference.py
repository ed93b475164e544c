"""Two audits side by side: what changed, what became significant, what no longer is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Key = tuple[str, str, str, str]


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Compare two results.json: verdict, data, questions, and every test that both or one of them made."""
    before, after = _family(old), _family(new)
    tests = [_test(key, before.get(key), after.get(key)) for key in dict.fromkeys([*after, *before])]
    return {
        "verdict": {
            "old": old["verdict"],
            "new": new["verdict"],
            "changed": old["verdict"]["code"] != new["verdict"]["code"],
        },
        "setting": _setting(old, new),
        "sections": _sections(old, new),
        "tests": tests,
        "became_significant": [test for test in tests if test["change"] == "became significant"],
        "no_longer_significant": [test for test in tests if test["change"] == "no longer significant"],
    }


def _family(content: Mapping[str, Any]) -> dict[Key, Mapping[str, Any]]:
    """Entries by what they are about; a repeated one keeps its smallest p-value, which comes first."""
    found: dict[Key, Mapping[str, Any]] = {}
    for entry in content["family"]:
        found.setdefault((entry["method"], entry["metric"], entry["subject"], entry["against"]), entry)
    return found


def _test(key: Key, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> dict[str, Any]:
    method, metric, subject, against = key
    if old is None:
        change = "new, significant" if new is not None and new["significant"] else "new"
    elif new is None:
        change = "no longer asked"
    elif new["significant"] and not old["significant"]:
        change = "became significant"
    elif old["significant"] and not new["significant"]:
        change = "no longer significant"
    else:
        change = ""
    fields = ("effect", "low", "high", "kind", "p_value", "adjusted", "significant", "n")
    return {
        "method": method,
        "metric": metric,
        "subject": subject,
        "against": against,
        "change": change,
        "old": None if old is None else {name: old[name] for name in fields},
        "new": None if new is None else {name: new[name] for name in fields},
    }


def _setting(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Everything around the numbers that differs, so that a change is not blamed on the wrong thing."""
    pairs = {
        "rows": (old["data"]["rows"], new["data"]["rows"]),
        "data": (old["data"]["digest"], new["data"]["digest"]),
        "roles": (old["data"]["roles"], new["data"]["roles"]),
        "seed": (old["seed"], new["seed"]),
        "alpha": (old["correction"]["alpha"], new["correction"]["alpha"]),
        "tests": (old["correction"]["tests"], new["correction"]["tests"]),
        **{
            f"version of {name}": (old["versions"].get(name), new["versions"].get(name))
            for name in sorted({*old["versions"], *new["versions"]})
        },
    }
    return [{"what": name, "old": a, "new": b} for name, (a, b) in pairs.items() if a != b]


def _sections(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[dict[str, Any]]:
    before = {section["id"]: section for section in old["sections"]}
    after = {section["id"]: section for section in new["sections"]}
    listed = []
    for identity in dict.fromkeys([*after, *before]):
        a, b = _answer(before.get(identity)), _answer(after.get(identity))
        listed.append({"id": identity, "old": a, "new": b, "changed": a != b})
    return listed


def _answer(section: Mapping[str, Any] | None) -> dict[str, str]:
    if section is None:
        return {"code": "not asked", "text": "not asked"}
    if section["result"] is None:
        return {"code": section["status"], "text": section["error"]}
    return dict(section["result"]["verdict"])
