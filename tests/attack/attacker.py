"""Somebody who has all that was published, and solves for the counts that were not.

The attacker knows what everybody may know: the attributes, their labels, which of them exclude each other, and what
the metrics mean. From the results
file, the tables, the page with its charts, and the sentences in all of them it takes every count, rate, difference and
ratio as a linear statement about the unknown table (groups × decision × outcome), with the room that the printed
digits leave. A count is found out to be small when no table of whole numbers fits that has at least `limit` there.
Nothing of the package's own publishing is used.
"""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

REST = ("everyone else", "rest")
# name: who is counted (decision, outcome), among whom; None: any
CASES: dict[str, tuple[Any, Any]] = {
    "selection_rate": (lambda d, y: d == 1, lambda d, y: d >= 0),
    "fpr": (lambda d, y: d == 1, lambda d, y: y == 0),
    "tpr": (lambda d, y: d == 1, lambda d, y: y == 1),
    "fnr": (lambda d, y: d == 0, lambda d, y: y == 1),
    "ppv": (lambda d, y: y == 1, lambda d, y: d == 1),
    "accuracy": (lambda d, y: d == y, lambda d, y: d >= 0),
    "base_rate": (lambda d, y: y == 1, lambda d, y: d >= 0),
}


@dataclass
class Published:
    """All that was given out: the content of results.json, the page, and the tables as CSV."""

    content: dict[str, Any]
    page: str = ""
    tables: dict[str, str] = field(default_factory=dict)
    summary: str = ""


