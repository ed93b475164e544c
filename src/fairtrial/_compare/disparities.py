"""What certify and flag share: from an audit to every group's gap to its target."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Cells, Rows
from fairtrial._audit.groups import by_attributes, check_target_columns, compared_groups
from fairtrial._compare.between_ends import Bounds
from fairtrial._compare.compared_rows import plain_gaps, weighted_gaps, worked_out
from fairtrial._compare.pairs import PairedRows, paired_gaps
from fairtrial._compare.probable_groups import find_probable, probable_bounds
from fairtrial._compare.request import Inference
from fairtrial._compare.scales import refuse_ratio_of_means
from fairtrial._compare.sorted_groups import (
    Estimate,
    SortedGroups,
    Untested,
    find_any_target,
    opposite,
    sort_groups,
    target_cells,
    with_target,
)
from fairtrial._compare.strata import Within, adjust, adjust_by_model, refuse_within, within_columns
from fairtrial._compare.unknown_outcomes import bound_gaps, bounds_note, find_unknown
from fairtrial._compare.weights import WeightedRows
from fairtrial._errors import Fault, InputError, Named, Note, Words
from fairtrial._inference.compare.end_gaps import EndGaps
from fairtrial._inference.compare.gaps import Gaps
from fairtrial._inference.compare.linear_gaps import LinearGaps
from fairtrial._inference.compare.mean_ratios import mean_ratios
from fairtrial._inference.compare.pair_gaps import PairGaps
from fairtrial._inference.evidence.atoms import Atoms, Bools, Comparison, as_matrix, gap_covariance
from fairtrial._inference.evidence.members import Members
from fairtrial._inference.joint.joint_test import (
    JointTest,
    bounded_joint,
    is_too_large,
    joint_test,
    shrunk,
    without_undefined,
)
from fairtrial._inference.joint.plug_in import plug_in_test
from fairtrial._inference.joint.region import quadratic_test
from fairtrial._inference.joint.vector_likelihood import orthogonal_joint
from fairtrial._inference.means.target_methods import OrthogonalGaps
from fairtrial._inference.numeric.roots import Floats
from fairtrial._inference.rates.binary_gaps import no_gap
from fairtrial._inference.simultaneous import bonferroni_level, simultaneous_level
from fairtrial._inference.ways import Scale
from fairtrial._method.known_outcomes import left_out_details, refuse_selective
from fairtrial._metrics.groups import Group, Target
from fairtrial._metrics.harm import Effect, effect_of, harmed_side
from fairtrial._metrics.metric import Direction, Metric
from fairtrial._metrics.values import Role

RATIO_OF_MEANS = (
    "Ratios of means are inferred from sums (n, mean, second and third central sums, smallest and largest value), "
    "which for skewed values is the more careful way; a ratio of one has the p-value of no difference."
)


@dataclass(frozen=True, slots=True, eq=False)
class Disparities:
    """All compared groups of one metric, with their gaps."""

    who: str
    metric: Metric
    by: Any
    minimum: int
    inference: Inference
    target: Target | Estimate
    groups: list[Group]
    untested: list[Untested]
    absent: int
    cells: Cells
    atoms: Atoms
    comparison: Comparison
    gaps: Gaps
    notes: list[Note]
    weighted: WeightedRows | None = None
    harmed: Direction | None = None  # the side on which a group is harmed, where it is known
    beside: Gaps | None = None  # the differences, where ratios are tested
    within: Within | None = None
    paired: PairedRows | None = None
    bounds: Bounds | None = None  # where only the ends of the gaps are known

    @property
    def differences(self) -> Gaps:
        """The gaps as differences, whatever the scale that is tested."""
        return self.gaps if self.beside is None else self.beside

    def effect(self, index: int) -> Effect:
        """Whether a group's gap harms or favours it, where that is known."""
        return effect_of(float(self.gaps.estimate[index]), self.harmed, no_gap(self.scale))

    def unpaired(self, index: int) -> dict[str, int]:
        """The cell with the people of one answer only, where pairs are compared."""
        if self.paired is None:
            return {}
        sides = self.comparison.member[index], self.comparison.reference[index]
        return {"unpaired": self.paired.pairs(*sides).alone}

    @property
    def source(self) -> Cells | Rows:
        """What the numbers were computed from."""
        if self.bounds is not None:
            return self.bounds.source
        if self.weighted is not None:
            return self.weighted.source
        return self.cells if self.paired is None else self.paired.rows

    @property
    def scale(self) -> Scale:
        return self.gaps.scale

    @property
    def binary(self) -> bool:
        return self.atoms.binary

    @property
    def value_kind(self) -> str:
        return "percent" if self.binary else "number"

    @property
    def count(self) -> Floats:
        """People of each group."""
        if self.gaps.people is not None:
            return self.gaps.people
        return self.atoms.pooled(self.comparison.member)[0]

    @property
    def rate(self) -> Floats:
        """Each group's rate; where only its ends are known, the least that is possible."""
        if self.gaps.rates is not None:
            return np.asarray(self.gaps.rates[0])
        return np.nan_to_num(self.atoms.pooled(self.comparison.member)[1])

    @property
    def target_rate(self) -> Floats:
        if self.comparison.known is not None:
            return self.comparison.known
        if isinstance(self.target, Estimate):
            return np.full(self.rate.shape, self.target.value)
        if self.gaps.rates is not None:
            return np.asarray(self.gaps.rates[1])
        return np.nan_to_num(self.atoms.pooled(self.comparison.reference)[1])

    @property
    def target_label(self) -> str:
        if isinstance(self.target, Estimate):
            return f"{self.target.value:g} (estimated)"
        if self.within is None:
            return self.target.label
        least = float(self.within.gaps.compared.min())
        share = "" if least >= 1 else f" ({int(100 * least)}% or more of a group compared)"
        return f"{self.target.label} alike in {self.within.words}{share}"

    @property
    def alike_words(self) -> str:
        """Who was compared among people alike, for a verdict that names no target otherwise."""
        return "" if self.within is None else f", compared with {self.target_label}"

    @property
    def shared_reference(self) -> Bools | None:
        """Atoms of a target that all groups share; with 'rest' the joint null is that of 'overall'."""
        if self.comparison.known is not None:
            return None
        if isinstance(self.target, Target) and self.target.kind == "reference":
            return np.asarray(self.comparison.reference[0])
        return np.ones(self.atoms.count.size, dtype=bool)

    @property
    def left_out(self) -> list[dict[str, Any]]:
        """Rows that lack what the comparison needs, as results record them."""
        return left_out_details([self.metric], self.cells.left_out)

    @property
    def constant_after_dropping(self) -> bool:
        """Whether rows were left out and the decision is the same for all the others."""
        decided = isinstance(self.metric.value, Role) and self.metric.value.needs == ("decision",)
        mean = self.atoms.mean[self.atoms.count > 0]
        return (
            decided and bool(self.left_out) and bool(np.all(mean == mean[0])) and float(mean[0]) in (0.0, 1.0)
        )

    @property
    def overlapping(self) -> bool:
        """Whether some person belongs to two compared groups."""
        return bool(np.any(self.member.how_often()[self.atoms.count > 0] > 1))

    @property
    def member(self) -> Members:
        """Which cells each compared group contains."""
        assert isinstance(self.comparison.member, Members)
        return self.comparison.member

    @property
    def plugged_in(self) -> bool:
        """Whether an estimated target is taken as known, as the ELFA paper does."""
        estimated = isinstance(self.target, Target) and self.comparison.known is None
        return self.inference.target_method == "plug-in" and estimated and self.scale == "difference"

    @property
    def too_many(self) -> bool:
        """Whether the gaps are too many for their joint law, where no other law is at hand."""
        return self.gaps.covariance is None and is_too_large(*self.member.shape)

    def together(self, level: float, seed: int) -> float:
        """The pointwise level at which all intervals cover at once."""
        defined = self.gaps.defined
        if not defined.any():
            return level
        if self.bounds is not None or self.too_many:
            return bonferroni_level(int(defined.sum()), level)
        if self.gaps.covariance is not None:
            return simultaneous_level(self.gaps.covariance[np.ix_(defined, defined)], level, seed)
        member, reference = self.comparison.member[defined], self.comparison.reference[defined]
        return simultaneous_level(gap_covariance(self.atoms, member, reference), level, seed)

    def joint(self) -> JointTest:
        """Test that every group's gap is zero."""
        if isinstance(self.gaps, LinearGaps | PairGaps | EndGaps):
            return self.gaps.joint()
        gap, covariance = self.differences.estimate, self.differences.covariance
        if covariance is not None:
            return without_undefined(
                self.gaps,
                lambda told: (
                    self._own_joint(told) or self._quadratic(gap[told], covariance[np.ix_(told, told)])
                ),
            )
        if self.too_many:
            return bounded_joint(self.gaps)
        if self.plugged_in:
            return without_undefined(self.gaps, self._plug_in)
        known = None if self.comparison.known is None else float(self.comparison.known[0])
        return joint_test(
            self.atoms,
            self.member,
            self.shared_reference,
            known,
            likelihood=self.inference.likelihood,
            gaps=self.gaps,
        )

    def _plug_in(self, told: Bools) -> JointTest:
        """The paper's joint test, with the targets taken as known."""
        member = as_matrix(self.member)[told]
        return plug_in_test(self.atoms, member, self.target_rate[told], self.inference.likelihood)

    def _own_joint(self, told: Bools) -> JointTest | None:
        """By the likelihood asked for, where the target is an estimate of the caller's own."""
        inner = getattr(self.gaps, "inner", self.gaps)
        if not isinstance(self.target, Estimate) or not isinstance(inner, OrthogonalGaps):
            return None
        test = orthogonal_joint(inner.points, told, self.inference.likelihood)
        return test if test is None or self.binary else self._shrunk(test)

    def _shrunk(self, test: JointTest) -> JointTest:
        return shrunk(test, self.gaps, np.zeros(self.gaps.estimate.size))

    def _quadratic(self, gap: Floats, covariance: Floats) -> JointTest:
        test = quadratic_test(gap, covariance)
        return test if self.binary else self._shrunk(test)


