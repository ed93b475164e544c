"""Candidates by name, as estimators and functions, and as rules fixed beforehand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._errors import Fault, InputError, MissingExtra, NotApplicable, Note, did_you_mean
from fairtrial._improve.candidates import Estimator, FixedColumn, as_candidate, fixed_rule
from fairtrial._improve.contest import WHO, Candidate, Contest
from fairtrial._improve.portfolio import (
    FrontierRules,
    GroupThresholds,
    Reductions,
    Scored,
    applicable,
    frontier_applies,
    installed,
    portfolio,
)
from fairtrial._improve.programs import LinearProgram
from fairtrial._improve.rules import Rule

BUILT_IN = ("portfolio", "frontier", "tuned", "reductions", "group-thresholds", "F.5", "F.6", "P'")


def listed_candidates(audit: Audit, asked: object, *, fitted_elsewhere: bool = False) -> list[Any]:
    """Candidates in order; the built-in names stay text until the contest is known."""
    items = list(asked) if isinstance(asked, list | tuple) else [asked]
    if not items:
        raise InputError(WHO, Fault("candidates", "is empty", cure="name at least one"))
    return _told_apart([_listed(audit, item, fitted_elsewhere) for item in items])


def _told_apart(listed: list[Any]) -> list[Any]:
    """Estimators of one class are called by their settings: LogisticRegression(C=0.01)."""
    names = Counter(item.name for item in listed if isinstance(item, Estimator))
    return [
        replace(item, label=item.settings)
        if isinstance(item, Estimator) and not item.label and names[item.name] > 1
        else item
        for item in listed
    ]


def _listed(audit: Audit, item: object, fitted_elsewhere: bool) -> Any:
    if isinstance(item, str):
        if item in BUILT_IN:
            return item
        if item in audit.source.columns:
            return FixedColumn(item)
        hint = did_you_mean(item, [*BUILT_IN, *audit.source.columns])
        required = f"must name columns or one of {list(BUILT_IN)}"
        raise InputError(WHO, Fault("candidates", required, got=item, hint=hint))
    fixed = fixed_rule(item, audit) if fitted_elsewhere or isinstance(item, Rule) else None
    if fixed is not None:
        return fixed
    own = item if hasattr(item, "variants") and hasattr(item, "fit") else as_candidate(item)
    if own is None:
        required = (
            "must be 'portfolio' or a list of scikit-learn estimators, functions, columns and built-in names "
            f"{list(BUILT_IN)}"
        )
        raise InputError(WHO, Fault("candidates", required, got=item))
    return own


def build_candidates(listed: Sequence[Any], contest: Contest) -> tuple[list[Candidate], list[Note]]:
    """Every candidate that can be fitted, and what the reader must know of them."""
    found = [candidate for item in listed for candidate in _built(item, contest)]
    notes = []
    if "portfolio" in listed and applicable(contest) and not installed():
        notes.append(Note("no-fairlearn", "fairlearn is not installed; its reductions were not tried."))
    for candidate in found:
        if isinstance(candidate, LinearProgram):
            candidate.check(contest)
            text = "The program's time limit makes its result depend on the machine's speed."
            notes.append(Note("time-limit", text))
    _check_names(found, contest)
    return found, notes


def _check_names(candidates: Sequence[Candidate], contest: Contest) -> None:
    names = Counter(name for candidate in candidates for name in candidate.variants(contest))
    twice = sorted(name for name, times in names.items() if times > 1)
    if twice:
        cure = "name each once, and give estimators labels of their own"
        fault = Fault("candidates", f"have the same name {twice}", subject="two candidates", cure=cure)
        raise InputError(WHO, fault)


def _built(item: Any, contest: Contest) -> list[Candidate]:
    if not isinstance(item, str):
        return [item]
    if item == "portfolio":
        return [*portfolio(contest), *([Reductions()] if installed() and applicable(contest) else [])]
    if item == "frontier":
        return _frontiers(contest)
    if item == "reductions":
        _check_reductions(contest)
        return [Reductions()]
    if item == "tuned":
        return [Scored("boosted trees, tuned", "tuned")]
    if item == "group-thresholds":
        post = [FrontierRules("linear", by_group=True), FrontierRules("boosted", by_group=True)]
        return [GroupThresholds(), *(post if frontier_applies(contest) else [])]
    return [LinearProgram(item)]  # type: ignore[arg-type]


def _frontiers(contest: Contest) -> list[Candidate]:
    if not frontier_applies(contest):
        required = (
            "needs an outcome, features without monotone directions, and an accuracy that decisions change"
        )
        raise NotApplicable(WHO, Fault("candidates", required, subject="'frontier'"))
    return [FrontierRules("linear"), FrontierRules("boosted")]


def _check_reductions(contest: Contest) -> None:
    if not installed():
        raise MissingExtra("improve: 'reductions' needs fairlearn: install fairtrial[fair]")
    if not applicable(contest):
        required = "needs a binary outcome, a parity metric, no capacity and no monotone features"
        raise NotApplicable(WHO, Fault("candidates", required, subject="'reductions'"))