@dataclass
class Attacker:
    """What is known of the table with the given shape: levels of each attribute, then decision, then outcome."""

    labels: dict[str, list[str]]
    outcomes: int
    digits: float  # how far a number of the results file may be off, relative to itself
    counts: dict[bytes, int] = field(default_factory=dict)
    statements: list[tuple[np.ndarray, float, float]] = field(default_factory=list)
    differences: list[tuple[np.ndarray, np.ndarray, str, float, float]] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)  # what a metric is called → its name
    narrowest: dict[tuple[float, ...], tuple[float, float]] = field(default_factory=dict)
    merged: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return (*(len(found) for found in self.labels.values()), 2, self.outcomes)

    # -- reading ------------------------------------------------------------------------------------------------
    def read(self, published: Published) -> None:
        """Take in everything."""
        content = published.content
        for section in content["sections"]:
            result = section["result"]
            if result is not None:
                self._learn_names(result)
                self._read_result(result)
        self._count(self._everyone(), content["data"]["rows"])
        for name, levels in content["data"]["groups"].items():
            for level in levels:
                if level["n"] is not None:
                    self._count(self._group(f"{name}: {level['label']}"), level["n"])
        for entry in content["family"]:
            self._record(
                {
                    "metric": entry["metric"],
                    "group": entry["subject"],
                    "target": entry["against"],
                    "n": entry["n"],
                    "difference": entry["effect"] if entry["kind"] == "points" else None,
                }
            )
        for text in published.tables.values():
            for row in csv.DictReader(io.StringIO(text)):
                self._record({name: _number(value) for name, value in row.items()})
        drawn = list(charts(published.page))
        for text in [*_texts(content), *_texts(drawn), _visible(published.page), published.summary]:
            self._sentence(text)
        for record in records(drawn):
            told = {
                "metric": record.get("panel") or record.get("metric"),
                "n": record.get("n"),
                "group": record.get("label") or record.get("group"),
            }
            self._record(told)

    def know_who_cannot_be(self, truth: np.ndarray) -> None:
        """Which combinations of levels nobody has: whose meanings exclude each other, anybody sees by their labels."""
        nobody = (truth.sum(axis=(-2, -1), keepdims=True) == 0) & np.ones(self.shape, dtype=bool)
        if nobody.any():
            self._state(nobody.astype(float), 0, 0)

    def guess_all_of(self, content: Mapping[str, Any], truth: np.ndarray) -> None:
        """Take every published group's counts by decision and outcome as known, whichever numbers tell them.

        Limits, p-values and whatever else is made of a group's own counts can tell no more than that.
        """
        results = [section["result"] for section in content["sections"] if section["result"] is not None]
        labels = {row.get("group") for result in results for row in result["estimates"]}
        metrics = {row.get("metric") for result in results for row in result["estimates"]}
        by_decision = not metrics <= {"base_rate"}
        by_outcome = not metrics <= {"selection_rate", "selection rate"}
        for group in [found for label in labels if (found := self._group(label)) is not None]:
            for decision in range(2) if by_decision else [slice(None)]:
                for outcome in range(self.outcomes) if by_outcome else [slice(None)]:
                    people = np.zeros(self.shape, dtype=bool)
                    people[..., decision, outcome] = True
                    people &= group
                    self._count(people, int(truth[people].sum()))

    def _learn_names(self, result: Mapping[str, Any]) -> None:
        details = result["details"]
        self.names.update({label: name for name, label in details.get("labels", {}).items()})
        metrics = {row["metric"] for row in result["estimates"] if row.get("metric") in CASES}
        if "label" in details and len(metrics) == 1:
            self.names[details["label"]] = metrics.pop()

    def _read_result(self, result: Mapping[str, Any]) -> None:
        for row in result["estimates"]:
            self._record(row)
        for record in records(result["details"]):
            metrics = {row.get("metric") for row in result["estimates"]}
            self._record({"metric": next(iter(metrics)) if len(metrics) == 1 else None, **record})
        for claim in result["claims"]:
            gap = claim["size"] if claim["scale"] == "difference" else None
            self._record(
                {
                    "metric": claim["metric"],
                    "group": claim["who"],
                    "target": claim["against"],
                    "difference": gap,
                }
            )

    def _record(self, record: Mapping[str, Any]) -> None:
        """One line about a group and a metric: whatever numbers it has."""
        metric = self.names.get(str(record.get("metric")), record.get("metric"))
        group = self._group(record.get("group"))
        if metric not in CASES or group is None:
            return
        value, given = self._cases(metric)
        target = self._target(record.get("target"), group)
        self._count(group & given, record.get("n"))
        self._count(group & given & value, record.get("events"))
        self._rate(group & given & value, group & given, record.get("rate"))
        few = re.match(r"(all but )?fewer than (\d+) of ([\d,]+)", _reason(record.get("rate")))
        if few:
            inside = group & given & (~value if few.group(1) else value)
            self._state(inside.astype(float), 1, int(few.group(2)) - 1)
        if target is not None:
            self._count(target & given, record.get("target_n"))
            self._rate(target & given & value, target & given, record.get("target_rate"))
            self._gap(metric, group, target, record)

    def _gap(self, metric: str, group: np.ndarray, target: np.ndarray, record: Mapping[str, Any]) -> None:
        value, given = self._cases(metric)
        known, difference, ratio = (
            _scalar(record.get(name)) for name in ("target_rate", "difference", "ratio")
        )
        if difference is not None:
            low, high = self._room(difference)
            self.differences.append((group, target, metric, low, high))
            if known is not None:
                other = self._room(known)
                self._share(group & given & value, group & given, low + other[0], high + other[1])
        if ratio is not None and known is not None:
            low, high = self._room(ratio)
            other = self._room(known)
            self._share(group & given & value, group & given, low * other[0], high * other[1])

    def _sentence(self, text: str) -> None:
        """Rates, sizes and gaps that are told in words."""
        percent, name = r"([\d.]+)%", r"([^()]+?)"
        for metric, first, a, n, second, b, m in re.findall(
            rf"The ([^.]+?) runs from {percent} \({name}, n ([\d,]+)\) to {percent} \({name}, n ([\d,]+)\)",
            text,
        ):
            for rate, group, size in ((first, a, n), (second, b, m)):
                self._record({"metric": metric, "group": group, "n": _number(size)})
                # what has three digits already is rounded once more
                off = 0.0005 if self.digits < 1e-6 else 0.001
                self._told(metric, group, float(rate) / 100, off)
        for metric, group, points, side, target in re.findall(
            rf"(?:the |: |^)([^.:]+?) of {name} is ([\d.]+) points (above|below) (everyone else|overall|[^.,()]+)",
            text,
        ):
            name_of, who = self.names.get(metric), self._group(group)
            other = None if who is None else self._target(target, who)
            if name_of in CASES and other is not None and who is not None:
                size = float(points) / 100 * (1 if side == "above" else -1)
                self.differences.append((who, other, str(name_of), size - 0.0005, size + 0.0005))

    def _told(self, metric: str, group: str, rate: float, off: float) -> None:
        name, who = self.names.get(metric, metric), self._group(group)
        if name in CASES and who is not None:
            value, given = self._cases(name)
            self._share(who & given & value, who & given, rate - off, rate + off)

    # -- what a number says ---------------------------------------------------------------------------------------
    def _everyone(self) -> np.ndarray:
        return np.ones(self.shape, dtype=bool)

    def _cases(self, metric: str) -> tuple[np.ndarray, np.ndarray]:
        decision, outcome = np.meshgrid([0, 1], range(self.outcomes), indexing="ij")
        value, given = CASES[metric]
        every = self._everyone()
        return every & value(decision, outcome), every & given(decision, outcome)

    def _group(self, label: Any) -> np.ndarray | None:
        """The people a label names: 'a', 'g: a or b', 'g: a, h: x'."""
        if not isinstance(label, str) or not label:
            return None
        inside = self._everyone()
        for part in label.split(", "):
            named, _, values = part.rpartition(": ")
            members = values.split(" or ")
            names = (
                [named]
                if named
                else [one for one, known in self.labels.items() if set(members) <= set(known)]
            )
            if len(names) != 1 or names[0] not in self.labels:
                return None
            known = self.labels[names[0]]
            if not set(members) <= set(known):
                return None
            axis = list(self.labels).index(names[0])
            chosen = np.array([one in members for one in known])
            inside = inside & chosen.reshape([-1 if i == axis else 1 for i in range(inside.ndim)])
        return inside

    def _target(self, label: Any, group: np.ndarray) -> np.ndarray | None:
        if label in REST:
            return ~group
        return self._everyone() if label == "overall" else self._group(label)

    def _room(self, value: float) -> tuple[float, float]:
        """What a printed number may stand for."""
        if value == 0 or self.digits < 1e-6:
            return value - self.digits, value + self.digits
        step = 10.0 ** (math.floor(math.log10(abs(value))) - 2)
        return value - 0.5 * step, value + 0.5 * step

    def _count(self, people: np.ndarray | None, n: Any) -> None:
        number = _scalar(n)
        if people is None or number is None or isinstance(number, str):
            return
        self.counts[people.tobytes()] = int(number)
        self._state(people.astype(float), number, number)

    def _rate(self, part: np.ndarray, whole: np.ndarray, rate: Any) -> None:
        number = _scalar(rate)
        if isinstance(number, int | float):
            self._share(part, whole, *self._room(float(number)))

    def _share(self, part: np.ndarray, whole: np.ndarray, low: float, high: float) -> None:
        self._state(part - low * whole, 0, np.inf)
        self._state(part - high * whole, -np.inf, 0)

    def _state(self, weights: np.ndarray, low: float, high: float) -> None:
        self.statements.append((np.asarray(weights, dtype=float).reshape(-1), low, high))

    def _use_differences(self) -> None:
        """A gap is a linear statement where both sizes are known."""
        for group, target, metric, low, high in self.differences:
            value, given = self._cases(metric)
            sizes = [self._size(people, given) for people in (group, target)]
            if sizes[0] and sizes[1]:
                gap = (group & given & value) / sizes[0] - (target & given & value) / sizes[1]
                self._state(gap, low, high)

    def _size(self, people: np.ndarray, given: np.ndarray) -> int | None:
        """How many they are: told, left by the others, or solved for."""
        told = self.counts.get((people & given).tobytes())
        if told is None:
            everyone, others = (self.counts.get(known.tobytes()) for known in (given, ~people & given))
            told = None if everyone is None or others is None else everyone - others
        if told is None:
            low, high = (self._extreme(people & given, sign) for sign in (1, -1))
            told = low if low == high else None
        if told is not None:
            self.counts[(people & given).tobytes()] = told
        return told

    def _extreme(self, people: np.ndarray, sign: int) -> int | None:
        found = self._solve(people.reshape(-1) * float(sign), np.zeros(people.size))
        return None if found is None else round(float(found @ people.reshape(-1)))

    # -- solving ------------------------------------------------------------------------------------------------
    def _solve(self, aim: np.ndarray, least: np.ndarray) -> np.ndarray | None:
        """The table of whole numbers that fits and is least by `aim`; None where none fits."""
        matrix = np.array(list(self._distinct))
        low, high = np.array(list(self._distinct.values())).T
        found = milp(
            aim, integrality=np.ones(aim.size, dtype=int), bounds=Bounds(least, np.full(aim.size, 1e6)),
            constraints=LinearConstraint(matrix, low - 1e-7, high + 1e-7), options={"time_limit": 60.0},
        )  # fmt: skip
        if found.status not in (0, 2):
            raise RuntimeError(f"the solver did not decide: {found.message}")
        return None if found.x is None else np.rint(found.x)

    @property
    def _distinct(self) -> dict[tuple[float, ...], tuple[float, float]]:
        """Each statement once, as narrow as any of its tellings."""
        if len(self.statements) != self.merged:
            self.narrowest = {}
            for weights, low, high in self.statements:
                known = self.narrowest.get(tuple(weights), (-np.inf, np.inf))
                self.narrowest[tuple(weights)] = (max(low, known[0]), min(high, known[1]))
            self.merged = len(self.statements)
        return self.narrowest

    def _fits(self, table: np.ndarray) -> bool:
        bounds = self._distinct.items()
        return all(low - 1e-6 <= np.array(weights) @ table <= high + 1e-6 for weights, (low, high) in bounds)

    def found_out(self, truth: np.ndarray, limit: int) -> list[tuple[tuple[int, ...], int]]:
        """The cells whose count is small and known to be, with the largest count that they may have."""
        flat = truth.reshape(-1)
        self._use_differences()
        assert self._fits(flat), "the attacker misreads what was published"
        broken = []
        for cell in np.flatnonzero((flat > 0) & (flat < limit)):
            least, aim = np.zeros(flat.size), np.zeros(flat.size)
            least[cell], aim[cell] = limit, -1.0
            # the solver's "none" is asked for twice: rounding inside it can hide a table that fits
            other = self._solve(np.zeros(flat.size), least)
            if other is None or not self._fits(other):
                other = self._solve(aim, np.zeros(flat.size))
            if other is None or not self._fits(other) or other[cell] < limit:
                place = tuple(int(i) for i in np.unravel_index(cell, truth.shape))
                broken.append((place, -1 if other is None else int(other[cell])))
        return broken