def find_disparities(
    who: str,
    audit: Audit,
    metric: Metric,
    *,
    by: Any,
    depth: int,
    target: object,
    minimum: int,
    inference: Inference,
) -> Disparities:
    """Check, query, and compare: every group that `by` asks for against the target."""
    compared = find_any_target(who, target)
    check_target_columns(who, audit, compared)
    refuse_selective(who, audit, [metric])
    attributes = by_attributes(who, audit, by)
    within = within_columns(who, audit, inference.within, attributes, inference.by_model)
    inference = replace(inference, within=within)
    asked_for = with_target((*attributes, *inference.strata), compared)
    unknown = find_unknown(who, audit, metric, asked_for, compared)
    probable = find_probable(who, audit, metric, with_target(attributes, compared), compared)
    other = unknown or probable
    cells = target_cells(who, audit, metric, asked_for, compared, None if other is None else other.cells)
    compared = worked_out(who, audit, metric, cells, compared)
    groups, named = compared_groups(who, audit, by, depth, compared if isinstance(compared, Target) else None)
    compared = named or compared
    found = sort_groups(who, audit, metric, cells, groups, compared, minimum, unknown, probable)
    if not found.tested:
        reasons = "; ".join(f"{item.group.label}: {item.state.reason}" for item in found.untested[:5])
        cure = Words("name other groups, or lower {} where that is the reason", Named("minimum"))
        raise InputError(who, Fault("", f"there is no group to test ({reasons})", cure=cure))
    asked = list(audit.groups) if by is None else by
    return compare_sorted(
        who, audit, metric, found, by=asked, target=compared, minimum=minimum, inference=inference
    )


