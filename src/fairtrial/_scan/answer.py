"""From a question to the answer of scan: table, search, luck, and the result."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial import _work as work
from fairtrial._audit.audit import Audit
from fairtrial._errors import Fault, NotApplicable, Note, Set, Words
from fairtrial._method.known_outcomes import left_out_details, left_out_notes
from fairtrial._results.column import State, Verdict, defined_or, undefined
from fairtrial._results.text import counted
from fairtrial._scan.arguments import DrawSettings, ScanSettings
from fairtrial._scan.matched_scan import MatchedScan
from fairtrial._scan.question import ScanQuestion
from fairtrial._scan.result import ScanResult
from fairtrial._scan.rungs import rung_of
from fairtrial._scan.scan_data import ScanData, read_data
from fairtrial._scan.solver.arrays import FloatArray
from fairtrial._scan.solver.found import Direction
from fairtrial._scan.subgroups import AnyScan, SubgroupDescriber, histogram


def answer(audit: Audit, question: ScanQuestion, settings: ScanSettings, draws: DrawSettings) -> ScanResult:
    """Scan one protected class."""
    data = read_data(audit, question)
    scan = _scan(question, settings, data)
    found = scan.find(settings.top, draws.seed)
    describer = SubgroupDescriber(question, data, scan, found, settings.confidence_level)
    luck = None
    if settings.null is not None:
        luck = luck_of(
            scan, found[0].score, draws, name=f"{question.who} of {question.who_is}",
            key=_identity(audit, data, question, settings, draws),
        )  # fmt: skip
    notes = [*audit.notes(complete=False), *_left_out(audit, question, data), *data.notes, *scan.notes()]
    return _result(audit, describer, settings, draws, luck, notes)


def _left_out(audit: Audit, question: ScanQuestion, data: ScanData) -> list[Note]:
    """Rows that lack what the metric needs."""
    if question.metric.name in data.cells.left_out:
        return left_out_notes(left_out_details([question.metric], data.cells.left_out))
    rows = audit.count_rows() if audit.missing == "drop" else 0
    lacking = rows - int(data.cells.rows.sum())
    if lacking <= 0:
        return []
    lack = "lacks" if lacking == 1 else "lack"
    text = f"{lacking:,} of {counted(rows, 'row')} {lack} an attribute, the score or its condition."
    return [Note("left-out", text, lacking)]


def _scan(question: ScanQuestion, settings: ScanSettings, data: ScanData) -> AnyScan:
    """The scan of the score that was asked for; the article's compiles its loops, so it is imported only then."""
    table = data.table
    events = table.atom_event[table.atom_scanned & (table.atom_total > 0)]
    if events.min() == events.max():
        why = "is the same for everybody: without different events there is nothing to scan"
        raise NotApplicable(
            question.who,
            Fault("metric", why, subject=f"the {question.metric.label}", cure="Scan another metric"),
        )
    kind: Any = MatchedScan
    if settings.score == "article":
        from fairtrial._scan.article_scan import ArticleScan

        kind = ArticleScan
    directions = _directions(question.direction)
    names = (*(question.features or ("",)), *question.within)
    attributes = data.attributes(question.ranges)
    if data.persons is None:
        return kind(question.who, table, attributes, directions, rung_of(settings, table), settings, names)
    _refuse_with_persons(question.who, settings)
    rung = rung_of(replace(settings, null=settings.null and "stratified"), table)
    return MatchedScan(question.who, table, attributes, directions, rung, settings, names, data.persons)


def _refuse_with_persons(who: str, settings: ScanSettings) -> None:
    """What deals out rows or models them one by one, by name."""
    if settings.score == "article":
        cure = Words("use {}", Set("score", "matched"))
        raise NotApplicable(
            who, Fault("score", "'article' takes every row for a person of its own", cure=cure)
        )
    if settings.null not in (None, "ladder", "stratified"):
        required = f"{settings.null!r} draws row by row, and the unit says that rows belong together"
        raise NotApplicable(who, Fault("null", required, cure=Words("use {}", Set("null", "stratified"))))


