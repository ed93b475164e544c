"""Which inference fits: binary or real-valued, known or estimated target, and what the caller asked for."""

from __future__ import annotations

from fairtrial._inference.bounds import bounded
from fairtrial._inference.compare.gaps import (
    BinaryGaps,
    EuclideanGaps,
    Gaps,
    KnownRateGaps,
)
from fairtrial._inference.evidence.atoms import Atoms, Comparison
from fairtrial._inference.means.row_gaps import RowGaps
from fairtrial._inference.ways import Likelihood, RateMethod, Refinement, Scale


def make_gaps(
    atoms: Atoms,
    comparison: Comparison,
    *,
    likelihood: Likelihood = "empirical",
    rate_method: RateMethod = "bounded",
    scale: Scale = "difference",
) -> Gaps:
    """Gaps of all groups to their target, by the profile likelihood where that is estimated."""
    if scale == "ratio":
        return _ratio_gaps(atoms, comparison, rate_method)
    gaps: Gaps
    if likelihood == "euclidean" or (atoms.values is None and not atoms.binary):
        gaps = EuclideanGaps(atoms, comparison)
    elif comparison.known is not None:
        gaps = against_known(atoms, comparison, rate_method)
    else:
        gaps = BinaryGaps(atoms, comparison) if atoms.binary else RowGaps(atoms, comparison)
    return gaps if atoms.binary else bounded(gaps, atoms, comparison)


def _ratio_gaps(atoms: Atoms, comparison: Comparison, rate_method: RateMethod) -> Gaps:
    """Ratios of rates; `fairtrial._method` asks for nothing else."""
    if not atoms.binary:
        raise ValueError("make_gaps: ratios are for rates.")
    if comparison.known is None:
        return BinaryGaps(atoms, comparison, "ratio")
    count, events = comparison.member @ atoms.count, comparison.member @ atoms.successes
    return KnownRateGaps(count, events, comparison.known, rate_method, "ratio")


def against_known(
    atoms: Atoms, comparison: Comparison, rate_method: RateMethod, refinement: Refinement | None = None
) -> Gaps:
    """Gaps to a known number."""
    if not atoms.binary:
        return RowGaps(atoms, comparison, refinement)
    assert comparison.known is not None
    count, events = comparison.member @ atoms.count, comparison.member @ atoms.successes
    return KnownRateGaps(count, events, comparison.known, rate_method)
