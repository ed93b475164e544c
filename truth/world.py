"""Worlds: people about whom everything is known, the file a user would have of them, and the true rates.

Nothing here uses fairtrial: rates are computed from the definitions in words, over far more people than any file has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Generator = np.random.Generator
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Labels = NDArray[Any]
POPULATION = 400_000


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Everyone, with what really happened to each of them, whether or not a file knows it."""

    groups: Mapping[str, Labels]
    decision: Floats
    outcome: Floats | None = None
    score: Floats | None = None
    columns: Mapping[str, Labels] = field(default_factory=dict)  # what else the file has
    weight: Floats | None = None  # how many people a row stands for
    order: tuple[str, ...] = ()  # labels of a decision of more than two values, whose places `decision` holds

    @property
    def size(self) -> int:
        return int(self.decision.size)

    def members(self, who: Mapping[str, str]) -> Bools:
        """Everyone who has all these labels."""
        inside = np.ones(self.size, dtype=bool)
        for attribute, label in who.items():
            inside &= self.groups[attribute].astype(str) == label
        return inside

    def in_words(self, words: str) -> Bools:
        """Everyone who is meant by 'region: north or south; age: under 30'."""
        inside = np.ones(self.size, dtype=bool)
        for part in words.split("; "):
            attribute, _, labels_meant = part.partition(": ")
            column = self.groups[attribute] if attribute in self.groups else self.columns[attribute]
            inside &= _in_range(column, labels_meant)
        return inside


def _in_range(column: Labels, words: str) -> Bools:
    """'under 30', '30 to 44', '30 and over', 'north or south', 'not Black'."""
    numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", words)]
    if words.startswith("not "):
        return ~_in_range(column, words.removeprefix("not "))
    if not np.issubdtype(column.dtype, np.number):
        return np.isin(column.astype(str), words.split(" or "))
    if words.startswith("under "):
        return np.asarray(column < numbers[0])
    if words.endswith("and over"):
        return np.asarray(column >= numbers[0])
    if " to under " in words:
        return np.asarray((column >= numbers[0]) & (column < numbers[1]))
    return np.asarray((column >= numbers[0]) & (column <= numbers[-1]))


World = Callable[[Generator, int], People]


def true_rate(people: People, metric: str, inside: Bools) -> float:
    """The metric's rate among these people, from its definition in words."""
    if people.order and metric.endswith("]"):  # 'tpr [refer or above]'
        metric, _, cut = metric.removesuffix("]").partition(" [")
        place = people.order.index(cut.removesuffix(" or above"))
        people = replace(people, decision=(people.decision >= place).astype(float), order=())
    value, given = _value_and_condition(people, metric)
    counted = inside & given
    weight = np.ones(people.size) if people.weight is None else people.weight
    return float(np.average(value[counted], weights=weight[counted])) if counted.any() else float("nan")


def _value_and_condition(people: People, metric: str) -> tuple[Floats, Bools]:
    decided, everyone = people.decision == 1, np.ones(people.size, dtype=bool)
    if metric == "selection_rate":
        return people.decision, everyone
    if metric == "favourable_rate":  # of the presets, where decision 1 hurts
        return 1 - people.decision, everyone
    if metric == "mean_decision":
        return people.decision, everyone
    if metric == "mean_score":
        return known(people.score), everyone
    happened = known(people.outcome) == 1
    outcome = happened.astype(float)
    table: dict[str, tuple[Floats, Bools]] = {
        "base_rate": (outcome, everyone),
        "accuracy": ((happened == decided).astype(float), everyone),
        "error_rate": ((happened != decided).astype(float), everyone),
        "tpr": (people.decision, happened),
        "fnr": (1 - people.decision, happened),
        "fpr": (people.decision, ~happened),
        "tnr": (1 - people.decision, ~happened),
        "ppv": (outcome, decided),
        "fdr": (1 - outcome, decided),
        "npv": (1 - outcome, ~decided),
        "for": (outcome, ~decided),
    }
    if metric in table:
        return table[metric]
    if metric.startswith("calibration ["):
        bin_of = metric.removeprefix("calibration [").removesuffix("]")
        return outcome, _in_range(known(people.score), bin_of)
    if metric in ("brier", "brier_score"):
        return (known(people.score) - outcome) ** 2, everyone
    raise KeyError(metric)


def known(values: Floats | None) -> Floats:
    """What this world has."""
    assert values is not None
    return values


def true_gap(people: People, metric: str, who: Mapping[str, str], against: object) -> tuple[float, float]:
    """The group's rate and that of whom it is compared with: a number, 'overall', 'rest' or labels."""
    inside = people.members(who)
    rate = true_rate(people, metric, inside)
    if isinstance(against, int | float):
        return rate, float(against)
    if against == "overall":
        return rate, true_rate(people, metric, np.ones(people.size, dtype=bool))
    if against == "rest":
        return rate, true_rate(people, metric, ~inside)
    assert isinstance(against, Mapping)
    return rate, true_rate(people, metric, people.members(against))


def labels(generator: Generator, size: int, shares: Mapping[str, float]) -> Labels:
    """A label for everyone, drawn with these shares."""
    share = np.array(list(shares.values()))
    return np.array(list(shares))[generator.choice(len(shares), size, p=share / share.sum())]


def by_label(column: Labels, values: Mapping[str, float], other: float = 0.0) -> Floats:
    """A number for everyone, by their label."""
    found = np.full(column.size, other)
    for label, value in values.items():
        found[column == label] = value
    return found


def happens(generator: Generator, chance: Floats) -> Floats:
    """1 with this chance, else 0."""
    return (generator.random(chance.size) < chance).astype(float)


def logistic(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))