def _directions(direction: str | None) -> tuple[Direction, ...]:
    """One side, or both when none is said to hurt."""
    return ("above",) if direction == "above" else ("below",) if direction == "below" else ("above", "below")


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
    best = estimates[0]
    rather_than = f" rather than {question.target}" if question.reference else ""
    controlled = f", {', '.join(question.within)}" if question.within else ""
    return ScanResult(
        question=f"Which subgroup of {question.who_is} has the most deviating {label}?",
        null=(
            f"Given the features{controlled} and the metric's condition, the {label} does not depend on being "
            f"{question.who_is}{rather_than}."
        ),
        verdict=verdict_of(describer, best, luck),
        estimates=tuple(estimates),
        details={**_details(describer, settings), **_luck_details(best, settings, luck)},
        notes=(*notes, *notes_of(describer, settings, best)),
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
    """The best subgroup with its p-value, then the lower ranks and deeper climbs, which have none."""
    best, *lower = describer.found
    p_value: Any = undefined(NO_NULL) if luck is None else luck.p_value
    rows = [describer.estimate(1, best, p_value, state_of(best.score, luck, 1.0 - settings.confidence_level))]
    for rank, one in enumerate((one for one in lower if one.score > 0), start=2):
        listed = State(
            "listed", "not tested" if one.tested else "not tested: restricts more than two features"
        )
        rows.append(describer.estimate(rank, one, undefined(listed.reason), listed))
    return rows


def _details(describer: SubgroupDescriber, settings: ScanSettings) -> dict[str, Any]:
    """What charts and sentences need besides the table."""
    question, scan, best = describer.question, describer.scan, describer.found[0]
    details = {
        "metric": question.metric.name,
        "label": question.metric.label,
        "protected": question.who_is,
        "target": question.target,
        "direction": best.direction,
        "harmed": question.harmed,
        "subgroup": describer.restricted(best),
        "search": scan.search,
        "steps": scan.steps,
        "subgroups": defined_or(scan.subgroups(), "beyond counting"),
        "sigma": scan.sigma,
        "values": describer.value_rows(best),
        "null": None if settings.null is None else scan.rung.name,
        "movable_share": scan.rung.share,
        "confidence_level": settings.confidence_level,
        **scan.details(),
    }
    if not describer.matched:
        details |= {"fit": describer.fit_rows(), "ridge": describer.ridge_rows()}
    return details


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


def verdict_of(describer: SubgroupDescriber, best: dict[str, Any], luck: Luck | None) -> Verdict:
    """One sentence about the best subgroup."""
    question = describer.question
    side = "above" if best["direction"] == "above" else "below"
    who = f"{question.who_is} ({best['subgroup']}, n {best['n']:,})"
    if best["state"] == "nothing found":
        nothing = f"nothing found: no subgroup of {question.who_is} is {side} what comparable people get"
        return Verdict("nothing-found", nothing)
    told = f"{question.metric.label} of {who} is {100 * best['rate']:.1f}%{_beside(best, side)}"
    told_row = ({"rank": 1},)
    if luck is None:
        return Verdict(
            "not-tested", f"not tested: {told} (score {best['score']:.1f}); no null was drawn", told_row
        )
    null = describer.scan.rung.name
    chance = f"p = {luck.p_value:.3g} over the whole search ({counted(luck.draws, 'draw')}, {null} null)"
    if best["state"] == "found":
        return Verdict("found", f"found: {told}; {chance}", told_row)
    none = f"no bias shown: the best subgroup's score can be luck, {chance}: {told}"
    return Verdict("not-shown", none, told_row)


def _beside(best: dict[str, Any], side: str) -> str:
    """What comparable people get, and how far that is from those of the subgroup who have a counterpart."""
    if not isinstance(best["expected"], float):
        return ", and nobody outside the class is comparable"
    expected = f"{100 * best['expected']:.1f}%"
    if not best["unsupported"]:
        return f", {side} the {expected} of comparable people outside the class"
    points = f"{100 * abs(best['difference']):.1f} points {side}"
    return f"; those who have a counterpart outside the class are {points} its {expected}"


def notes_of(describer: SubgroupDescriber, settings: ScanSettings, best: dict[str, Any]) -> list[Note]:
    """What the intervals mean, and what the comparison rests on."""
    level = f"{100 * settings.confidence_level:g}%"
    text = (
        f"Intervals of rates hold for all subgroups at once ({level}, Chernoff and Bonferroni), "
        "hence also for the picked one."
    )
    notes = [Note("selected-intervals", text)]
    if len(describer.found) > 1:
        text = "The p-value is for the best score; the other subgroups overlap it and carry no claim."
        notes.append(Note("lower-ranks", text))
    notes += _support_notes(describer, best)
    if not describer.matched:
        notes += _ridge_notes(describer, best)
    return notes


def _support_notes(describer: SubgroupDescriber, best: dict[str, Any]) -> list[Note]:
    """Who has no counterpart outside the class, and how few the counterparts are."""
    notes = []
    alike = "features and neighbouring scores" if describer.question.on_score else "features"
    if best["unsupported"]:
        have = "has" if best["unsupported"] == 1 else "have"
        people = counted(best["n"], "person", "people")
        without = f"{best['unsupported']:,} of {people} of the subgroup {have} nobody outside the class"
        by_model = not describer.matched or describer.scan.by_models
        left = "their expectation is extrapolated" if by_model else "they say nothing and are not compared"
        notes.append(Note("positivity", f"{without} with the same {alike}: {left}.", best["unsupported"]))
    if 0 < best["target_n"] < 30:
        driven = "" if describer.matched else ": the score is driven by them and by the ridge"
        people = counted(best["target_n"], "person", "people")
        notes.append(Note("few-comparators", f"The comparison rests on {people}{driven}.", best["target_n"]))
    return notes


def _ridge_notes(describer: SubgroupDescriber, best: dict[str, Any]) -> list[Note]:
    ridge = describer.ridge_rows()
    if not ridge:
        return []
    others = [row for row in ridge if row["subgroup"] != best["subgroup"]]
    scores = ", ".join(f"{row['score']:.1f} (ridge {row['ridge']:g})" for row in ridge)
    change = f"another subgroup is best at {len(others)} of them" if others else "the same subgroup each time"
    return [Note("ridge-sensitivity", f"Best score by ridge: {scores}; {change}.")]


# -- How likely the best score is by luck: draws under the null, in batches that can be resumed.
# A sequential test stops after this many draws that reach the observed score (Besag & Clifford, 1991).
ENOUGH_EXCEEDANCES = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Luck:
    """The p-value and the scores it rests on."""

    p_value: float
    scores: FloatArray

    @property
    def draws(self) -> int:
        return len(self.scores)


def luck_of(scan: Any, observed: float, draws: DrawSettings, *, name: str, key: str) -> Luck:
    """p = (1 + b)/(1 + B), or Besag and Clifford's sequential p where the draws are sequential.

    Scores that equal the observed one up to rounding count as reached.
    """
    batch = scan.batch()

    def task(part: range, generator: np.random.Generator) -> dict[str, NDArray[Any]]:
        return {"score": scan.draw_scores(len(part), generator)}

    def run(count: int, stage: str) -> FloatArray:
        drawn = work.map_batches(
            task, count, name=stage, seed=draws.seed, batch_size=batch, key=key, jobs=draws.jobs,
            progress=draws.progress,
        )  # fmt: skip
        return drawn["score"].astype(np.float64)

    threshold = observed - 1e-9 * (1.0 + abs(observed))
    if draws.sequential:
        return _sequentially(run, threshold, draws.permutations, name)
    return _luck(run(draws.permutations, name), threshold)


def _luck(scores: FloatArray, threshold: float) -> Luck:
    reached = int((scores >= threshold).sum())
    return Luck(p_value=(1 + reached) / (1 + len(scores)), scores=scores)


def _sequentially(run: Callable[[int, str], FloatArray], threshold: float, most: int, name: str) -> Luck:
    """Draw in growing stages until enough draws reached the observed score, or until `most`."""
    scores = np.empty(0)
    stage = 0
    while len(scores) < most:
        size = min(most - len(scores), 400 * 2**stage)
        scores = np.concatenate([scores, run(size, f"{name}, stage {stage + 1}")])
        stage += 1
        hits = np.flatnonzero(scores >= threshold)
        if len(hits) >= ENOUGH_EXCEEDANCES:
            used = int(hits[ENOUGH_EXCEEDANCES - 1]) + 1
            return Luck(p_value=ENOUGH_EXCEEDANCES / used, scores=scores[:used])
    return _luck(scores, threshold)
