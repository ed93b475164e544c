"""How improve's p-value was made, and every weakening."""

from __future__ import annotations

import numpy as np

from fairtrial.errors import Note
from fairtrial.methods.improve.candidates.contest import Contest
from fairtrial.methods.improve.solver.all_splits import ASSUMES, splits_against_manipulation
from fairtrial.methods.improve.splits import FEWEST, Settings, TestedSplits

PAPER = (
    "The article's fairness component rejects up to four times too often when gaps are one or two standard errors from "
    "zero; method='smooth' does not."
)
SURFACE = (
    "The largest fairness gain at an accuracy loss fixed in advance is valid at the level asked for; a point picked "
    "freely off the surface only at twice that level."
)


def notes_of(tested: TestedSplits, contest: Contest) -> list[Note]:
    """How the p-value was made, and every weakening."""
    settings, claim = tested.settings, contest.claim
    notes = [Note("aggregation", f"The p-value is {ASSUMES[settings.aggregate]}.")]
    if settings.aggregate != "single":
        notes.append(_splits_note(settings))
    if claim.method == "paper":
        notes.append(Note("paper-fairness", PAPER))
    few = int(np.count_nonzero(tested.arrays["enough"] == 0))
    if few:
        text = f"In {few} splits a level rests on fewer than {FEWEST} people: they cannot reject."
        notes.append(Note("few-people", text))
    if getattr(claim.accuracy.what, "hurts", "below") is None:
        notes.append(Note("higher-is-better", f"A higher {claim.accuracy.label} is taken as better."))
    return [*notes, Note("surface", SURFACE)]


def _splits_note(settings: Settings) -> Note:
    needed = splits_against_manipulation(settings.alpha)
    verb = "at least" if settings.splits >= needed else "fewer than"
    return Note(
        "splits",
        f"{settings.splits} splits, {verb} the {needed} from which re-running cannot pay at this level "
        "(Proposition 1, independent p-values).",
    )
