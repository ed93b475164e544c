"""From a request to every group's gap in each metric, at each cut of an ordered decision."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Cells, atom_of_rows
from fairtrial._audit.groups import by_attributes, check_target_columns, compared_groups
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.request import Request, within_columns
from fairtrial._compare.sorted_groups import (
    OwnEstimate,
    SortedGroups,
    find_any_target,
    opposite,
    sort_groups,
    target_cells,
    with_target,
)
from fairtrial._compare.tolerance import Band, check_band, refuse_ratio_of_means
from fairtrial._errors import FairtrialWarning, Fault, InputError, Named, NotApplicable, Note, Words
from fairtrial._inference.evidence.atoms import Atoms, Comparison
from fairtrial._inference.evidence.members import Members
from fairtrial._inference.laws.gaps import Gaps
from fairtrial._inference.numeric.roots import Floats
from fairtrial._method.selective_labels import refuse_selective
from fairtrial._metrics.groups import Target
from fairtrial._metrics.values import Metric
from fairtrial._work import announce

if TYPE_CHECKING:  # of evidence that few audits have, loaded where one has it
    from fairtrial._audit.unknown_outcomes import OutcomeCells
    from fairtrial._compare.between_ends import Bounds
    from fairtrial._compare.people import WeightedRows
    from fairtrial._compare.probable_groups import ProbableCells
    from fairtrial._compare.strata import Within

RATIO_OF_MEANS = (
    "Ratios of means are inferred from sums (n, mean, second and third central sums, smallest and largest value), "
    "which for skewed values is the more careful way; a ratio of one has the p-value of no difference."
)


# What flag takes of one core for each gap of means by its rows; certify, whose limits are at several levels, more.
SECONDS_PER_GAP = 0.02
SECONDS_PER_ROW = 4.5e-7
LONG = 300.0


def compare(
    request: Request, metrics: Sequence[Metric], tolerated: Callable[[Metric], tuple[Band | None, str]]
) -> list[Disparities]:
    """The gaps in every metric, at every cut; `tolerated` gives a metric's tolerance and the direction that counts."""
    if request.audit.order is not None and len(metrics) > 1:
        required = "joins several metrics, which is not judged of a decision with an order"
        raise NotApplicable(request.who, Fault("metric", required, cure="Ask for each metric"))
    found = []
    for metric in map(request.audit.roles.in_words, metrics):
        band, direction = tolerated(metric)
        for name, cut, at_cut in cuts_of(metric, request.audit):
            one = find_disparities(replace(request, audit=cut), at_cut)
            check_band(request.who, band, one)
            found.append(replace(one, cut=name, band=band, direction=direction))
    return found


def find_disparities(request: Request, metric: Metric) -> Disparities:
    """Check, query, and compare: every group that `by` asks for against the target."""
    who, audit = request.who, request.audit
    compared = find_any_target(who, request.target)
    check_target_columns(who, audit, compared)
    refuse_selective(who, audit, [metric])
    attributes = by_attributes(who, audit, request.by)
    within = within_columns(who, audit, request.within, attributes, request.by_model)
    request = replace(request, within=within)
    asked_for = with_target((*attributes, *request.strata), compared)
    unknown, probable = known_in_part(
        who, audit, metric, compared, counted=asked_for, attributes=with_target(attributes, compared)
    )
    other = unknown or probable
    cells = target_cells(who, audit, metric, asked_for, compared, None if other is None else other.cells)
    compared = _worked_out(who, audit, metric, cells, compared)
    named_target = compared if isinstance(compared, Target) else None
    groups, named = compared_groups(who, audit, request.by, request.depth, named_target)
    compared = named or compared
    found = sort_groups(who, audit, metric, cells, groups, compared, request.minimum, unknown, probable)
    if not found.tested:
        reasons = "; ".join(f"{item.group.label}: {item.state.reason}" for item in found.untested[:5])
        cure = Words("name other groups, or lower {} where that is the reason", Named("minimum"))
        raise InputError(who, Fault("", f"there is no group to test ({reasons})", cure=cure))
    return compare_sorted(request, metric, found, compared)


