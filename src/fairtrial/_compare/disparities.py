"""Every group's gap to its target, in one metric: what the verdicts of measure, certify and flag are told from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fairtrial._audit.cells import Cells, Rows
from fairtrial._audit.direction import harmed_side
from fairtrial._compare.request import Request
from fairtrial._compare.sorted_groups import OwnEstimate, SortedGroups, Untested
from fairtrial._errors import Note
from fairtrial._inference.evidence.atoms import Atoms, Comparison, gap_covariance
from fairtrial._inference.evidence.members import Members
from fairtrial._inference.laws.gaps import Gaps, JointTest, no_gap
from fairtrial._inference.multiplicity import bonferroni_level, simultaneous_level
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.ways import Scale
from fairtrial._method.selective_labels import left_out_details
from fairtrial._metrics.groups import Effect, Group, Target, effect_of
from fairtrial._metrics.values import Direction, Metric, Role

if TYPE_CHECKING:
    from fairtrial._compare.between_ends import Bounds
    from fairtrial._compare.strata import Within
    from fairtrial._inference.laws.end_gaps import EndGaps


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Disparities:
    """All compared groups of one metric, with their gaps."""

    request: Request
    metric: Metric
    people: SortedGroups
    target: Target | OwnEstimate
    comparison: Comparison
    gaps: Gaps
    notes: list[Note]
    beside: Gaps | None = None  # the differences, where ratios are tested
    within: Within | None = None
    bounds: Bounds | None = None  # where only the ends of the gaps are known
    cut: str = ""  # of a decision with an order
    band: tuple[float, float] | None = None  # the tolerated gaps
    direction: str = ""  # in which gaps are flagged

    @property
    def groups(self) -> list[Group]:
        return self.people.tested

    @property
    def untested(self) -> list[Untested]:
        return self.people.untested

    @property
    def cells(self) -> Cells:
        return self.people.cells

    @property
    def atoms(self) -> Atoms:
        return self.people.atoms

    @property
    def by(self) -> Any:
        """The groups asked for, as results record them."""
        return list(self.request.audit.groups) if self.request.by is None else self.request.by

    @property
    def harmed(self) -> Direction | None:
        """The side on which a group is harmed, where it is known."""
        return harmed_side(self.request.audit, self.metric)

    @property
    def plain(self) -> bool:
        """Whether rows count once each and groups, outcomes and all that is adjusted for are known."""
        other = (self.people.weighted, self.people.paired, self.within, self.bounds)
        return all(evidence is None for evidence in other)

    @property
    def differences(self) -> Gaps:
        """The gaps as differences, whatever the scale that is tested."""
        return self.gaps if self.beside is None else self.beside

    def effect(self, index: int) -> Effect:
        """Whether a group's gap harms or favours it, where that is known."""
        return effect_of(float(self.gaps.estimate[index]), self.harmed, no_gap(self.scale))

    def ends(self, index: int) -> tuple[float, float]:
        """Between what a gap lies of which only the ends are known."""
        gaps = cast("EndGaps", self.gaps)
        return float(gaps.least.estimate[index]), float(gaps.most.estimate[index])

    def is_open(self, index: int) -> bool:
        """Whether what is not known decides on which side of the tolerance a gap lies; else the sample is too small."""
        if self.bounds is None or self.gaps.reason[index] is not None:
            return False
        low, high = self.band or (no_gap(self.scale),) * 2
        low = (0.0 if self.scale == "ratio" else -np.inf) if self.direction == "above" else low
        high = np.inf if self.direction == "below" else high
        least, most = self.ends(index)
        return not (low <= least and most <= high) and not (least > high or most < low)

    def unpaired(self, index: int) -> dict[str, int]:
        """The cell with the people of one answer only, where pairs are compared."""
        if self.people.paired is None:
            return {}
        sides = self.comparison.member[index], self.comparison.reference[index]
        return {"unpaired": self.people.paired.pairs(*sides).alone}

    @property
    def source(self) -> Cells | Rows:
        """What the numbers were computed from."""
        if self.bounds is not None:
            return self.bounds.source
        if self.people.weighted is not None:
            return self.people.weighted.source
        return self.cells if self.people.paired is None else self.people.paired.rows

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
        if isinstance(self.target, OwnEstimate):
            return np.full(self.rate.shape, self.target.value)
        if self.gaps.rates is not None:
            return np.asarray(self.gaps.rates[1])
        return np.nan_to_num(self.atoms.pooled(self.comparison.reference)[1])

    @property
    def target_label(self) -> str:
        if isinstance(self.target, OwnEstimate):
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
    def too_many(self) -> bool:
        """Whether the gaps are too many for their joint law, where no other law is at hand."""
        from fairtrial._inference.joint.joint_test import is_too_large

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
        from fairtrial._inference.joint.joint_test import bounded_joint, without_undefined

        own = self.gaps.joint()
        if own is not None:
            return own
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
        known = None if self.comparison.known is None else float(self.comparison.known[0])
        return self.request.procedure.joint(
            self.atoms, self.member, self.shared_reference, known, self.gaps, self.target_rate
        )

    def _own_joint(self, told: Bools) -> JointTest | None:
        """By the likelihood asked for, where the target is an estimate of the caller's own."""
        from fairtrial._inference.means.known_targets import OrthogonalGaps

        inner = getattr(self.gaps, "inner", self.gaps)
        if not isinstance(self.target, OwnEstimate) or not isinstance(inner, OrthogonalGaps):
            return None
        test = self.request.procedure.own_joint(inner.points, told)
        return test if test is None or self.binary else self._shrunk(test)

    def _shrunk(self, test: JointTest) -> JointTest:
        from fairtrial._inference.joint.joint_test import shrunk

        return shrunk(test, self.gaps, np.zeros(self.gaps.estimate.size))

    def _quadratic(self, gap: Floats, covariance: Floats) -> JointTest:
        from fairtrial._inference.joint.vector_likelihood import quadratic_test

        test = quadratic_test(gap, covariance)
        return test if self.binary else self._shrunk(test)
