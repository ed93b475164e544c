"""What certify and flag share: from an audit to every group's gap to its target."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.data.cells import Cells, Rows
from fairtrial.data.groups import by_attributes, check_target, compared_groups
from fairtrial.errors import FairtrialWarning, Fault, InputError, Note
from fairtrial.inference.bounds import bounded
from fairtrial.inference.compare.choose_gaps import make_gaps
from fairtrial.inference.compare.gaps import Gaps
from fairtrial.inference.evidence.atoms import Atoms, Bools, Comparison, gap_covariance
from fairtrial.inference.joint.joint_test import JointTest, joint_test, shrunk, without_undefined
from fairtrial.inference.joint.region import quadratic_test
from fairtrial.inference.means.target_methods import estimate_gaps
from fairtrial.inference.numeric.roots import Floats
from fairtrial.inference.simultaneous import simultaneous_level
from fairtrial.methods.gaps.known_outcomes import left_out_details, refuse_selective
from fairtrial.methods.gaps.states import EVERYONE, FEW_IN_TARGET, NO_TARGET, NOBODY, REFERENCE, TOO_FEW
from fairtrial.metrics.groups import Group, Target, find_target
from fairtrial.metrics.harm import harmed_side
from fairtrial.metrics.metric import Direction, Metric
from fairtrial.metrics.values import Role
from fairtrial.results.column import State

# Above this many rows a real-valued metric is audited from its central sums.
MOST_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Inference:
    """How gaps are inferred, as the caller asked."""

    likelihood: str = "empirical"
    target_method: str = "profile"
    rate_interval: str = "bounded"
    refinement: str | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """A target the caller estimated, with its influence value per row (an array or a column)."""

    value: float
    influence: str | tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Untested:
    """A group that is listed but not tested, with the reason."""

    group: Group
    n: int
    state: State

    @property
    def small(self) -> bool:
        return self.state.code in (TOO_FEW.code, NOBODY.code)

    def to_dict(self) -> dict[str, Any]:
        return {"group": self.group.label, "n": self.n, "place": self.group.place, **self.state.cells()}


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
    harmed: Direction | None = None  # the side on which a group is harmed, where it is known

    @property
    def binary(self) -> bool:
        return self.atoms.binary

    @property
    def value_kind(self) -> str:
        return "percent" if self.binary else "number"

    @property
    def count(self) -> Floats:
        return self.atoms.pooled(self.comparison.member)[0]

    @property
    def rate(self) -> Floats:
        return np.nan_to_num(self.atoms.pooled(self.comparison.member)[1])

    @property
    def target_rate(self) -> Floats:
        return self.rate - self.gaps.estimate

    @property
    def target_label(self) -> str:
        return (
            f"{self.target.value:g} (estimated)" if isinstance(self.target, Estimate) else self.target.label
        )

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
        return bool(np.any(self.comparison.member[:, self.atoms.count > 0].sum(axis=0) > 1))

    def together(self, level: float, seed: int) -> float:
        """The pointwise level at which all intervals cover at once."""
        defined = self.gaps.defined
        if not defined.any():
            return level
        if self.gaps.covariance is not None:
            return simultaneous_level(self.gaps.covariance[np.ix_(defined, defined)], level, seed)
        member, reference = self.comparison.member[defined], self.comparison.reference[defined]
        return simultaneous_level(gap_covariance(self.atoms, member, reference), level, seed)

    def joint(self) -> JointTest:
        """Test that every group's gap is zero."""
        gap, covariance = self.gaps.estimate, self.gaps.covariance
        if covariance is not None:
            return without_undefined(
                self.gaps, lambda told: self._quadratic(gap[told], covariance[np.ix_(told, told)])
            )
        known = None if self.comparison.known is None else float(self.comparison.known[0])
        return joint_test(
            self.atoms,
            self.comparison.member,
            self.shared_reference,
            known,
            likelihood=self.inference.likelihood,  # type: ignore[arg-type]
            gaps=self.gaps,
        )

    def _quadratic(self, gap: Floats, covariance: Floats) -> JointTest:
        test = quadratic_test(gap, covariance)
        return test if self.binary else shrunk(test, self.gaps, np.zeros(self.gaps.estimate.size))


