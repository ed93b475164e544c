"""Which inference fits: binary or real-valued, known or estimated target, and what the caller asked for."""

from __future__ import annotations

from fairtrial._inference.evidence.atoms import Atoms, Comparison
from fairtrial._inference.laws.gaps import Gaps
from fairtrial._inference.rates.binary_gaps import BinaryGaps, KnownRateGaps
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
    if atoms.binary and comparison.known is not None and likelihood == "empirical":
        return against_known(atoms, comparison, rate_method)
    if atoms.binary and likelihood == "empirical":
        return BinaryGaps(atoms, comparison)
    from fairtrial._inference.laws.bounded_means import bounded
    from fairtrial._inference.laws.sums_gaps import EuclideanGaps
    from fairtrial._inference.means.row_gaps import RowGaps

    by_sums = likelihood == "euclidean" or atoms.values is None
    gaps = EuclideanGaps(atoms, comparison) if by_sums else RowGaps(atoms, comparison)
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
        from fairtrial._inference.means.row_gaps import RowGaps

        return RowGaps(atoms, comparison, refinement)
    assert comparison.known is not None
    count, events = comparison.member @ atoms.count, comparison.member @ atoms.successes
    return KnownRateGaps(count, events, comparison.known, rate_method)
