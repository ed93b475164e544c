"""Which scores are good for a person, read off the data for a proposal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._audit.direction import read_off
from fairtrial._errors import InputError
from fairtrial._trial.spec.guess import Guess


def settle_score_favours(found: Guess, data: Any, reading: Mapping[str, str] | None = None) -> None:
    """Write the direction of the score into the proposal, with how it was read; nothing where the data do not say it.

    Parameters
    ----------
    found : Guess
        The proposal; it needs a score, a decision of its own, and the decision that is good.
    data : path or dataframe
        The rows.
    reading : mapping, optional
        How the file is read, where that was said.
    """
    found.score_favours = None
    found.remarks.pop("score_favours", None)
    if found.score is None or found.decision is None or found.favourable is None:
        return
    try:
        audit = Audit(
            data, decision=found.decision, score=found.score, positive=found.positive or None,
            favourable=found.favourable, missing="drop", reading=reading,
        )  # fmt: skip
        read = read_off(audit)
    except InputError:  # whoever runs the audit is told what is wrong with the data
        return
    if read is None:
        return
    found.score_favours, higher = read
    side = "higher" if higher else "lower"
    found.remarks["score_favours"] = (
        f"read off the data: scores are {side} where {found.decision} is 1; check it"
    )