def find_any_target(who: str, target: object) -> Target | Estimate:
    """A known number, overall, rest, a reference group, or {'estimate': …, 'influence': …}."""
    if isinstance(target, Mapping) and "estimate" in target:
        value, influence = target["estimate"], target.get("influence")
        if isinstance(value, bool) or not isinstance(value, int | float) or influence is None:
            required = (
                "with an 'estimate' needs a number there and 'influence': a column or one value per row"
            )
            raise InputError(who, Fault("target", required))
        listed = influence if isinstance(influence, str) else tuple(float(v) for v in influence)
        return Estimate(float(value), listed)
    return find_target(who, target)


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
    audit.refuse(who)
    refuse_selective(who, audit, [metric])
    cells = _target_cells(who, audit, metric, by_attributes(who, audit, by), compared)
    groups, named = compared_groups(who, audit, by, depth, compared if isinstance(compared, Target) else None)
    compared = named or compared
    found = sort_groups(who, audit, metric, cells, groups, compared, minimum)
    if not found.tested:
        reasons = "; ".join(f"{item.group.label}: {item.state.reason}" for item in found.untested[:5])
        raise InputError(who, Fault("", f"there is no group to test ({reasons})"))
    asked = list(audit.groups) if by is None else by
    return compare_sorted(
        who, audit, metric, found, by=asked, target=compared, minimum=minimum, inference=inference
    )


@dataclass(frozen=True, slots=True, eq=False)
class SortedGroups:
    """Who is compared and who is not, from sizes alone."""

    cells: Cells
    atoms: Atoms
    tested: list[tuple[Group, Bools]]
    untested: list[Untested]
    absent: int


def sort_groups(
    who: str,
    audit: Audit,
    metric: Metric,
    cells: Cells,
    groups: Sequence[Group],
    target: Target | Estimate,
    minimum: int,
) -> SortedGroups:
    """The finest groups of one metric, and which of `groups` are large enough to be compared with the target."""
    masked = [(group, cells.mask(group)) for group in groups]
    present = [(group, mask) for group, mask in masked if mask.any()]
    atoms = find_atoms(who, audit, cells, metric)
    tested, untested = _sort_out(present, cells, atoms, target, minimum)
    return SortedGroups(cells, atoms, tested, untested, len(masked) - len(present))


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
    member = np.array([mask for _, mask in found.tested])
    comparison = _comparison(who, member, cells, target, atoms)
    gaps, notes = _gaps(who, audit, metric, cells, atoms, comparison, target, inference)
    return Disparities(
        who, metric, by, minimum, inference, target, [group for group, _ in found.tested], found.untested,
        found.absent, cells, atoms, comparison, gaps, notes, harmed_side(metric, audit.favourable),
    )  # fmt: skip


def _target_cells(
    who: str, audit: Audit, metric: Metric, attributes: tuple[str, ...], target: Target | Estimate
) -> Cells:
    """The cells of the attributes asked for and of the reference's own."""
    group = target.group if isinstance(target, Target) else None
    own = group.attributes if group is not None else ()
    cells = audit.cells(tuple(dict.fromkeys([*attributes, *own])), [metric], who=who)
    if isinstance(target, Target):
        check_target(who, audit, target)
    if group is not None and cells.count[metric.name][cells.mask(group)].sum() == 0:
        required = f"{group.label}: nobody there meets the metric's condition"
        raise InputError(who, Fault("target", required))
    return cells


