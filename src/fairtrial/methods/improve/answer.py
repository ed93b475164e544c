"""From the question to the answer of improve: prepare, test every split, refit after a rejection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.errors import Note
from fairtrial.methods.improve.arguments import Wanted
from fairtrial.methods.improve.candidates.adapters import identity
from fairtrial.methods.improve.candidates.contest import Contest
from fairtrial.methods.improve.candidates.preparation import prepare
from fairtrial.methods.improve.result import ImproveResult
from fairtrial.methods.improve.sentences import null_of, question_of, verdict_of
from fairtrial.methods.improve.solver.all_splits import ASSUMES, splits_against_manipulation
from fairtrial.methods.improve.splits import FEWEST, Settings, TestedSplits, refit_rule, run_splits
from fairtrial.methods.improve.tables import details_of, estimates_of

PAPER = (
    "The article's fairness component rejects up to four times too often when gaps are one or two standard errors from "
    "zero; method='smooth' does not."
)
SURFACE = (
    "The largest fairness gain at an accuracy loss fixed in advance is valid at the level asked for; a point picked "
    "freely off the surface only at twice that level."
)


def answer(audit: Audit, wanted: Wanted, settings: Settings) -> ImproveResult:
    """Every split's test of the best candidate, and what follows from all of them."""
    contest, candidates, rows, told = prepare(audit, wanted)
    tried = [identity(candidate) for candidate in candidates]
    settings = replace(settings, key=f"{rows.digest}|{wanted}|{tried}")
    tested = run_splits(contest, candidates, settings)
    rule, refitted = refit_rule(contest, candidates, settings) if tested.rejected else (None, None)
    details = details_of(tested, contest, refitted)
    return ImproveResult(
        question=question_of(details),
        null=null_of(details),
        verdict=verdict_of(details),
        estimates=estimates_of(tested, contest),
        details=details,
        notes=(*audit.notes(), *told, *_notes(tested, contest)),
        provenance=audit.provenance(rows, arguments=_resolved(details, wanted), seed=settings.seed),
        objects={} if rule is None else {"rule": rule},
    )


def _resolved(details: Mapping[str, Any], wanted: Wanted) -> dict[str, Any]:
    """What the arguments came to: the claim with its groups and numbers, every rule that was tried."""
    return {
        **details["claim"],
        "candidates": details["candidates"],
        "splits": len(details["splits"]),
        "banned": list(wanted.banned),
        "monotone": dict(wanted.monotone),
    }


def _notes(tested: TestedSplits, contest: Contest) -> list[Note]:
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
