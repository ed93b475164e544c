"""Gaps of which some outcomes are unknown: what is refused, what stands in the tables, and what is said of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.data.cells import Cells
from fairtrial.data.groups import check_not_continuous
from fairtrial.data.schema import Unlabelled
from fairtrial.data.unknown_outcomes import OutcomeCells, outcome_cells
from fairtrial.errors import Fault, NotApplicable, Note, Set, Words
from fairtrial.inference.compare.end_gaps import EndGaps, RateEnds, label_gaps
from fairtrial.inference.evidence.atoms import Atoms, Bools, Comparison
from fairtrial.inference.evidence.partly_labelled import PartlyLabelled
from fairtrial.inference.numeric.roots import Floats
from fairtrial.methods.gaps.inference_asked import Inference, refuse_ways
from fairtrial.methods.gaps.words import Unit, number_words
from fairtrial.metrics.groups import Target
from fairtrial.metrics.metric import Metric
from fairtrial.metrics.values import Role
from fairtrial.results.column import undefined
from fairtrial.results.text import counted

if TYPE_CHECKING:
    from fairtrial.methods.gaps.sorted_groups import Estimate

DEPENDS = "depends on the people whose outcome is unknown"


def find_unknown(
    who: str, audit: Audit, metric: Metric, attributes: tuple[str, ...], target: Target | Estimate
) -> OutcomeCells | None:
    """Who lacks an outcome that the metric needs; None where nobody does or nothing is said of such people."""
    if audit.unlabelled is None or "outcome" not in metric.needs:
        return None
    _refuse_metric(who, audit, metric)
    for name in audit.unlabelled.alike:
        check_not_continuous(who, audit, name, "unlabelled")
    found = outcome_cells(who, audit, attributes, metric, audit.unlabelled.alike)
    if not found.matters:
        return None
    faults = [*_target_faults(target)]
    faults += [
        Fault(name, "is not for audits that reckon with people without an outcome yet", cure="Leave it out")
        for name in ("weight", "unit", "pair")
        if audit.has(name)
    ]
    if faults:
        raise NotApplicable(who, faults)
    return found


def _refuse_metric(who: str, audit: Audit, metric: Metric) -> None:
    """Bounds are of rates whose every part is known but the outcome."""
    why = ""
    if audit.outcome_is_real:
        why = f"needs an outcome of 0 and 1 where some are unknown, but {audit.subject('outcome')} is real-valued"
    elif not isinstance(metric.value, Role) or not (metric.value.binary or metric.value.name == "outcome"):
        why = "averages real values; what unknown outcomes may change is reckoned for rates"
    elif metric.expression is not None:
        why = "has a condition of your own, which may read outcomes that are unknown"
    if why:
        cure = Words("Leave {} out", Set("unlabelled", of="Audit"))
        raise NotApplicable(who, Fault("metric", why, subject=repr(metric.name), cure=cure))


def _target_faults(target: Target | Estimate) -> list[Fault]:
    cure = Words("use {}, a reference group or a number", Set("target", "rest"))
    if not isinstance(target, Target):
        return [Fault("target", "of your own estimate is not for unknown outcomes", cure=cure)]
    if target.kind != "overall":
        return []
    required = (
        "'overall' contains the group itself: where outcomes are unknown, the largest gap to it need not lie where the "
        "group's rate is largest"
    )
    return [Fault("target", required, cure=cure)]


def refuse_inference(who: str, inference: Inference) -> None:
    """Ways of inference that know no ends, by name."""
    faults = refuse_ways(inference, "unknown outcomes: both ends have the ordinary law of rates")
    if inference.within:
        faults.append(Fault("within", "is not for unknown outcomes yet", cure="Leave it out"))
    if faults:
        raise NotApplicable(who, faults)


@dataclass(frozen=True, slots=True, eq=False)
class OutcomeBounds:
    """The labels behind the gaps, their rates at both ends, and whom each gap leaves open."""

    assumed: Unlabelled
    labels: PartlyLabelled
    decision: Floats
    comparison: Comparison
    rates: RateEnds
    kinds: Cells  # who is behind it, for the fingerprint

    @property
    def open(self) -> Floats:
        """People of each group whose unknown outcome matters."""
        return np.asarray(self.comparison.member.astype(np.float64)[:, self.labels.atom] @ self.labels.open)

    @property
    def least(self) -> tuple[Floats, Floats]:
        """The smallest rate of every group and of its target."""
        return self.rates.group[0].rate, self.rates.reference[0].rate

    @property
    def most(self) -> tuple[Floats, Floats]:
        return self.rates.group[1].rate, self.rates.reference[1].rate


def labels_of(found: OutcomeCells, assumed: Unlabelled) -> PartlyLabelled:
    """What inference works on."""
    return PartlyLabelled(
        found.atom, found.ones, found.zeros, found.unknown, found.value1, found.given1, found.value0, found.given0,
        assumed.odds,
    )  # fmt: skip


def bound_gaps(
    who: str,
    found: OutcomeCells,
    assumed: Unlabelled,
    comparison: Comparison,
    atoms: Atoms,
    inference: Inference,
) -> tuple[EndGaps, OutcomeBounds]:
    """The gaps at both ends, and what is behind them."""
    refuse_inference(who, inference)
    if (comparison.member & comparison.reference)[:, atoms.count > 0].any():
        required = "needs a reference that shares nobody with the groups compared: some outcomes are unknown"
        raise NotApplicable(who, Fault("target", required))
    labels = labels_of(found, assumed)
    bounds = OutcomeBounds(
        assumed, labels, found.decision, comparison, RateEnds(labels, comparison), found.kinds
    )
    return label_gaps(labels, comparison, inference.scale), bounds


def own_rates(found: OutcomeCells, assumed: Unlabelled, member: Bools) -> tuple[EndGaps, RateEnds]:
    """Each group's own rate: its gap to a known zero."""
    labels = labels_of(found, assumed)
    zero = Comparison(member, np.zeros_like(member), np.zeros(member.shape[0]))
    return label_gaps(labels, zero), RateEnds(labels, zero)


