"""Which way is good for a person: what the audit declares, compared with what the data show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairtrial._audit.columns import Columns
from fairtrial._audit.counting import check_data, count_cells, outcome_is_real
from fairtrial._audit.role_expressions import decision_is_real
from fairtrial._errors import Fault, InputError, Note, Set, Words
from fairtrial._metrics.groups import Favours, High, Part, turns_on
from fairtrial._metrics.groups import harmed_side as side_of
from fairtrial._metrics.table import METRICS
from fairtrial._metrics.values import Direction, Metric

CLEAR_P, CLEAR_DIFFERENCE = (
    0.001,
    0.1,
)  # an association this strong is no accident: p-value, standard deviations
_OTHER: dict[High, High] = {"high": "low", "low": "high"}


@dataclass(frozen=True, slots=True)
class Association:
    """How much higher a value is among those with a yes, in standard deviations, and the p-value of no difference."""

    difference: float
    p_value: float

    @property
    def clear(self) -> bool:
        """Whether it is too strong for chance and for a mere trace."""
        return self.p_value < CLEAR_P and abs(self.difference) >= CLEAR_DIFFERENCE

    @property
    def higher(self) -> bool:
        """Whether values are higher among those with a yes."""
        return self.difference > 0


def associate(values: Any, yes: Any) -> Association | None:
    """How a score, or an outcome, goes with a decision; None where that cannot be told.

    Parameters
    ----------
    values : array-like of float
        Scores, or outcomes of 0 and 1; NaN where one is not known.
    yes : array-like
        Whether each person's decision (or outcome) is 1; NaN where it is not known.

    Returns
    -------
    Association or None
        None with fewer than two people on a side, or without any spread.

    Examples
    --------
    >>> associate([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], [1, 1, 1, 0, 0, 0]).higher
    False
    """
    value, side = np.asarray(values, dtype=float), np.asarray(yes, dtype=float)
    parts = [value[np.isfinite(value) & (side == answer)] for answer in (0.0, 1.0)]
    return of_moments([(part.size, float(part.sum()), float(((part - part.mean()) ** 2).sum())) if part.size else
                       (0, 0.0, 0.0) for part in parts])  # fmt: skip


def of_moments(sides: Sequence[tuple[float, float, float]]) -> Association | None:
    """From how many there are with a no and with a yes, their sums and their central second sums."""
    from scipy.stats import norm

    (n0, sum0, m0), (n1, sum1, m1) = sides
    if min(n0, n1) < 2 or m0 + m1 <= 0:
        return None
    gap = sum1 / n1 - sum0 / n0
    error = np.sqrt(m0 / (n0 * (n0 - 1)) + m1 / (n1 * (n1 - 1)))
    spread = np.sqrt((m0 + m1) / (n0 + n1 - 2))
    return Association(float(gap / spread), float(2 * norm.sf(abs(gap) / error)))


def read_score_favours(association: Association | None, good: int | None) -> High | None:
    """Which scores are good for a person, by how they go with a decision (or outcome) of which `good` is good.

    Examples
    --------
    >>> read_score_favours(associate([0.1, 0.2, 0.3, 0.7, 0.8, 0.9] * 9, [1, 1, 1, 0, 0, 0] * 9), 1)
    'low'
    """
    if association is None or good is None or not association.clear:
        return None
    return "high" if association.higher == (good == 1) else "low"


# -- of an audit ----------------------------------------------------------------------------------------------------
def harmed_side(audit: Columns, metric: Metric) -> Direction | None:
    """On which side of its target the metric harms a group of this audit; None where that is not known.

    Every harmed and favoured, at one threshold and over all, in tables, curves and scans, is told from it.
    """
    return side_of(metric, favours_of(audit, turns_on(metric)))


def harmed_side_over_thresholds(audit: Columns, metric: Metric) -> Direction | None:
    """The same where the decision is made from the score, at whatever threshold: a high score is then decision 1."""
    score = score_favours(audit)
    made = None if score is None else int(score == "high")
    return side_of(metric, Favours(made, score, made))


def favours_of(audit: Columns, part: Part) -> Favours:
    """What is good for a person; the score's and the outcome's sides, for which data are read, where they are asked
    for."""
    score = score_favours(audit) if part in ("score", "outcome") else audit.roles.score_favours
    outcome = _outcome_that_speaks(audit, score) if part == "outcome" else None
    return Favours(audit.favourable, score, outcome)


def score_favours(audit: Columns) -> High | None:
    """Which scores are good for a person: declared, or by the threshold that makes the decision of them."""
    declared = audit.roles.score_favours
    if audit.decision is None and audit.threshold is not None and audit.favourable is not None:
        return "high" if audit.favourable == 1 else "low"
    if declared is not None:
        check_direction(audit)
    return declared


def check_audit(audit: Columns) -> None:
    """Look for all faults of groups, roles and features in the data, then for a direction that they contradict."""
    check_data(audit)
    check_direction(audit)


def check_direction(audit: Columns) -> None:
    """A declared direction of the score must not be clearly contradicted by the decisions in the data."""
    declared, found = audit.roles.score_favours, _by_decision(audit)
    read = read_score_favours(found, audit.favourable)
    if declared is None or found is None or read in (None, declared):
        return
    high, good = ("higher" if found.higher else "lower"), audit.favourable == 1
    who = f"people whose decision is 1, which is {'good' if good else 'bad'} for them"
    required = f"is {declared!r}, but the data say otherwise: {who}, have {high} scores"
    required += f" (by {abs(found.difference):.2g} standard deviations)"
    cure = Words(
        "write {}, or leave it out: then nobody is called harmed by a score; if the decision is what is wrong, mend {}",
        Set("score_favours", _OTHER[declared], of="Audit"), Set("favourable", of="Audit"),
    )  # fmt: skip
    raise InputError("Audit", Fault("score_favours", required, cure=cure))


def direction_note(audit: Columns) -> Note | None:
    """What to say where the data speak weakly against what is declared."""
    declared = audit.roles.score_favours
    found = None if declared is None else _by_decision(audit)
    if found is None or audit.favourable is None or found.clear:
        return None
    if ("high" if found.higher == (audit.favourable == 1) else "low") == declared:
        return None
    side = "higher" if found.higher else "lower"
    text = (
        f"A {declared} score is declared good for a person (score_favours), although people whose decision is "
        f"{audit.favourable}, the good one, do not show it: scores are slightly {side} where the decision is 1."
    )
    return Note("score-direction", text)


def _by_decision(audit: Columns) -> Association | None:
    """How the score goes with a decision of yes or no that is not made of it."""
    if audit.score is None or audit.decision is None or audit.favourable is None or not _decides(audit):
        return None
    key = ("score by decision", audit.score, *audit.decision_key)
    found: Association | None = audit.source.once(key, lambda: _scores_by(audit, "decision"))
    return found


def read_off(audit: Columns) -> tuple[High, bool] | None:
    """Which scores are good for a person, by the decisions, and whether they are higher where the decision is 1."""
    found = _by_decision(audit)
    read = read_score_favours(found, audit.favourable)
    return None if found is None or read is None else (read, found.higher)


def _decides(audit: Columns) -> bool:
    """Whether the decision is one yes or no."""
    return audit.has("decision") and audit.order is None and not decision_is_real(audit)


def _scores_by(audit: Columns, part: str) -> Association | None:
    """How the score goes with a binary role."""
    metric = METRICS["mean_score"]
    cells = count_cells(audit, (), [metric], (part,))
    count, total, m2 = (sums[metric.name] for sums in (cells.count, cells.total, cells.m2))
    return of_moments([_pooled(count, total, m2, cells.roles[part] == answer) for answer in (0.0, 1.0)])


def _pooled(count: Any, total: Any, m2: Any, chosen: Any) -> tuple[float, float, float]:
    n, told = float(count[chosen].sum()), float(total[chosen].sum())
    return n, told, float(m2[chosen].sum())  # one line for each value of the role


def _outcome_that_speaks(audit: Columns, score: High | None) -> int | None:
    """The outcome that speaks for the good decision: 1 where decision 1 is good, as outcome 1 makes decision 1 right.

    None where nobody said what is good, and where the data clearly show outcome 1 with the other decision or score.
    """
    high = None if score is None else int(score == "high")
    good = high if audit.favourable is None else audit.favourable
    if good is None or audit.outcome is None or outcome_is_real(audit):
        return good
    parts = [("decision", True)] if _decides(audit) else []
    parts += [("score", high == good)] if high is not None and audit.score is not None else []
    found = [(_with_outcome(audit, part), together) for part, together in parts]
    against = any(one is not None and one.clear and one.higher != together for one, together in found)
    return None if against else good


def _with_outcome(audit: Columns, part: str) -> Association | None:
    """How a binary outcome goes with the decision or the score."""
    key = (
        f"outcome by {part}",
        audit.outcome,
        audit.score,
        *audit.decision_key,
        repr(audit.positive.get("outcome")),
    )
    found: Association | None = audit.source.once(key, lambda: _outcomes_by(audit, part))
    return found


def _outcomes_by(audit: Columns, part: str) -> Association | None:
    if part == "score":
        return _scores_by(audit, "outcome")
    cells = count_cells(audit, (), roles=("decision", "outcome"), unknown=True)
    known = ~np.isnan(cells.roles["outcome"])
    sides = []
    for answer in (0.0, 1.0):
        side = known & (cells.roles["decision"] == answer)
        n, yes = (
            float(cells.rows[side & with_it].sum()) for with_it in (known, cells.roles["outcome"] == 1.0)
        )
        sides.append((n, yes, yes * (1 - yes / n) if n else 0.0))
    return of_moments(sides)
