"""Whose outcome is known: selective labels refuse what they cannot answer, and what was left out is counted.

Where a loan was refused, nobody sees whether it would have been repaid. A metric that conditions on the outcome, or
averages it over both decisions, is then one of other people than those audited: by a labelling ratio r the odds of a
false positive rate are multiplied by r.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import LeftOut
from fairtrial._errors import Fault, NotApplicable, Note, Set, Words
from fairtrial._metrics.values import Metric, role

MUCH = 0.01  # a larger share of rows left out is told beside the verdict
FEW = 10  # fewer rows are not counted in public


@dataclass(frozen=True, slots=True)
class SelectiveLabels:
    """Outcomes that are known for one decision more often than for the other: shares by decision, 0 and 1."""

    known: tuple[float, float]

    @property
    def words(self) -> str:
        zero, one = (f"{100 * share:.3g}%" for share in self.known)
        return f"the outcome is known for {one} of the people decided 1 and {zero} of those decided 0"


def selective_labels(audit: Audit) -> SelectiveLabels | None:
    """What the audit's labels depend on; None where nothing speaks for selective labels."""
    counts = audit.labelled()
    if not counts or all(known == people for known, people in counts):
        return None
    import numpy as np

    from fairtrial._inference.rates.two_rates import SELECTIVE, labelling_p

    (known0, people0), (known1, people1) = counts
    p = labelling_p(*(np.array([float(count)]) for count in (known1, people1, known0, people0)))
    if float(p[0]) > SELECTIVE:
        return None
    return SelectiveLabels((known0 / people0, known1 / people1))


def spans_decisions(metric: Metric) -> bool:
    """Whether it needs the outcome of people with either decision."""
    return "outcome" in metric.needs and len(metric.conditions.get(role.decision, ())) != 1


def refuse_selective(who: str, audit: Audit, metrics: Sequence[Metric], argument: str = "metric") -> None:
    """Refuse metrics that the labelled rows alone cannot answer; the others stay possible."""
    asked = [metric for metric in metrics if spans_decisions(metric)]
    found = selective_labels(audit) if asked and audit.unlabelled is None else None
    if found is None:
        return
    faults = [
        Fault(argument, f"needs the outcome of people with either decision, but {found.words}",
              subject=repr(metric.name), cure=_cure(who))
        for metric in asked
    ]  # fmt: skip
    raise NotApplicable(who, faults)


CURE = (
    "Among the labelled alone it would be a number about other people. What can be said: selection_rate, and ppv and "
    "fdr of those with a known outcome"
)
BOUNDED = ("measure", "certify", "flag")  # methods that can reckon with unknown outcomes


def _cure(who: str) -> str | Words:
    if who not in BOUNDED:
        return CURE
    return Words(f"{CURE}; or what holds whatever the others would have done, with {{}}",
                 Set("unlabelled", "bounds", of="Audit"))  # fmt: skip


def refuse_selective_rows(who: str, audit: Audit) -> None:
    """Refuse a method that leaves out every row without an outcome, whatever it is asked."""
    found = selective_labels(audit)
    if found is not None:
        required = f"leaves out everybody without an outcome, but {found.words}: the others are not the people audited"
        cure = Words("Leave {} out where the metric does not need it", Set("outcome", of="Audit"))
        raise NotApplicable(who, Fault("outcome", required, subject=who, cure=cure))


def left_out_details(metrics: Iterable[Metric], left_out: Mapping[str, LeftOut]) -> list[dict[str, Any]]:
    """Per metric, what was left out, as results record it."""
    return [
        {"metric": metric.name, "label": metric.label, **_counts(found), "much": found.share > MUCH,
         "text": left_out_text(metric, found)}
        for metric in metrics
        if (found := left_out[metric.name]).total
    ]  # fmt: skip


def _counts(found: LeftOut) -> dict[str, int | None]:
    """What may be published: of few rows nothing, not even the sum that would tell them."""
    few = 0 < found.ungrouped < FEW or 0 < found.lacking < FEW
    if few:
        return {"rows": None, "ungrouped": None, "lacking": None}
    return {"rows": found.rows, "ungrouped": found.ungrouped, "lacking": found.lacking}


def left_out_text(metric: Metric, found: LeftOut) -> str:
    """'false positive rate: 400 of 1,000 rows (40.0%) left out, 400 without the outcome'."""
    parts = []
    if found.ungrouped:
        parts.append(f"{_count(found.ungrouped)} without {' or '.join(found.labels)}")
    if found.lacking:
        parts.append(f"{_count(found.lacking)} without {' or '.join(found.needed)}")
    total = f"{_count(found.total)} rows"
    if found.total >= FEW:
        total = f"{found.total:,} of {found.rows:,} rows ({100 * found.share:.1f}%)"
    return f"{metric.label}: {total} left out, {' and '.join(parts)}"


def _count(rows: int) -> str:
    return f"{rows:,}" if rows >= FEW else f"fewer than {FEW}"


def left_out_notes(details: Sequence[Mapping[str, Any]]) -> list[Note]:
    """What was left out, for the notes."""
    return [Note("left-out", f"{entry['text'][:1].upper()}{entry['text'][1:]}.") for entry in details]