def bounds_note(bounds: OutcomeBounds) -> Note:
    """What the numbers assume, and how they are to be read."""
    text = (
        "Some outcomes are unknown. Gaps are between the least and the largest one that is possible "
        f"{bounds.assumed.words}; intervals cover every gap between the two (Imbens–Manski), and a finding or a "
        "certificate holds for all of them."
    )
    if bounds.assumed.assumed:
        text += " The data cannot show whether that is so, unless those labelled were drawn at random."
        labels = bounds.labels
        alone = int(labels.open[(labels.ones + labels.zeros) == 0].sum())
        if alone:
            text += (
                f" Of {counted(alone, 'person', 'people')} without anybody labelled alike nothing is assumed."
            )
    return Note("unknown-outcomes", text)


# -- cells of the tables ------------------------------------------------------------------------------------------
def range_cells(bounds: OutcomeBounds, gaps: EndGaps, differences: EndGaps, index: int) -> dict[str, Any]:
    """A row's cells where outcomes are unknown: no estimate, but what it lies between."""
    why = gaps.reason[index]
    unknown = undefined(why or DEPENDS)
    cells: dict[str, Any] = {
        "unknown": int(bounds.open[index]),
        "rate": unknown,
        "rate_least": float(bounds.least[0][index]),
        "rate_most": float(bounds.most[0][index]),
        "difference": unknown,
        "difference_least": float(differences.least.estimate[index]),
        "difference_most": float(differences.most.estimate[index]),
    }
    if bounds.comparison.known is None:
        cells["target_rate"] = undefined(why or DEPENDS)
    if gaps.scale == "ratio":
        cells["ratio"] = unknown
        cells["ratio_least"] = finite(gaps.least.estimate[index])
        cells["ratio_most"] = finite(gaps.most.estimate[index])
    return cells


def finite(value: float) -> Any:
    return float(value) if np.isfinite(value) else undefined("no limit")


# -- words --------------------------------------------------------------------------------------------------------
def range_words(least: float, most: float, target: str, unit: Unit) -> str:
    """Where a rate lies at both ends: '3.1 to 12.0 points below B', '2.0 points below to 1.0 points above B'."""
    if unit == "ratio":
        return f"{number_words(least, unit)} to {number_words(most, unit)} times that of {target}"
    if least >= 0 or most <= 0:
        near, far = sorted((abs(least), abs(most)))
        side = "above" if least >= 0 else "below"
        return f"{number_words(near, unit)} to {number_words(far, unit)} points {side} {target}"
    return f"{number_words(-least, unit)} points below to {number_words(most, unit)} points above {target}"


def range_sentence(
    label: str, group: str, target: str, ends: tuple[float, float], limits: tuple[float, float], level: float,
    unit: Unit, effect: str, assumption: str,
) -> str:  # fmt: skip
    """'true positive rate of F is 3.1 to 12.0 points below M, whatever the unknown outcomes are; 95% limits …'."""
    told = f" ({effect})" if effect else ""
    place = range_words(*ends, target, unit)
    outer = range_words(*limits, target, unit) if np.isfinite(limits).all() else "none"
    return f"{label} of {group} is {place}{told}, {assumption}; {100 * level:g}% limits of that: {outer}"


def open_because(least: float, most: float, band: tuple[float, float]) -> str:
    """Why a gap between these ends is undetermined: unknown outcomes decide, or the sample is too small."""
    inside = band[0] <= least and most <= band[1]
    outside = least > band[1] or most < band[0]
    return "" if inside or outside else DEPENDS
