"""Two audits side by side: what changed by more than noise, what became significant, what no longer is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fairtrial._inference.multiplicity import holm
from fairtrial._inference.numeric.roots import Floats
from fairtrial._results.column import scalar
from fairtrial._trial.family import metric_label

Key = tuple[str, str, str, str]


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Compare two results.json: verdict, data, questions, and every test that both or one of them made."""
    before, after = _family(old), _family(new)
    tests = [_test(key, before.get(key), after.get(key)) for key in dict.fromkeys([*after, *before])]
    tests = _told_once(tests)
    untested = _add_changes(tests, old, new)
    return {
        "verdict": {
            "old": old["verdict"],
            "new": new["verdict"],
            "changed": old["verdict"]["code"] != new["verdict"]["code"],
        },
        "setting": _setting(old, new),
        "sections": _sections(old, new),
        "tests": tests,
        "changed_gaps": [test for test in tests if test["gap_change"] and test["gap_change"]["shown"]],
        "not_compared": untested,
        "became_significant": [test for test in tests if test["change"] == "became significant"],
        "no_longer_significant": [test for test in tests if test["change"] == "no longer significant"],
    }


def _family(content: Mapping[str, Any]) -> dict[Key, Mapping[str, Any]]:
    """Entries by what they are about, with the rates that the gap is of; a repeated one keeps its smallest p-value,
    which comes first."""
    found: dict[Key, Mapping[str, Any]] = {}
    rates = {
        (section["id"], metric_label(row, section["result"].get("details", {})), str(row.get("group"))): row
        for section in content["sections"]
        if section["result"]
        for row in section["result"].get("estimates", ())
    }
    for entry in content["family"]:
        row = rates.get((entry.get("section", ""), entry["metric"], entry["subject"]), {})
        sides = {name: scalar(row.get(name)) for name in ("rate", "target_rate")}
        key = entry["method"], entry["metric"], entry["subject"], entry["against"]
        found.setdefault(key, {**entry, **sides})
    return found


