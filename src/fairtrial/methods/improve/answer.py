"""From the question to the answer of improve: prepare, test every split, refit after a rejection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fairtrial.data.audit import Audit
from fairtrial.methods.improve.candidates.adapters import identity
from fairtrial.methods.improve.candidates.preparation import prepare
from fairtrial.methods.improve.details import details_of
from fairtrial.methods.improve.estimates import estimates_of
from fairtrial.methods.improve.notes import notes_of
from fairtrial.methods.improve.result import ImproveResult
from fairtrial.methods.improve.sentences import null_of, question_of, verdict_of
from fairtrial.methods.improve.splits import Settings, refit_rule, run_splits
from fairtrial.methods.improve.wanted import Wanted, WantedRules


def answer(audit: Audit, wanted: Wanted, settings: Settings) -> ImproveResult:
    """Every split's test of the best candidate, and what follows from all of them."""
    prepared = prepare(audit, wanted)
    contest, candidates = prepared.contest, prepared.candidates
    tried = [identity(candidate) for candidate in candidates]
    settings = replace(settings, key=f"{prepared.rows.digest}|{wanted}|{tried}")
    tested = run_splits(contest, candidates, settings)
    rule, refitted = refit_rule(contest, candidates, settings) if tested.rejected else (None, None)
    details = details_of(tested, contest, refitted)
    return ImproveResult(
        question=question_of(details),
        null=null_of(details),
        verdict=verdict_of(details),
        estimates=estimates_of(tested, contest),
        details=details,
        notes=(*audit.notes(), *prepared.notes, *notes_of(tested, contest)),
        provenance=audit.provenance(
            prepared.rows, arguments=_resolved(details, wanted.rules), seed=settings.seed
        ),
        objects={} if rule is None else {"rule": rule},
    )


def _resolved(details: Mapping[str, Any], rules: WantedRules) -> dict[str, Any]:
    """What the arguments came to: the claim with its groups and numbers, every rule that was tried."""
    return {
        **details["claim"],
        "candidates": details["candidates"],
        "splits": len(details["splits"]),
        "banned": list(rules.banned),
        "monotone": dict(rules.monotone),
    }