def _sort_out(
    present: Sequence[tuple[Group, Bools]],
    cells: Cells,
    atoms: Atoms,
    target: Target | Estimate,
    minimum: int,
) -> tuple[list[tuple[Group, Bools]], list[Untested]]:
    """Tested groups and the others; size alone decides, never the outcome."""
    tested: list[tuple[Group, Bools]] = []
    untested: list[Untested] = []
    for group, mask in present:
        n = int(atoms.count[mask].sum())
        state = _is_target(mask, n, cells, atoms, target) or _too_small(n, minimum)
        state = state or _small_target(mask, cells, atoms, target, minimum)
        if state is None:
            tested.append((group, mask))
        else:
            untested.append(Untested(group, n, state))
    return tested, untested


def opposite(member: Bools, cells: Cells, target: Target) -> Bools:
    """The cells that a group (or each row of groups) is compared with; none where the target is a number."""
    if target.kind == "number":
        return np.zeros_like(member)
    if target.kind == "rest":
        return ~member
    if target.group is None:
        return np.ones_like(member)
    return np.broadcast_to(cells.mask(target.group), member.shape).copy()


def _small_target(
    mask: Bools, cells: Cells, atoms: Atoms, target: Target | Estimate, minimum: int
) -> State | None:
    """Why a group has too few people opposite it: a gap is known no better than its smaller side.

    What group and target share tells nothing of their gap, so each must also have enough people that the other lacks,
    unless it lies within the other.
    """
    if isinstance(target, Estimate) or target.kind == "number":
        return None
    reference = opposite(mask, cells, target)
    everyone, others, own = (
        int(atoms.count[part].sum()) for part in (reference, reference & ~mask, mask & ~reference)
    )
    if everyone == 0:
        return State(NO_TARGET.code, "nobody in the target meets the metric's condition")
    if everyone < minimum or 0 < others < minimum:
        return State(FEW_IN_TARGET.code, f"fewer than {minimum} to compare with")
    if 0 < own < minimum:
        return State(FEW_IN_TARGET.code, f"fewer than {minimum} who are not in the target")
    return None


def _is_target(mask: Bools, n: int, cells: Cells, atoms: Atoms, target: Target | Estimate) -> State | None:
    """Why a group has nobody to be compared with; None where it has."""
    if isinstance(target, Estimate):
        return None
    there = atoms.count > 0
    if target.group is None:
        if n and target.kind in ("overall", "rest") and mask[there].all():
            return State(EVERYONE.code, "it is everyone: there is nobody to compare with")
        return None
    reference = cells.mask(target.group)
    if np.array_equal(mask, reference):
        return State(REFERENCE.code, "it is the reference")
    if n and np.array_equal(mask[there], reference[there]):
        return State(REFERENCE.code, "its members are those of the reference")
    return None


def _too_small(n: int, minimum: int) -> State | None:
    if n == 0:
        return State(NOBODY.code, "nobody meets the metric's condition")
    return State(TOO_FEW.code, f"fewer than {minimum} members") if n < minimum else None


def _comparison(who: str, member: Bools, cells: Cells, target: Target | Estimate, atoms: Atoms) -> Comparison:
    nothing = np.zeros_like(member)
    if isinstance(target, Estimate):
        return Comparison(member, nothing, None)
    if target.kind == "number":
        assert target.value is not None
        if atoms.binary and not 0.0 < target.value < 1.0:
            raise InputError(who, Fault("target", "of a rate must lie between 0 and 1", got=target.value))
        return Comparison(member, nothing, np.full(member.shape[0], target.value))
    return Comparison(member, opposite(member, cells, target))


