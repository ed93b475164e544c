"""From a question to the answer of scan: table, search, luck, and the result."""

from __future__ import annotations

import hashlib
import warnings
from typing import Any

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.errors import FairtrialWarning, Fault, NotApplicable, Note, Set, Words
from fairtrial.methods.scan.arguments import DrawSettings, ScanSettings
from fairtrial.methods.scan.draws import Drawing, Luck, luck_of, prepare_null
from fairtrial.methods.scan.question import ScanQuestion
from fairtrial.methods.scan.result import ScanResult
from fairtrial.methods.scan.scan_data import ScanData, read_data
from fairtrial.methods.scan.solver import statistic
from fairtrial.methods.scan.solver.expectation import Expectations
from fairtrial.methods.scan.solver.scan_table import ScanTable
from fairtrial.methods.scan.subgroups import SubgroupDescriber, histogram
from fairtrial.results.column import State, Verdict, defined_or, undefined


def answer(audit: Audit, question: ScanQuestion, settings: ScanSettings, draws: DrawSettings) -> ScanResult:
    """Scan one protected class."""
    data = read_data(audit, question)
    setup = _prepared(question, settings, data.table)
    drawing = _drawing(question, settings, setup)
    seen = statistic.scan_observed(setup, top=settings.top, seed=draws.seed)
    if seen.sigma is not None and seen.sigma < 1e-9:
        why = "do not vary within the classes: there is nothing to scan"
        raise NotApplicable(question.who, Fault("metric", why, subject="the scores"))
    describer = SubgroupDescriber(question, data, setup, seen, settings.confidence_level)
    luck = None
    if drawing is not None:
        luck = luck_of(
            setup, drawing, seen.found[0].score, draws, name=f"{question.who} of {question.protected.label}",
            key=_identity(audit, data, question, settings, draws),
        )  # fmt: skip
    notes = [*audit.notes(), *data.notes, *(drawing.notes if drawing else ())]
    return _result(audit, describer, settings, draws, luck, notes)


def _prepared(question: ScanQuestion, settings: ScanSettings, table: ScanTable) -> statistic.ScanSetup:
    how = Expectations(
        ridge=settings.ridge,
        doubly_robust=settings.expectation == "doubly-robust",
        event_model=None if isinstance(settings.expectation, str) else settings.expectation,
        class_model=None if isinstance(settings.propensity, str) else settings.propensity,
    )
    setup = statistic.prepare(
        table,
        how=how,
        directions=_directions(settings.direction or question.metric.hurts),
        penalty=float(settings.penalty),
        sigma=None if isinstance(settings.sigma, str) else float(settings.sigma),
        search=settings.search,
        restarts=settings.restarts,
        drop_unsupported=settings.unsupported == "drop",
    )
    if setup.plan.exact and setup.plan.steps > statistic.EXACT_STEPS_LIMIT:
        steps = f"would take {setup.plan.steps:.3g} steps (the limit is {statistic.EXACT_STEPS_LIMIT:,})"
        cure = Words("use {}, fewer features or coarser bins", Set("search", "restarts"))
        raise NotApplicable(question.who, Fault("search", steps, subject="an exact search", cure=cure))
    return setup


def _directions(direction: str | None) -> tuple[statistic.Direction, ...]:
    """One side, or both when none is said to hurt."""
    return ("above",) if direction == "above" else ("below",) if direction == "below" else ("above", "below")


def _drawing(question: ScanQuestion, settings: ScanSettings, setup: statistic.ScanSetup) -> Drawing | None:
    if settings.null is None:
        return None
    table = setup.table
    distinct = len(np.unique(table.cell_condition[table.cell_scanned]))
    binned = question.on_score and settings.scores == "exact" and distinct > settings.strata_bins
    return prepare_null(question.who, setup, settings.null, settings.null_model, binned)


def _identity(
    audit: Audit, data: ScanData, question: ScanQuestion, settings: ScanSettings, draws: DrawSettings
) -> str:
    """Finished draws are taken up again only for the same data and the same question."""
    drawn = {"permutations": draws.permutations, "seed": draws.seed}
    asked = question.to_dict() | settings.to_dict() | drawn
    digest = audit.provenance(data.cells)["data"]
    return hashlib.sha256(f"{digest}|{sorted(asked.items(), key=str)}".encode()).hexdigest()


