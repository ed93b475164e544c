"""Which rates a criterion compares, and whether moving people across the boundary can make them equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Cells, Coded, Rows, digest_of
from fairtrial._audit.role_expressions import count_scores
from fairtrial._errors import Fault, InputError, NotApplicable, Set, Use, Words, did_you_mean
from fairtrial._metrics.table import CRITERIA, METRICS, find_metric
from fairtrial._metrics.values import ROLES, Metric, Role

WHO = "transport"
# a move across the decision boundary flips these; anything else is not a rate of decisions
EVENTS = ("decision", "not_decision", "correct", "error")


@dataclass(frozen=True, slots=True)
class Criterion:
    """The metrics that are to be equal, all of them rates of one event."""

    name: str
    metrics: list[Metric]
    event: str

    @property
    def roles(self) -> list[str]:
        """The roles that the event is made of."""
        return ["decision", *(["outcome"] if self.event in ("correct", "error") else [])]

    def happened(self, rows: Rows, decision: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """T of each row."""
        return np.asarray(ROLES[self.event].of({**rows.roles, "decision": decision}), dtype=np.uint8)


def find_criterion(asked: object, argument: str = "metric") -> Criterion:
    """The name, the metrics and the event of what is to be equal, refused with a pointer where it cannot be taken."""
    name, metrics = _name_and_metrics(asked, argument)
    if not metrics:
        raise InputError(WHO, Fault(argument, "is empty", cure="name a criterion or at least one metric"))
    for metric in metrics:
        check_movable(name, metric, argument)
    events = {metric.value.name for metric in metrics if isinstance(metric.value, Role)}
    if len(events) > 1:
        required = f"joins rates of different events ({', '.join(sorted(events))}); ask for each alone"
        raise NotApplicable(WHO, Fault(argument, required))
    return Criterion(name, metrics, events.pop())


def _name_and_metrics(asked: object, argument: str) -> tuple[str, list[Metric]]:
    if isinstance(asked, str) and asked in CRITERIA:
        return asked, [METRICS[part] for part in CRITERIA[asked]]
    if isinstance(asked, str) and asked not in METRICS:
        required = f"must be one of {sorted(CRITERIA)} or a metric among {_fitting()}"
        hint = did_you_mean(asked, sorted([*CRITERIA, *METRICS]))
        raise InputError(WHO, Fault(argument, required, got=asked, hint=hint))
    listed = asked if isinstance(asked, list | tuple) else [asked]
    metrics = [find_metric(WHO, part, argument) for part in listed]
    return " and ".join(metric.name for metric in metrics), metrics


def _fitting() -> list[str]:
    """The metrics that are rates of decisions."""
    return sorted(
        name
        for name, metric in METRICS.items()
        if isinstance(metric.value, Role) and metric.value.name in EVENTS
    )


def check_movable(criterion: str, metric: Metric, argument: str) -> None:
    """Refuse what moving people does not change, or changes in who is counted."""
    conditions = {part.name for part in metric.conditions if isinstance(part, Role)}
    if conditions & {"decision", "score", "score_bin"}:
        required = (
            f"{criterion!r} conditions on the decision ({metric.label}): moving people across the boundary changes "
            "who is counted, so the smallest change is not defined"
        )
        raise NotApplicable(WHO, Fault(argument, required, cure=_certify_instead(metric)))
    if not isinstance(metric.value, Role) or metric.value.name not in EVENTS:
        required = (
            f"{criterion!r} is not a rate of decisions ({metric.label}): no move across the decision boundary "
            "changes it"
        )
        cure = _certify_instead(metric, f", or one of {_fitting()}")
        raise NotApplicable(WHO, Fault(argument, required, cure=cure))


def _certify_instead(metric: Metric, more: str = "") -> Words:
    """Certify can judge what no move changes, measure what is compared in every bin of the score.

    A metric of one's own has no name that others know.
    """
    if metric.each is not None:
        return Words(f"Use {{}} with {{}}{more}", Use("measure"), Set("metric", metric.name))
    if metric.name in METRICS:
        return Words(f"Use {{}} with {{}}{more}", Use("certify"), Set("metric", metric.name))
    return Words(f"Use {{}}{more}", Use("certify"))


def check_roles(audit: Audit, metrics: Sequence[Metric], argument: str) -> None:
    """The audit must have the decision and all that the metrics need; all that is missing at once."""
    needed = {"decision", *(need for metric in metrics for need in metric.needs)}
    faults = [
        Fault(
            argument,
            f"needs the {need}",
            subject=f"the {argument}",
            cure=Words("name its column with {}", Set(need, of="Audit")),
        )
        for need in sorted(needed)
        if not audit.has(need)
    ]
    if faults:
        raise InputError(WHO, faults)


# -- Of very many rows, those alike in groups, decision, outcome and score are one line that stands for
# all of them.

BY_SCORE = (None, "score", "log-odds")
LOOKED_AT = 200_000  # rows whose scores are counted first
MOST_SCORES = 20_000  # different ones among these: more are no cells


def score_cells(
    audit: Audit, distance: object, attributes: Sequence[str], metrics: Sequence[Metric], roles: Sequence[str]
) -> tuple[Rows, NDArray[np.int64]] | None:
    """One line per distinct row, and how many rows it stands for; None where the rows themselves are read.

    That is where they are few, where a person has several, where the distance is not the score's, and where nearly
    every row has a score of its own.
    """
    by_score = distance is None or (isinstance(distance, str) and distance in BY_SCORE)
    if not audit.by_sums or audit.has("unit") or not by_score or not _few_scores(audit):
        return None
    conditions = [part for metric in metrics for part in metric.conditions]
    columns = [*attributes, *(part for part in conditions if isinstance(part, str))]
    asked = [*roles, *(part.name for part in conditions if isinstance(part, Role))]
    asked += ["score"] if _has_boundary(audit) else []
    cells = audit.cells(
        list(dict.fromkeys(columns)), metrics, list(dict.fromkeys(asked)), complete=True, who=WHO
    )
    if not all(((count == 0) | (count == cells.rows)).all() for count in cells.count.values()):
        return None  # a metric's condition parts rows that are alike in all of this
    return _lines(cells), cells.rows


def _has_boundary(audit: Audit) -> bool:
    return audit.score is not None and audit.threshold is not None


def _few_scores(audit: Audit) -> bool:
    return not _has_boundary(audit) or count_scores(audit, LOOKED_AT) <= MOST_SCORES


def _lines(cells: Cells) -> Rows:
    """Cells as rows, one each."""
    coded = {
        name: Coded(cells.codes[:, place], cells.labels[name]) for place, name in enumerate(cells.attributes)
    }
    return Rows(
        n=len(cells.rows),
        attributes=coded,
        roles=dict(cells.roles),
        given={name: count > 0 for name, count in cells.count.items()},
        digest=digest_of(cells),
    )