def known_in_part(
    who: str,
    audit: Audit,
    metric: Metric,
    target: Target | OwnEstimate,
    *,
    counted: tuple[str, ...],
    attributes: tuple[str, ...],
) -> tuple[OutcomeCells | None, ProbableCells | None]:
    """The people whose outcome is unknown, and the groups that are known with a probability, where there are any."""
    unknown, probable = None, None
    if audit.unlabelled is not None:
        from fairtrial._compare.unknown_outcomes import find_unknown

        unknown = find_unknown(who, audit, metric, counted, target)
    if any(name in audit.probable for name in attributes):
        from fairtrial._compare.probable_groups import find_probable

        probable = find_probable(who, audit, metric, attributes, target)
    return unknown, probable


def compare_sorted(
    request: Request, metric: Metric, found: SortedGroups, target: Target | OwnEstimate
) -> Disparities:
    """The gaps of the groups that are tested."""
    who, audit, atoms = request.who, request.audit, found.atoms
    comparison = _comparison(who, found.member, found.cells, target, atoms)
    beside = None
    if request.scale == "ratio":
        if not atoms.binary:
            refuse_ratio_of_means(who, getattr(target, "kind", "estimate"))
        beside = compare_sorted(replace(request, scale="difference"), metric, found, target).gaps
    if request.within:
        from fairtrial._compare.strata import refuse_within

        refuse_within(who, audit, metric, request.within, target, request.by_model)
    gaps, notes, bounds = _inferred(request, metric, found, comparison, target, beside)
    within = _adjusted(request, metric, found, comparison, gaps)
    return Disparities(
        request=request, metric=metric, people=found, target=target, comparison=comparison,
        gaps=gaps if within is None else within.gaps, notes=notes, beside=beside, within=within, bounds=bounds,
    )  # fmt: skip


def _inferred(
    request: Request,
    metric: Metric,
    found: SortedGroups,
    comparison: Comparison,
    target: Target | OwnEstimate,
    beside: Gaps | None,
) -> tuple[Gaps, list[Note], Bounds | None]:
    """The gaps by the evidence there is, and what is behind those of which only the ends are known."""
    if found.unknown is not None:
        from fairtrial._compare.unknown_outcomes import bound_gaps, bounds_note

        gaps, behind = bound_gaps(request, found.unknown, comparison, found.atoms)
        return gaps, [bounds_note(behind)], behind
    if found.probable is not None:
        from fairtrial._compare.probable_groups import probable_bounds

        gaps, bounds, notes = probable_bounds(request, found.probable, comparison)
        return gaps, notes, bounds
    if found.paired is not None:
        return *found.paired.gaps(request, comparison), None
    if found.weighted is not None:
        return *_weighted_gaps(request, found.weighted, comparison, target), None
    if beside is not None and not found.atoms.binary:
        from fairtrial._inference.laws.sums_gaps import mean_ratios

        return mean_ratios(found.atoms, comparison, beside), [Note("ratio-of-means", RATIO_OF_MEANS)], None
    return *_plain_gaps(request, metric, found.cells, found.atoms, comparison, target), None


def _adjusted(
    request: Request, metric: Metric, found: SortedGroups, comparison: Comparison, gaps: Gaps
) -> Within | None:
    """The gaps among people alike in what `within` names."""
    if not (request.within or request.by_model):
        return None
    from fairtrial._compare.strata import adjust, adjust_by_model

    if request.by_model:
        return adjust_by_model(request, metric, found.cells, comparison, gaps)
    return adjust(request, found.cells, found.atoms, comparison, gaps, found.weighted)