def _gaps(
    who: str,
    audit: Audit,
    metric: Metric,
    cells: Cells,
    atoms: Atoms,
    comparison: Comparison,
    target: Target | Estimate,
    inference: Inference,
) -> tuple[Gaps, list[Note]]:
    notes: list[Note] = []
    if isinstance(target, Estimate):
        codes, values, influence = _estimate_rows(who, audit, metric, cells, target)
        notes.append(
            Note(
                "own-estimate",
                "The target is an estimate of your own: orthogonal scores carry its influence values.",
            )
        )
        own = estimate_gaps(atoms, comparison, codes, values, target.value, influence)
        taken = replace(comparison, known=np.full(own.estimate.shape, target.value))
        return (own if atoms.binary else bounded(own, atoms, taken)), notes
    if not atoms.binary and atoms.values is None and inference.likelihood == "empirical":
        text = (
            f"More than {MOST_ROWS:,} rows: means are compared by their sums (n, mean, second and third central sums, "
            "smallest and largest value), not by their rows. For skewed values that is the more careful way."
        )
        notes.append(Note("from-moments", text))
        warnings.warn(text, FairtrialWarning, stacklevel=4)
    if inference.refinement is not None and (comparison.known is None or atoms.binary):
        required = "is for a real-valued metric against a known number; leave it out here"
        raise InputError(who, Fault("refinement", required))
    gaps = make_gaps(
        atoms,
        comparison,
        likelihood=inference.likelihood,  # type: ignore[arg-type]
        target_method=inference.target_method,  # type: ignore[arg-type]
        rate_method=inference.rate_interval,  # type: ignore[arg-type]
        refinement=inference.refinement,  # type: ignore[arg-type]
    )
    return gaps, notes


def find_atoms(who: str, audit: Audit, cells: Cells, metric: Metric) -> Atoms:
    """What the gaps are made of, cell by cell: counts, or every row's value."""
    count = cells.count[metric.name].astype(np.float64)
    total, m2 = cells.total[metric.name], cells.m2[metric.name]
    mean = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
    binary = cells.binary[metric.name]
    if binary:
        return Atoms(count, mean, count * mean * (1.0 - mean), True)
    if cells.rows.sum() > MOST_ROWS:
        name = metric.name
        return Atoms(count, mean, m2, False, None, cells.m3[name], cells.low[name], cells.high[name])
    rows = audit.rows(attributes=cells.attributes, metrics=[metric], complete=False, who=who)
    codes = _atom_of_rows(cells, rows)
    given = rows.given[metric.name]
    order = np.argsort(codes[given], kind="stable")
    values = rows.values[metric.name][given][order]
    pieces = np.split(values, np.cumsum(count.astype(np.int64))[:-1])
    # The rows' own moments, so that the likelihood's centre is exactly the estimate.
    return Atoms.of_values(pieces)


def _atom_of_rows(cells: Cells, rows: Rows) -> Any:
    """The cell each row belongs to."""
    key, cell_key = np.zeros(rows.n, dtype=np.int64), np.zeros(len(cells.rows), dtype=np.int64)
    for position, name in enumerate(cells.attributes):
        labels = cells.labels[name]
        coded = rows.attributes[name]
        place = np.array([labels.index(label) for label in coded.labels], dtype=np.int64)
        key = key * len(labels) + place[coded.codes]
        cell_key = cell_key * len(labels) + cells.codes[:, position]
    order = np.argsort(cell_key)
    return order[np.searchsorted(cell_key[order], key)]


def _estimate_rows(
    who: str, audit: Audit, metric: Metric, cells: Cells, target: Estimate
) -> tuple[Any, Floats, Floats]:
    columns = [target.influence] if isinstance(target.influence, str) else []
    rows = audit.rows(attributes=cells.attributes, metrics=[metric], columns=columns, complete=False, who=who)
    influence = rows.columns[columns[0]] if columns else np.array(target.influence, dtype=np.float64)
    if influence.shape != (rows.n,) or not np.isfinite(influence).all():
        required = f"must have one finite value for each of the {rows.n:,} rows, got {influence.size:,}"
        raise InputError(who, Fault("target", required, subject="'influence'"))
    codes = np.where(rows.given[metric.name], _atom_of_rows(cells, rows), -1)
    return codes, rows.values[metric.name], influence
