"""The ELFA paper's joint test with estimated targets taken as known (its Theorem 2): kept by name, not valid.

Scores are g = 1_G (M - target), one per group; the target may differ by group. The empirical likelihood solves (3.3)
for a vector multiplier, the Euclidean one has the closed form of Theorem 3.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from fairtrial._inference.evidence.atoms import Atoms
from fairtrial._inference.joint.vector_likelihood import vector_log_ratio as vector_log_ratio
from fairtrial._inference.laws.gaps import SMALLEST_P, JointTest
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.ways import Likelihood

NOT_VALID = "plug-in (not valid: leaves out the target's uncertainty)"
OUTSIDE = "no weights on the observed values make all gaps zero"


def plug_in_test(
    atoms: Atoms, member: Bools, target: Floats, likelihood: Likelihood, *, known: bool = False
) -> JointTest:
    """Test 'every group's gap to its target is zero' as if the targets were known (Algorithms 1 and G.1).

    `known` says that they are (Theorems 1 and 3): then the limit holds.
    """
    by_sums = atoms.values is None and not atoms.binary
    if likelihood == "euclidean" or by_sums:
        statistic, df = _euclidean(atoms, member, target)
        words = "euclidean likelihood"
    else:
        score, counts = _scores(atoms, member, target)
        statistic, df = vector_log_ratio(score, counts)
        words = "empirical likelihood"
    if df == 0:
        return JointTest(0.0, 0, 1.0, "none", "there is nothing to compare: every group is the target itself")
    p = max(float(special.chdtrc(df, statistic)), SMALLEST_P)
    rule = words if known else f"{words}, {NOT_VALID}"
    return JointTest(statistic, df, p, rule, None if np.isfinite(statistic) else OUTSIDE)


def _scores(atoms: Atoms, member: Bools, target: Floats) -> tuple[Floats, Floats]:
    """One line per support point: every group's score, and how many rows have it."""
    if atoms.values is None:
        ones, size = atoms.successes, atoms.count.size
        value, counts = np.repeat([1.0, 0.0], size), np.concatenate([ones, atoms.count - ones])
        atom = np.tile(np.arange(size), 2)
    else:
        lengths = [values.size for values in atoms.values]
        value, counts = np.concatenate(atoms.values), np.ones(sum(lengths))
        atom = np.repeat(np.arange(len(lengths)), lengths)
    anywhere: Bools = np.logical_or.reduce(member, axis=0)
    used = (counts > 0) & anywhere[atom]
    value, counts, atom = value[used], counts[used], atom[used]
    return member[:, atom].T * (value[:, None] - target[None, :]), counts


def _euclidean(atoms: Atoms, member: Bools, target: Floats) -> tuple[float, int]:
    """n g' s^-1 g (Theorem 3) with the scores' own mean and spread over all rows."""
    total = float(atoms.count.sum())
    distance = member * (atoms.mean[None, :] - target[:, None])
    mean = distance @ atoms.count / total
    inside = member.astype(np.float64)
    second = ((distance * atoms.count) @ distance.T + (inside * atoms.m2) @ inside.T) / total
    spread = second - np.outer(mean, mean)
    rank = int(np.linalg.matrix_rank(spread, hermitian=True))
    return float(total * mean @ np.linalg.pinv(spread, hermitian=True) @ mean), rank