def compare_sorted(
    who: str,
    audit: Audit,
    metric: Metric,
    found: SortedGroups,
    *,
    by: Any,
    target: Target | Estimate,
    minimum: int,
    inference: Inference,
) -> Disparities:
    """The gaps of the groups that are tested; this is where measure, certify and flag get theirs from."""
    cells, atoms = found.cells, found.atoms
    comparison = _comparison(who, found.member, cells, target, atoms)
    if inference.scale == "ratio":
        if not atoms.binary:
            refuse_ratio_of_means(who, getattr(target, "kind", "estimate"), inference.likelihood)
        plain = compare_sorted(
            who, audit, metric, found, by=by, target=target, minimum=minimum,
            inference=replace(inference, scale="difference"),
        )  # fmt: skip
    if inference.within:
        refuse_within(who, audit, metric, inference.within, target, inference.by_model)
    gaps: Gaps
    bounds: Bounds | None = None
    if found.unknown is not None:
        assert audit.unlabelled is not None
        gaps, behind = bound_gaps(who, found.unknown, audit.unlabelled, comparison, atoms, inference)
        bounds, notes = behind, [bounds_note(behind)]
    elif found.probable is not None:
        gaps, bounds, notes = probable_bounds(who, found.probable, comparison, inference)
    elif found.paired is not None:
        gaps, notes = paired_gaps(who, found.paired, comparison, inference)
    elif found.weighted is None and inference.scale == "ratio" and not atoms.binary:
        gaps, notes = mean_ratios(atoms, comparison, plain.gaps), [Note("ratio-of-means", RATIO_OF_MEANS)]
    elif found.weighted is None:
        gaps, notes = plain_gaps(who, audit, metric, cells, atoms, comparison, target, inference)
    else:
        gaps, notes = weighted_gaps(who, found.weighted, comparison, target, inference)
    within = None
    if inference.by_model:
        within = adjust_by_model(who, audit, metric, cells, comparison, inference, gaps)
    elif inference.within:
        within = adjust(
            who, cells, atoms, comparison, inference.within, inference.scale, gaps, found.weighted
        )
    return Disparities(
        who, metric, by, minimum, inference, target, found.tested, found.untested,
        found.absent, cells, atoms, comparison, gaps if within is None else within.gaps, notes, found.weighted,
        harmed_side(metric, audit.favourable), plain.gaps if inference.scale == "ratio" else None, within,
        found.paired,
        bounds,
    )  # fmt: skip


def _comparison(
    who: str, member: Members, cells: Cells, target: Target | Estimate, atoms: Atoms
) -> Comparison:
    nothing = member.nobody()
    if isinstance(target, Estimate):
        return Comparison(member, nothing, None)
    if target.kind == "number":
        assert target.value is not None
        if atoms.binary and not 0.0 < target.value < 1.0:
            raise InputError(who, Fault("target", "of a rate must lie between 0 and 1", got=target.value))
        return Comparison(member, nothing, np.full(member.shape[0], target.value))
    return Comparison(member, opposite(member, cells, target))
