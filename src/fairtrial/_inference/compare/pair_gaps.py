"""Gaps between two answers to one person, all groups at once: rates by the law of pairs, means by their differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fairtrial._inference.compare.choose_gaps import make_gaps
from fairtrial._inference.compare.gaps import Gaps, LawGaps
from fairtrial._inference.evidence.atoms import Atoms, Comparison
from fairtrial._inference.joint.joint_test import JointTest
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.binary_gaps import SMALLEST_P
from fairtrial._inference.rates.pairs import PairsLaw
from fairtrial._inference.ways import RateMethod

NO_PAIRS = "nobody has an answer both in the group and in the target"
RULE = "score of pairs (Tango), McNemar's mid-p"


class Pairs(NamedTuple):
    """People with both answers: who they are, the answer in the group and the one in the target; how many lack one."""

    person: NDArray[np.int64]
    first: Floats
    second: Floats
    alone: int

    @property
    def difference(self) -> Floats:
        return np.asarray(self.first - self.second)


class PairGaps(LawGaps):
    """Rates of two answers to the same people."""

    def __init__(self, samples: Sequence[Pairs]) -> None:
        count = np.array([sample.first.size for sample in samples], dtype=np.float64)
        gained, lost = (
            np.array([np.sum(sign * sample.difference > 0) for sample in samples], dtype=np.float64)
            for sign in (1.0, -1.0)
        )
        self.law = PairsLaw(gained, lost, count)
        self.estimate, self.error = self.law.centre, self.law.error
        self.df = np.full(count.shape, np.inf)
        self.rule = np.full(count.shape, RULE)
        self.reason = [None if size else NO_PAIRS for size in count]
        self.people, self.rates = count, _rates(samples)
        self.under_null = _together(samples, centred=False)
        self.covariance = _together(samples, centred=True) + np.diag((gained + lost == 0) * self.error**2)

    def joint(self) -> JointTest:
        """No gap in any group: the score of all of them, as McNemar's of one; one gap alone has its own mid-p."""
        told = self.defined
        if not told.any():
            return JointTest(0.0, 0, 1.0, "none", NO_PAIRS)
        gap = self.estimate[told]
        values, vectors = np.linalg.eigh(self.under_null[np.ix_(told, told)])
        used = values > 1e-10 * max(float(values.max()), 1e-300)
        rank = int(used.sum())
        statistic = float(np.sum((vectors[:, used].T @ gap) ** 2 / values[used])) if rank else 0.0
        if rank <= 1:
            return JointTest(statistic, rank, float(self.p_equal()[told].min()), RULE)
        p = max(float(special.chdtrc(rank, statistic)), SMALLEST_P)
        return JointTest(statistic, rank, p, "score of all pairs at once")


def pair_gaps(samples: Sequence[Pairs], binary: bool) -> Gaps:
    """Gaps of 0/1 answers by the law of pairs, of real ones by the mean of each person's difference."""
    if binary:
        return PairGaps(samples)
    groups = len(samples)
    member = np.eye(groups, dtype=bool)
    comparison = Comparison(member, np.zeros_like(member), np.zeros(groups))
    gaps = make_gaps(Atoms.of_values([sample.difference for sample in samples]), comparison)
    gaps.reason = [
        why if sample.first.size else NO_PAIRS for why, sample in zip(gaps.reason, samples, strict=True)
    ]
    gaps.rule = np.char.add("differences of pairs: ", gaps.rule)
    gaps.people = np.array([sample.first.size for sample in samples], dtype=np.float64)
    gaps.rates, gaps.covariance = _rates(samples), _together(samples, centred=True)
    return gaps


def first_answers(samples: Sequence[Pairs], binary: bool, rate_method: RateMethod) -> Gaps:
    """The mean of the first answer, of the people who are compared, as its gap to a known zero."""
    values = [sample.first for sample in samples]
    atoms = Atoms.of_values(values)
    if binary:
        atoms = Atoms(atoms.count, atoms.mean, atoms.m2, True)
    member = np.eye(len(samples), dtype=bool)
    zero = Comparison(member, np.zeros_like(member), np.zeros(len(samples)))
    return make_gaps(atoms, zero, rate_method=rate_method)


def _rates(samples: Sequence[Pairs]) -> Floats:
    """The means of both answers, of the people who are compared."""
    sides = [(sample.first, sample.second) for sample in samples]
    return np.array([[float(side.mean()) if side.size else 0.0 for side in both] for both in sides]).T


def _together(samples: Sequence[Pairs], *, centred: bool) -> Floats:
    """Covariance of the gaps from each person's part in them, about their means or about no gap."""
    everyone = max((int(sample.person.max()) + 1 for sample in samples if sample.person.size), default=1)
    part = np.zeros((len(samples), everyone))
    for line, sample in zip(part, samples, strict=True):
        if sample.first.size:
            middle = sample.difference.mean() if centred else 0.0
            spare = max(sample.first.size - 1.0, 1.0) / sample.first.size if centred else 1.0
            line[sample.person] = (sample.difference - middle) / sample.first.size / np.sqrt(spare)
    return np.asarray(part @ part.T)
