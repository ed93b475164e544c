"""The candidates that improve was asked for: built-in names, columns, estimators and functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairtrial.data.audit import Audit
from fairtrial.errors import InputError, MissingExtra, NotApplicable, Note, did_you_mean
from fairtrial.methods.improve.candidates.adapters import FixedColumn, as_candidate
from fairtrial.methods.improve.candidates.portfolio import GroupThresholds, portfolio
from fairtrial.methods.improve.candidates.problem import Candidate, Problem
from fairtrial.methods.improve.candidates.programs import LinearProgram
from fairtrial.methods.improve.candidates.reductions import Reductions, applicable, installed

WHO = "improve"
BUILT_IN = ("portfolio", "reductions", "group-thresholds", "F.5", "F.6", "P'")


def listed_candidates(audit: Audit, asked: object) -> list[Any]:
    """Candidates in order; the built-in names stay text until the problem is known."""
    items = list(asked) if isinstance(asked, list | tuple) else [asked]
    found: list[Any] = []
    for item in items:
        if isinstance(item, str) and item in BUILT_IN:
            found.append(item)
        elif isinstance(item, str):
            if item not in audit.source.columns:
                hint = did_you_mean(item, [*BUILT_IN, *audit.source.columns])
                raise InputError(
                    WHO, f"'candidates' must name columns or one of {list(BUILT_IN)}, got {item!r}.{hint}"
                )
            found.append(FixedColumn(item))
        elif hasattr(item, "variants") and hasattr(item, "fit"):
            found.append(item)
        elif (adapted := as_candidate(item)) is not None:
            found.append(adapted)
        else:
            raise InputError(
                WHO,
                "'candidates' must be 'portfolio' or a list of scikit-learn estimators, functions, columns and "
                f"built-in names {list(BUILT_IN)}, got {item!r}",
            )
    if not found:
        raise InputError(WHO, "'candidates' is empty: name at least one")
    return found


def built_candidates(listed: Sequence[Any], problem: Problem, notes: list[Note]) -> list[Candidate]:
    found: list[Candidate] = []
    for item in listed:
        if item == "portfolio":
            found += portfolio()
            if installed() and applicable(problem):
                found.append(Reductions())
            elif applicable(problem):
                notes.append(
                    Note("no-fairlearn", "fairlearn is not installed; its reductions were not tried.")
                )
        elif item == "reductions":
            if not installed():
                raise MissingExtra("improve: 'reductions' needs fairlearn: install fairtrial[fair]")
            if not applicable(problem):
                raise NotApplicable(
                    WHO,
                    "'reductions' needs a binary outcome, a parity metric, no capacity and no monotone features",
                )
            found.append(Reductions())
        elif item == "group-thresholds":
            found.append(GroupThresholds())
        elif isinstance(item, str):
            found.append(LinearProgram(item))  # type: ignore[arg-type]
        else:
            found.append(item)
    for candidate in found:
        if isinstance(candidate, LinearProgram):
            candidate.check(problem)
            notes.append(
                Note("time-limit", "The program's time limit makes its result depend on the machine's speed.")
            )
    names = [name for candidate in found for name in candidate.variants(problem)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            WHO, f"two candidates have the same name {twice}: give them labels, Estimator(model, 'name')"
        )
    return found
