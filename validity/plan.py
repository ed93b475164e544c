"""Validity of plan: audits with the members it asks for reach the power it promises."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairtrial import plan
from inside.gaps import certified
from inside.inference import Comparison, CountedGaps, Gaps, KnownRateGaps, Scale, make_gaps
from validity.board import Cell
from validity.certify_designs import atoms_of
from validity.plan_designs import CELLS as DESIGNS

Generator = np.random.Generator
POWER = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What is planned, and the audit that is then made."""

    goal: str
    rate: float | None = None
    deviation: float | None = None
    tolerance: float | None = None
    disparity: float | None = None
    target_ratio: float = 1.0
    target_known: bool = False
    groups: int = 1
    scale: Scale = "difference"
    plan_known: bool = False  # plan as if the target were known, though it is estimated

    def members(self) -> int:
        metric = "fpr" if self.rate is not None else "mean_score"
        found = plan(
            metric, rate=self.rate, deviation=self.deviation, tolerance=self.tolerance, disparity=self.disparity,
            target_ratio=self.target_ratio, target_known=self.target_known or self.plan_known, groups=self.groups,
            power=POWER, scale=self.scale,
        )  # fmt: skip
        return int(found.estimates[-1 if self.goal == "detect" else 0]["members"])

    def run(self, repeats: int, generator: Generator) -> np.ndarray:
        """Whether the audit reached its goal."""
        size = self.members()
        others = int(np.ceil(size * self.target_ratio))
        truth = self.disparity if self.goal == "detect" and self.disparity is not None else 0.0
        if self.rate is None:
            return np.concatenate(
                [
                    self._reached(_means(generator, size, others, truth, float(self.deviation or 1.0)))
                    for _ in range(repeats)
                ]
            )
        n, m = np.full(repeats, float(size)), np.full(repeats, float(others))
        target = generator.binomial(others, self.rate, repeats).astype(float)
        reached = np.ones(repeats)
        for _ in range(self.groups if self.goal == "certify" else 1):  # every group must be certified
            rate = self.rate + truth if self.scale == "difference" else self.rate * (truth or 1.0)
            ones = generator.binomial(size, rate, repeats).astype(float)
            known = KnownRateGaps(n, ones, np.full(repeats, self.rate), scale=self.scale)
            reached *= self._reached(
                known if self.target_known else CountedGaps(ones, n, target, m, self.scale)
            )
        return reached

    def _reached(self, gaps: Gaps) -> np.ndarray:
        band = self.tolerance or 0.0
        edges = (-band, band) if self.scale == "difference" else (band, 1.0 / band if band else 1.0)
        if self.goal == "certify":
            return certified(gaps, edges, 0.9).astype(float)
        p = gaps.p_inside(*edges) if band else gaps.p_equal()
        return (p <= 0.05 / self.groups).astype(float)


def _means(generator: Generator, size: int, others: int, truth: float, deviation: float) -> Gaps:
    """One audit of skewed scores (gamma with shape 4) of the planned deviation, as certify makes it."""
    values = [
        centre + deviation * (generator.gamma(4.0, 0.5, people) - 2.0)
        for people, centre in ((size, truth), (others, 0.0))
    ]
    group = np.array([[True, False]])
    return make_gaps(atoms_of(values), Comparison(group, ~group))


def _cell(name: str, design: str, study: Study, short: int = 2000, **more: object) -> Cell:
    repeats = {"short": short, "long": max(short, 2000)}
    return Cell("plan", name, design, "power", study.run, POWER, **repeats, **more)  # type: ignore[arg-type]


_CERTIFY = "rate 20%, tolerance 5 points, target of the same size"
_DETECT = "rate 20%, disparity 8 points, target of the same size"

CELLS: list[Cell] = [
    _cell("members to certify", _CERTIFY, Study(goal="certify", rate=0.2, tolerance=0.05)),
    _cell("planned as if the target were known, certify", _CERTIFY,
          Study(goal="certify", rate=0.2, tolerance=0.05, plan_known=True), variant="paper",
          counterpart="members to certify"),
    _cell("members to certify a ratio", "rate 30%, four fifths, target of the same size",
          Study(goal="certify", rate=0.3, tolerance=0.8, scale="ratio")),
    _cell("members to detect a ratio", "rate 30%, ratio 0.6 where four fifths are tolerated",
          Study(goal="detect", rate=0.3, tolerance=0.8, disparity=0.6, scale="ratio")),
    _cell("members to certify a ratio, known target", "rate 20% against a known number, four fifths",
          Study(goal="certify", rate=0.2, tolerance=0.8, scale="ratio", target_known=True), short=0),
    _cell("members to certify, low rate", "rate 5%, tolerance 3 points, target of the same size",
          Study(goal="certify", rate=0.05, tolerance=0.03)),
    _cell("members to certify, large target", "rate 30%, tolerance 6 points, target four times as large",
          Study(goal="certify", rate=0.3, tolerance=0.06, target_ratio=4.0)),
    _cell("members to certify, known target", "rate 20% against a known number, tolerance 4 points",
          Study(goal="certify", rate=0.2, tolerance=0.04, target_known=True)),
    *(_cell(f"members to certify all of {groups} groups", "rate 20%, tolerance 5 points, one target of the same size",
            Study(goal="certify", rate=0.2, tolerance=0.05, groups=groups)) for groups in (5, 10)),
    _cell("members to certify all of 5 groups, few events", "rate 2%, tolerance 2 points, one target of the same size",
          Study(goal="certify", rate=0.02, tolerance=0.02, groups=5), short=0),
    _cell("members to detect, few events", "rate 1%, disparity 4 points, target of the same size",
          Study(goal="detect", rate=0.01, disparity=0.04), short=0),
    _cell("members to certify, mean score", "gamma scores, deviation 2, tolerance 0.5",
          Study(goal="certify", deviation=2.0, tolerance=0.5), short=400),
    _cell("members to detect", _DETECT, Study(goal="detect", rate=0.2, disparity=0.08)),
    _cell("planned as if the target were known, detect", _DETECT,
          Study(goal="detect", rate=0.2, disparity=0.08, plan_known=True), variant="paper",
          counterpart="members to detect"),
    _cell("members to detect beyond a tolerance", "rate 20%, disparity 10 points, 5 points tolerated",
          Study(goal="detect", rate=0.2, tolerance=0.05, disparity=0.1)),
    _cell("members to detect, five groups", "rate 30%, disparity 10 points, Holm over five groups",
          Study(goal="detect", rate=0.3, disparity=0.1, groups=5)),
    _cell("members to detect, small target", "rate 30%, disparity 15 points, target half as large",
          Study(goal="detect", rate=0.3, disparity=0.15, target_ratio=0.5)),
    _cell("members to detect, known target", "rate 20% against a known number, disparity 6 points",
          Study(goal="detect", rate=0.2, disparity=0.06, target_known=True)),
    _cell("members to detect, mean score", "gamma scores, deviation 2, disparity 0.6",
          Study(goal="detect", deviation=2.0, disparity=0.6), short=400),
    *DESIGNS,
]  # fmt: skip