def _comparison(
    who: str, member: Members, cells: Cells, target: Target | OwnEstimate, atoms: Atoms
) -> Comparison:
    nothing = member.nobody()
    if isinstance(target, OwnEstimate):
        return Comparison(member, nothing, None)
    if target.kind == "number":
        assert target.value is not None
        if atoms.binary and not 0.0 < target.value < 1.0:
            raise InputError(who, Fault("target", "of a rate must lie between 0 and 1", got=target.value))
        return Comparison(member, nothing, np.full(member.shape[0], target.value))
    return Comparison(member, opposite(member, cells, target))


def _weighted_gaps(
    request: Request, weighted: WeightedRows, comparison: Comparison, target: Target | OwnEstimate
) -> tuple[Gaps, list[Note]]:
    """Gaps of weighted rows and of persons with several rows; other ways of inference are refused by name."""
    faults = request.refuse_interval("weighted rows or persons with several rows")
    if isinstance(target, OwnEstimate):
        required = "of your own estimate is not for weighted rows or repeated persons"
        faults.append(Fault("target", required, cure="name a group or a number"))
    if faults:
        raise NotApplicable(request.who, faults)
    text = (
        "Weights and repeated rows: inference at the number of people that the gap's own variance is worth."
    )
    return weighted.gaps(comparison, request.scale), [Note("effective-counts", text)]


def _plain_gaps(
    request: Request,
    metric: Metric,
    cells: Cells,
    atoms: Atoms,
    comparison: Comparison,
    target: Target | OwnEstimate,
) -> tuple[Gaps, list[Note]]:
    """Gaps of rows that count once each."""
    notes: list[Note] = []
    audit = request.audit
    if isinstance(target, OwnEstimate):
        from fairtrial._inference.laws.bounded_means import bounded
        from fairtrial._inference.means.known_targets import estimate_gaps

        codes, values, influence = _estimate_rows(request.who, audit, metric, cells, target)
        text = "The target is an estimate of your own: orthogonal scores carry its influence values."
        own = estimate_gaps(atoms, comparison, codes, values, target.value, influence)
        taken = replace(comparison, known=np.full(own.estimate.shape, target.value))
        return (own if atoms.binary else bounded(own, atoms, taken)), [Note("own-estimate", text)]
    if not atoms.binary and atoms.values is None:
        text = (
            f"{audit.why_sums}: means are compared by their sums (n, mean, second and third central sums, "
            "smallest and largest value), not by their rows. For skewed values that is the more careful way."
        )
        notes.append(Note("from-moments", text))
        warnings.warn(text, FairtrialWarning, stacklevel=4)
    if atoms.values is not None and comparison.known is None:
        _tell_long_work(len(comparison.member), int(atoms.count.sum()))
    return request.procedure.gaps(request, atoms, comparison), notes


def _tell_long_work(groups: int, rows: int) -> None:
    """Real values of very many groups, by their rows: about how long at least, before it begins."""
    seconds = groups * (SECONDS_PER_GAP + SECONDS_PER_ROW * rows)
    if seconds < LONG:
        return
    text = (
        f"means of {groups:,} groups are compared by drawing from {rows:,} rows for each: at least about "
        f"{_duration(seconds)}. Fewer attributes, a smaller depth or a larger minimum take less."
    )
    if not announce(text):
        warnings.warn(text, FairtrialWarning, stacklevel=5)


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def _estimate_rows(
    who: str, audit: Audit, metric: Metric, cells: Cells, target: OwnEstimate
) -> tuple[Any, Floats, Floats]:
    columns = [target.influence] if isinstance(target.influence, str) else []
    rows = audit.rows(attributes=cells.attributes, metrics=[metric], columns=columns, complete=False, who=who)
    influence = rows.columns[columns[0]] if columns else np.array(target.influence, dtype=np.float64)
    if influence.shape != (rows.n,) or not np.isfinite(influence).all():
        required = f"must have one finite value for each of the {rows.n:,} rows, got {influence.size:,}"
        raise InputError(who, Fault("target", required, subject="'influence'"))
    codes = np.where(rows.given[metric.name], atom_of_rows(cells, rows), -1)
    return codes, rows.values[metric.name], influence


