"""Random audits of up to 40 cells, many of them of few people, and what is published of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from tests.attack.attacker import Published

import fairtrial
from fairtrial import read_result
from inside.trial import csv_text, render, summary_markdown

# levels of each attribute, and whether there is an outcome: never more than 40 cells
SHAPES = [
    ((2,), True), ((3,), True), ((5,), True), ((8,), True), ((10,), True), ((2, 2), True), ((2, 3), True),
    ((3, 3), True), ((2, 5), True), ((2, 2, 2), True), ((20,), False), ((4, 5), False), ((2, 3, 3), False),
    ((2, 2, 5), False), ((2, 10), False),
]  # fmt: skip
METRICS = ["selection_rate", "fpr", "tpr", "fnr", "ppv", "accuracy", "base_rate"]


@dataclass(frozen=True)
class Case:
    """An audit: its labels, its true table, and the spec that asks about it."""

    labels: dict[str, list[str]]
    truth: np.ndarray
    spec: dict[str, Any]

    @property
    def frame(self) -> pd.DataFrame:
        """One row per person."""
        places = np.argwhere(self.truth > 0)
        rows = np.repeat(places, self.truth[self.truth > 0], axis=0)
        names = list(self.labels)
        columns = {name: np.array(self.labels[name])[rows[:, i]] for i, name in enumerate(names)}
        columns["d"] = rows[:, len(names)]
        if self.truth.shape[-1] > 1:
            columns["y"] = rows[:, len(names) + 1]
        return pd.DataFrame(columns)

    def published(self, *, publish: bool, page: bool = True) -> Published:
        """All that is given out."""
        spec = {**self.spec, "run": {"publish": publish}}
        trial = fairtrial.run(spec, data=self.frame)
        content = trial.to_dict()
        tables = {
            section["id"]: csv_text(read_result(section["result"]))
            for section in content["sections"]
            if section["result"] is not None
        }
        return Published(content, render(content) if page else "", tables, summary_markdown(content))


def one_of_the_other(truth: np.ndarray) -> np.ndarray:
    """The table with the second attribute a coarser form of the first, as race and race in two classes."""
    nested = np.zeros_like(truth)
    for level in range(truth.shape[0]):
        nested[level, level % truth.shape[1]] = truth[level].sum(axis=0)
    return nested


def random_case(seed: int) -> Case:
    """An audit drawn from the seed."""
    random = np.random.default_rng(seed)
    levels, outcome = SHAPES[int(random.integers(len(SHAPES)))]
    labels = {f"g{i}": [f"{'abc'[i]}{k}" for k in range(count)] for i, count in enumerate(levels)}
    shape = (*levels, 2, 2 if outcome else 1)
    large = random.integers(10, 300, size=shape)
    small = random.integers(0, 13, size=shape)
    rare = random.random(size=levels) < 0.3  # whole groups of few people
    few = (random.random(size=shape) < random.choice([0.05, 0.2])) | rare[..., None, None]
    truth = np.where(few, small, large)
    truth[(0,) * len(levels)] += 40  # somebody is always there
    if len(levels) > 1 and seed % 3 == 0:
        truth = one_of_the_other(truth)
    spec: dict[str, Any] = {
        "data": {
            "source": "x.csv",
            "decision": "d",
            "groups": list(labels),
            **({"outcome": "y"} if outcome else {}),
        }
    }
    metrics = METRICS if outcome else METRICS[:1]
    chosen = sorted(random.choice(metrics, size=int(random.integers(1, len(metrics) + 1)), replace=False))
    target = random.choice(["rest", "overall"])
    spec["measure"] = {
        "metric": chosen,
        "minimum": 2,
        "target": str(target),
        "depth": int(random.integers(1, 3)),
    }
    spec["flag"] = {"metric": str(random.choice(metrics)), "minimum": 2}
    if random.random() < 0.5:
        spec["certify"] = {"metric": str(random.choice(metrics)), "minimum": 2, "tolerance": 0.1}
    if random.random() < 0.3:
        spec["transport"] = {"metric": "statistical_parity", "by": "g0", "minimum": 2}
    return Case(labels, truth, spec)