def _result(
    audit: Audit,
    describer: SubgroupDescriber,
    settings: ScanSettings,
    draws: DrawSettings,
    luck: Luck | None,
    notes: list[Note],
) -> ScanResult:
    question, label = describer.question, describer.question.metric.label
    estimates = _estimates(describer, settings, luck)
    best, ridge = estimates[0], describer.ridge_rows()
    rather_than = f" rather than {question.reference.label}" if question.reference else ""
    return ScanResult(
        question=f"Which subgroup of {question.protected.label} has the most deviating {label}?",
        null=(
            f"Given the features and the metric's condition, the {label} does not depend on being "
            f"{question.protected.label}{rather_than}."
        ),
        verdict=verdict_of(describer, best, luck, settings.null),
        estimates=tuple(estimates),
        details={**_details(describer, settings), "ridge": ridge, **_luck_details(best, settings, luck)},
        notes=(*notes, *notes_of(describer, settings, best, ridge)),
        provenance=audit.provenance(
            describer.data.cells,
            seed=draws.seed,
            arguments={**question.to_dict(), **settings.recorded_models()},
        ),
        objects={} if luck is None else {"null_scores": luck.scores},
    )


def _estimates(
    describer: SubgroupDescriber, settings: ScanSettings, luck: Luck | None
) -> list[dict[str, Any]]:
    """The best subgroup with its p-value, then the lower ranks, which have none."""
    best, *lower = describer.seen.found
    p_value: Any = undefined(NO_NULL) if luck is None else luck.p_value
    listed = State("listed", "not tested")
    return [
        describer.estimate(1, best, p_value, state_of(best.score, luck, 1.0 - settings.confidence_level)),
        *(
            describer.estimate(rank, one, undefined(listed.reason), listed)
            for rank, one in enumerate(lower, start=2)
            if one.score > 0
        ),
    ]


def _details(describer: SubgroupDescriber, settings: ScanSettings) -> dict[str, Any]:
    """What charts and sentences need besides the table."""
    question, plan, best = describer.question, describer.setup.plan, describer.seen.found[0]
    return {
        "metric": question.metric.name,
        "label": question.metric.label,
        "protected": question.protected.label,
        "target": question.target,
        "direction": best.direction,
        "subgroup": describer.restricted(best),
        "search": "exact" if plan.exact else "restarts",
        "steps": plan.steps,
        "subgroups": defined_or(describer.subgroups, "beyond counting"),
        "sigma": describer.seen.sigma,
        "values": describer.value_rows(best),
        "fit": describer.fit_rows(),
        "fit_worst_cell": describer.worst_cell_fit(),
        "null": settings.null,
        "confidence_level": settings.confidence_level,
    }


def _luck_details(best: dict[str, Any], settings: ScanSettings, luck: Luck | None) -> dict[str, Any]:
    if luck is None:
        return {}
    return {
        "null_draws": luck.draws,
        "null_histogram": histogram(luck.scores, best["score"]),
        "null_critical": float(np.quantile(luck.scores, settings.confidence_level, method="higher")),
    }


NO_NULL = "no null was asked for"


def state_of(score: float, luck: Luck | None, alpha: float) -> State:
    """Whether the best subgroup is more than luck."""
    if score <= 0:
        return State("nothing found")
    if luck is None:
        return State("not tested", NO_NULL)
    return State("found" if luck.p_value <= alpha else "not shown")


def verdict_of(
    describer: SubgroupDescriber, best: dict[str, Any], luck: Luck | None, null: str | None
) -> Verdict:
    """One sentence about the best subgroup."""
    question = describer.question
    side = "above" if best["direction"] == "above" else "below"
    who = f"{question.protected.label} ({best['subgroup']}, n {best['n']:,})"
    if best["state"] == "nothing found":
        nothing = f"nothing found: no subgroup of {question.protected.label} is {side} expectation"
        return Verdict("nothing-found", nothing)
    told = (
        f"{question.metric.label} of {who} is {100 * best['rate']:.1f}%, {side} the {100 * best['expected']:.1f}% "
        "expected"
    )
    if luck is None:
        return Verdict("not-tested", f"not tested: {told} (score {best['score']:.1f}); no null was drawn")
    chance = f"p = {luck.p_value:.3g} over the whole search ({luck.draws:,} draws, {null} null)"
    if best["state"] == "found":
        return Verdict("found", f"found: {told}; {chance}")
    return Verdict("not-shown", f"no bias shown: the best subgroup's score can be luck, {chance}: {told}")


