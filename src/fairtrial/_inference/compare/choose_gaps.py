"""Which inference fits: binary or real-valued, known or estimated target, and what the caller asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairtrial._inference.bounds import bounded
from fairtrial._inference.compare.gaps import Gaps
from fairtrial._inference.compare.sums_gaps import EuclideanGaps
from fairtrial._inference.evidence.atoms import Atoms, Comparison
from fairtrial._inference.means.row_gaps import RowGaps
from fairtrial._inference.means.target_methods import PlugInGaps, orthogonal_gaps
from fairtrial._inference.rates.binary_gaps import BinaryGaps, KnownRateGaps
from fairtrial._inference.ways import Likelihood, RateMethod, Refinement, Scale, TargetMethod


def make_gaps(
    atoms: Atoms,
    comparison: Comparison,
    *,
    likelihood: Likelihood = "empirical",
    target_method: TargetMethod = "profile",
    rate_method: RateMethod = "bounded",
    refinement: Refinement | None = None,
    scale: Scale = "difference",
) -> Gaps:
    """Gaps of all groups to their target; the paper's plug-in and refinements of the likelihood stay as published."""
    if scale == "ratio":
        return _ratio_gaps(atoms, comparison, rate_method)
    gaps = _plain_gaps(atoms, comparison, likelihood, target_method, rate_method, refinement)
    published = refinement is not None or (target_method == "plug-in" and comparison.known is None)
    return gaps if published or atoms.binary else bounded(gaps, atoms, comparison)


def _ratio_gaps(atoms: Atoms, comparison: Comparison, rate_method: RateMethod) -> Gaps:
    """Ratios of rates; `fairtrial._method` asks for nothing else."""
    if not atoms.binary:
        raise ValueError("make_gaps: ratios are for rates.")
    if comparison.known is None:
        return BinaryGaps(atoms, comparison, "ratio")
    count, events = comparison.member @ atoms.count, comparison.member @ atoms.successes
    return KnownRateGaps(count, events, comparison.known, rate_method, "ratio")


def _plain_gaps(
    atoms: Atoms,
    comparison: Comparison,
    likelihood: Likelihood,
    target_method: TargetMethod,
    rate_method: RateMethod,
    refinement: Refinement | None,
) -> Gaps:
    euclidean = likelihood == "euclidean" or (atoms.values is None and not atoms.binary)
    if euclidean and (comparison.known is not None or target_method in ("profile", "orthogonal")):
        return EuclideanGaps(atoms, comparison)
    if comparison.known is not None:
        return _against_known(atoms, comparison, rate_method, refinement)
    if target_method == "orthogonal":
        return orthogonal_gaps(atoms, comparison)
    honest: Gaps
    if euclidean:
        honest = EuclideanGaps(atoms, comparison)
    else:
        honest = BinaryGaps(atoms, comparison) if atoms.binary else RowGaps(atoms, comparison)
    if target_method == "profile":
        return honest
    _, target, _ = atoms.pooled(comparison.reference)
    nothing = comparison.member & ~comparison.member
    plugged = replace(comparison, reference=nothing, known=np.nan_to_num(target))
    known: Gaps = (
        EuclideanGaps(atoms, plugged)
        if euclidean
        else _against_known(atoms, plugged, "likelihood", refinement)
    )
    return PlugInGaps(known, honest, scaled=target_method == "scaled")


def _against_known(
    atoms: Atoms, comparison: Comparison, rate_method: RateMethod, refinement: Refinement | None
) -> Gaps:
    if not atoms.binary:
        return RowGaps(atoms, comparison, refinement)
    assert comparison.known is not None
    count, events = comparison.member @ atoms.count, comparison.member @ atoms.successes
    return KnownRateGaps(count, events, comparison.known, rate_method)