def _worked_out(
    who: str, audit: Audit, metric: Metric, cells: Cells, target: Target | OwnEstimate
) -> Target | OwnEstimate:
    """A target that is a function of the rows, as its number and influence values.

    The function gets the metric's `value` of each row, whether the row meets the metric's condition (`given`), and the
    columns it asked for, and returns the estimate and one influence value per row.
    """
    if not isinstance(target, OwnEstimate) or target.function is None:
        return target
    for name in target.columns:
        audit.check_column(who, "target", name)
    rows = audit.rows(
        attributes=cells.attributes, metrics=[metric], columns=target.columns, complete=False, who=who
    )
    given = rows.given[metric.name]
    asked = {"value": np.where(given, rows.values[metric.name], np.nan), "given": given}
    found = target.function(asked | {name: rows.columns[name] for name in target.columns})
    try:
        value, influence = found
        listed = tuple(float(one) for one in influence)
        return OwnEstimate(float(value), listed)
    except (TypeError, ValueError):
        required = "as a function must return the estimate and one influence value for each row"
        raise InputError(who, Fault("target", required, subject="'estimate'")) from None


# -- Ordered decisions: every cut between two labels is a decision of its own, and all of them are judged at once.
def at_cut(metric: Metric, cut: str) -> Metric:
    """The metric of the decision "this label or above"."""
    return replace(metric, name=f"{metric.name} [{cut}]", label=f"{metric.label} ({cut})")


def cuts_of(metric: Metric, audit: Audit) -> list[tuple[str, Audit, Metric]]:
    """The cuts at which a metric is looked at, each with its audit; one without a name where there is no order."""
    if audit.order is None or "decision" not in metric.needs:
        return [("", audit, metric)]
    return [(name, cut, at_cut(metric, name)) for name, cut in audit.cuts()]


def cut_notes(audit: Audit) -> list[Note]:
    """How an ordered decision was looked at."""
    if audit.order is None:
        return []
    text = (
        f"The decision has the order {' < '.join(audit.order)}: every cut is a decision of its own. Adjusted p-values "
        "and findings hold over all cuts and groups at once; a certificate needs every cut."
    )
    return [Note("ordered-decision", text)]


def across_cuts(cuts: Sequence[Disparities], where: str = "") -> Disparities:
    """The first cut's gaps, called by what is asked of all of them: 'selection rate at any cut'."""
    first = cuts[0]
    if not first.cut:
        return first
    label = first.metric.label.removesuffix(f" ({first.cut})") + where
    return replace(first, metric=replace(first.metric, label=label))


def named_parts(parts: Sequence[Disparities], criterion: str) -> dict[str, Any]:
    """Which metric of the table is which cut or rate, and what it is called; nothing where there is one."""
    labels = {part.metric.name: part.metric.label for part in parts}
    if criterion:
        return {"criterion": criterion, "labels": labels}
    return {"cuts": {part.metric.name: part.cut for part in parts}, "labels": labels} if parts[0].cut else {}


def part_cells(part: Disparities, criterion: str) -> dict[str, Any]:
    """What says of a row which cut or which rate of a criterion it is."""
    return {"metric_label": part.metric.label} if criterion else {"cut": part.cut} if part.cut else {}


def provenance_of(
    audit: Audit,
    parts: Sequence[Disparities],
    criterion: str,
    seed: int | None,
    arguments: Callable[[Disparities], dict[str, Any]],
) -> dict[str, Any]:
    """Of the first part; of a criterion with the fingerprint of all."""
    found = [
        audit.provenance(part.source, **({} if seed is None else {"seed": seed}), arguments=arguments(part))
        for part in (parts if criterion else parts[:1])
    ]
    if not criterion:
        return found[0]
    digests = "".join(str(one["data"]) for one in found)
    digest = hashlib.sha256(digests.encode()).hexdigest()[:16]
    return {**found[0], "data": digest, "arguments": {**found[0]["arguments"], "metric": criterion}}