def notes_of(
    describer: SubgroupDescriber, settings: ScanSettings, best: dict[str, Any], ridge: list[dict[str, Any]]
) -> list[Note]:
    """How it was searched, what the intervals mean, and what the comparison rests on."""
    level = f"{100 * settings.confidence_level:g}%"
    text = (
        f"Intervals of rates hold for all subgroups at once ({level}, Chernoff and Bonferroni), "
        "hence also for the picked one."
    )
    notes = [_search_note(describer, settings), Note("selected-intervals", text)]
    if len(describer.seen.found) > 1:
        text = "The p-value is for the best score; lower-ranked subgroups overlap it and carry no claim."
        notes.append(Note("lower-ranks", text))
    notes += _support_notes(describer, best)
    if ridge:
        notes.append(_ridge_note(best, ridge))
    notes.append(_fit_note(describer, best))
    return notes


def _search_note(describer: SubgroupDescriber, settings: ScanSettings) -> Note:
    plan, subgroups = describer.setup.plan, describer.subgroups
    if plan.exact:
        count = f"{subgroups:,.0f}" if subgroups < 1e9 else f"{subgroups:.2g}"
        return Note("search", f"Search: exact, a proof over all {count} subgroups.")
    text = (
        f"Search: {plan.restarts} restarts of coordinate ascent over {subgroups:.3g} subgroups; not a proof."
    )
    if settings.search == "auto":
        warnings.warn(f"scan: {text}", FairtrialWarning, stacklevel=7)  # the line that called scan
    return Note("search", text)


def _support_notes(describer: SubgroupDescriber, best: dict[str, Any]) -> list[Note]:
    """Who has no counterpart outside the class, and how few the counterparts are."""
    notes = []
    if best["unsupported"]:
        text = (
            f"{best['unsupported']:,} of {best['n']:,} people of the subgroup have nobody outside the class with the "
            "same features: their expectation is extrapolated."
        )
        notes.append(Note("positivity", text))
    if describer.setup.drop_unsupported:
        left_out = describer.setup.table.cell_scanned & ~describer.supported
        dropped = describer.seen.sums.protected[0][left_out].sum()
        text = f"{dropped:,.0f} protected people without a counterpart outside the class were left out of the search."
        notes.append(Note("dropped-unsupported", text))
    if 0 < best["target_n"] < 30:
        text = f"The comparison rests on {best['target_n']} people: the score is driven by them and by the ridge."
        notes.append(Note("few-comparators", text))
    return notes


def _ridge_note(best: dict[str, Any], ridge: list[dict[str, Any]]) -> Note:
    others = [row for row in ridge if row["subgroup"] != best["subgroup"]]
    scores = ", ".join(f"{row['score']:.1f} (ridge {row['ridge']:g})" for row in ridge)
    change = f"another subgroup is best at {len(others)} of them" if others else "the same subgroup each time"
    return Note("ridge-sensitivity", f"Best score by ridge: {scores}; {change}.")


def _fit_note(describer: SubgroupDescriber, best: dict[str, Any]) -> Note:
    worst = describer.worst_cell_fit()
    expected, observed = best["target_expected"], best["target_rate"]
    here = ""
    if isinstance(expected, float) and isinstance(observed, float):
        here = f" In the comparison subgroup it expects {100 * expected:.1f}% and {100 * observed:.1f}% are observed."
    if worst["gap"] is None:
        return Note("fit", f"No comparison cell has 30 people to check the model of expectations on.{here}")
    return Note(
        "fit",
        f"Fit of the expectations outside the class: largest gap {100 * worst['gap']:.1f} points over "
        f"{worst['cells']:,} cells of at least 30 people (that cell has {worst['n']:,}).{here}",
    )