def _scalar(cell: Any) -> Any:
    value = cell["value"] if isinstance(cell, Mapping) and "value" in cell else cell
    return None if isinstance(value, bool) else value


def _reason(cell: Any) -> str:
    return str(cell.get("reason") or "") if isinstance(cell, Mapping) else ""


def _number(text: str) -> Any:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return text or None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _texts(item)


def records(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every table of names and values in it, however deep."""
    if isinstance(value, Mapping):
        yield value
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from records(item)


def charts(page: str) -> Iterator[Any]:
    """What the page's charts are drawn from."""
    for text in re.findall(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL):
        yield json.loads(text)


def _visible(page: str) -> str:
    """The page's words, with the texts for those who cannot see it."""
    without = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    spoken = re.findall(r'(?:alt|aria-label|title)="([^"]*)"', without)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", without)) + " " + " ".join(spoken))


def attack(
    published: Published,
    labels: dict[str, list[str]],
    truth: np.ndarray,
    limit: int,
    *,
    all_of: bool = False,
) -> list[Any]:
    """What is found out of the true table; with `all_of`, where all of each published group's counts were known."""
    digits = 0.005 if published.content["report"].get("publish") else 1e-9
    attacker = Attacker(labels, truth.shape[-1], digits)
    attacker.read(published)
    attacker.know_who_cannot_be(truth)
    if all_of:
        attacker.guess_all_of(published.content, truth)
    return attacker.found_out(truth, limit)