def _test(key: Key, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> dict[str, Any]:
    method, metric, subject, against = key
    fields = ("effect", "low", "high", "kind", "p_value", "adjusted", "significant", "n", "level", "of_many",
              "rate", "target_rate")  # fmt: skip
    return {
        "method": method,
        "metric": metric,
        "subject": subject,
        "against": against,
        "change": _changed(old, new),
        "old": None if old is None else {name: old.get(name) for name in fields},
        "new": None if new is None else {name: new.get(name) for name in fields},
        "gap_change": None,
        "repeats": False,
    }


def _told_once(tests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without tests that repeat an earlier one: another question's of the same gap, or its mirror image.

    Two groups that are each other's rest have one gap, with the two rates the other way round. One of which something
    else became, as of a one-sided test, stays and is marked: its gap is counted once.
    """
    first: dict[tuple[Any, ...], dict[str, Any]] = {}
    kept = []
    for test in tests:
        sides = {name: test[name] for name in ("old", "new") if test[name] is not None}
        about = test["metric"], test["against"], tuple((name, side["kind"]) for name, side in sides.items())
        own = tuple(_gap(side) for side in sides.values())
        turned = (*about, tuple(_gap(side, turned=True) for side in sides.values()))
        named = (*about, own, test["subject"])
        same = None if None in own else first.get(named, first.get(turned))
        test["repeats"] = same is not None
        if same is None:
            first |= {named: test, (*about, own): test}
        if same is None or test["change"] not in ("", same["change"]):
            kept.append(test)
    return kept


def _gap(side: Mapping[str, Any], turned: bool = False) -> tuple[float, ...] | None:
    """A gap with the two rates it is of, or as it is from its other side; None where they are not all there."""
    gap, rates = side["effect"], [side["rate"], side["target_rate"]]
    if gap is None or None in rates or (side["kind"] == "ratio" and gap <= 0):
        return None
    other = 1 / gap if side["kind"] == "ratio" else 0.0 - gap
    told = [other, *rates[::-1]] if turned else [gap, *rates]
    return tuple(round(number, 9) for number in told)


def _changed(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str:
    """What became of a test, in words; empty where nothing did."""
    if new is None:
        return "no longer asked"
    if old is None:
        return "new, significant" if new["significant"] else "new"
    if new["significant"] == old["significant"]:
        return ""
    return "became significant" if new["significant"] else "no longer significant"


def _add_changes(tests: list[dict[str, Any]], old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Give every gap that both audits have its change, all corrected together (Holm); why not where there is none."""
    if old["data"]["digest"] == new["data"]["digest"]:
        return "Both audits are of the same data: nothing that differs between them is chance."
    once = [test for test in tests if not test["repeats"]]
    pairs = [(test, made) for test in once if (made := _change(test)) is not None]
    if not pairs:
        return "No gap has an interval in both audits."
    alpha = float(new["correction"]["alpha"])
    adjusted = holm([float(made.p_value) for _, made in pairs])
    for (test, made), corrected in zip(pairs, adjusted, strict=True):
        ratio = test["new"]["kind"] == "ratio"
        ends = [math.exp(float(end)) if ratio else float(end) for end in made[:3]]
        test["gap_change"] = {
            "estimate": ends[0], "low": ends[1], "high": ends[2], "level": test["new"]["level"],
            "p_value": float(made.p_value), "adjusted": float(corrected), "shown": bool(corrected <= alpha),
        }  # fmt: skip
    return ""


def _change(test: Mapping[str, Any]) -> GapChange | None:
    """New minus old of one gap, of ratios in logarithms; None where a side lacks limits or they are of other levels."""
    old, new = test["old"], test["new"]
    if old is None or new is None or (old["kind"], old["level"]) != (new["kind"], new["level"]):
        return None
    before, after = _limits(old), _limits(new)
    if before is None or after is None or new["level"] is None:
        return None
    return change(before, after, new["level"])


def _limits(side: Mapping[str, Any]) -> tuple[float, ...] | None:
    """Estimate and limits of one gap, of a ratio in logarithms; None where they are not all there."""
    numbers = tuple(side[name] for name in ("effect", "low", "high"))
    if side["of_many"] or None in numbers:
        return None
    if side["kind"] != "ratio":
        return numbers
    return tuple(map(math.log, numbers)) if min(numbers) > 0 else None


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


# -- Whether an estimate changed between two samples of different people, from each one's estimate and limits
# alone.
class GapChange(NamedTuple):
    """New minus old, with limits at the samples' own level, and the two-sided p-value of no change."""

    estimate: Floats
    low: Floats
    high: Floats
    p_value: Floats


def change(old: tuple[ArrayLike, ...], new: tuple[ArrayLike, ...], level: float) -> GapChange:
    """The difference of two independent estimates from (estimate, low, high) of each.

    Limits are those of Zou and Donner (2008, Statistics in Medicine 27): the squares of the distances from
    the estimates to the limits that point the same way add up, so that skewed limits stay skewed. The p-value is
    that of the level at which a limit meets zero, were the distances to grow with the normal quantile.

    Parameters
    ----------
    old, new : tuple
        Estimates with their lower and upper limits, each a number or an array.
    level : float
        Of all these limits.
    """
    from scipy import special  # as in multiplicity: nobody who only starts the server waits for it

    first, low_1, high_1 = (np.asarray(part, dtype=np.float64) for part in old)
    second, low_2, high_2 = (np.asarray(part, dtype=np.float64) for part in new)
    estimate = second - first
    down = np.hypot(second - low_2, high_1 - first)
    up = np.hypot(high_2 - second, first - low_1)
    toward_zero = np.where(estimate >= 0, down, up)
    quantile = float(special.ndtri(0.5 + level / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.where(toward_zero > 0, quantile * np.abs(estimate) / toward_zero, np.inf)
    root = np.where(estimate == 0, 0.0, root)
    p_value = np.clip(2.0 * special.ndtr(-root), 1e-300, 1.0)
    return GapChange(estimate, estimate - down, estimate + up, p_value)
