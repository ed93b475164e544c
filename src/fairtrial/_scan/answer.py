"""From a question to the answer of scan: table, search, luck, and the result."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairtrial import _work as work
from fairtrial._audit.audit import Audit
from fairtrial._errors import Note
from fairtrial._method.selective_labels import left_out_details, left_out_notes
from fairtrial._results.column import State, Verdict, defined_or, undefined
from fairtrial._results.text import counted
from fairtrial._scan.matched_scan import MatchedScan
from fairtrial._scan.request import ScanRequest
from fairtrial._scan.result import ScanResult
from fairtrial._scan.scan_data import ScanData, read_data
from fairtrial._scan.solver.scan_table import FloatArray
from fairtrial._scan.subgroups import AnyScan, SubgroupDescriber, histogram

Answer = TypeVar("Answer", bound=ScanResult)


def answer(audit: Audit, request: ScanRequest) -> ScanResult:
    """Scan one protected class by the matched score."""
    data = read_data(audit, request)
    return found_by(MatchedScan(request, data), audit, data, ScanResult)


def found_by(scan: AnyScan, audit: Audit, data: ScanData, result: type[Answer]) -> Answer:
    """Search by one score, draw luck, and tell."""
    request: ScanRequest = scan.request
    found = scan.find(request.top, request.seed)
    describer = SubgroupDescriber(request, data, scan, found)
    luck = None
    if request.null is not None:
        luck = luck_of(scan, found[0].score, name=request.draws_name, key=_identity(audit, data, request))
    notes = [*audit.notes(complete=False), *_left_out(audit, request, data), *data.notes, *scan.notes()]
    return _result(audit, describer, luck, notes, result)


def _left_out(audit: Audit, request: ScanRequest, data: ScanData) -> list[Note]:
    """Rows that lack what the metric needs."""
    if request.metric.name in data.cells.left_out:
        return left_out_notes(left_out_details([request.metric], data.cells.left_out))
    rows = audit.count_rows() if audit.missing == "drop" else 0
    lacking = rows - int(data.cells.rows.sum())
    if lacking <= 0:
        return []
    lack = "lacks" if lacking == 1 else "lack"
    text = f"{lacking:,} of {counted(rows, 'row')} {lack} an attribute, the score or its condition."
    return [Note("left-out", text, lacking)]


def _identity(audit: Audit, data: ScanData, request: ScanRequest) -> str:
    """Finished draws are taken up again only for the same data and the same request."""
    digest = audit.provenance(data.cells)["data"]
    asked = sorted(request.identity().items(), key=str)
    return hashlib.sha256(f"{digest}|{asked}".encode()).hexdigest()


def _result(
    audit: Audit,
    describer: SubgroupDescriber,
    luck: Luck | None,
    notes: list[Note],
    result: type[Answer],
) -> Answer:
    request, label = describer.request, describer.request.metric.label
    estimates = _estimates(describer, luck)
    best = estimates[0]
    checks, told = describer.scan.checks(describer.words)
    rather_than = f" rather than {request.against}" if request.target else ""
    controlled = f", {', '.join(request.within)}" if request.within else ""
    return result(
        question=f"Which subgroup of {request.who_is} has the most deviating {label}?",
        null=(
            f"Given the features{controlled} and the metric's condition, the {label} does not depend on being "
            f"{request.who_is}{rather_than}."
        ),
        verdict=verdict_of(describer, best, luck),
        estimates=tuple(estimates),
        details={**_details(describer), **checks, **_luck_details(best, request, luck)},
        notes=(*notes, *notes_of(describer, best), *told),
        provenance=audit.provenance(
            describer.data.cells,
            seed=request.seed,
            arguments=request.recorded(),
        ),
        objects={} if luck is None else {"null_scores": luck.scores},
    )


def _estimates(describer: SubgroupDescriber, luck: Luck | None) -> list[dict[str, Any]]:
    """The best subgroup with its p-value, then the lower ranks and deeper climbs, which have none."""
    best, *lower = describer.found
    p_value: Any = undefined(NO_NULL) if luck is None else luck.p_value
    rows = [
        describer.estimate(
            1, best, p_value, state_of(best.score, luck, 1.0 - describer.request.confidence_level)
        )
    ]
    for rank, one in enumerate((one for one in lower if one.score > 0), start=2):
        listed = State(
            "listed", "not tested" if one.tested else "not tested: restricts more than two features"
        )
        rows.append(describer.estimate(rank, one, undefined(listed.reason), listed))
    return rows


def _details(describer: SubgroupDescriber) -> dict[str, Any]:
    """What charts and sentences need besides the table."""
    request, scan, best = describer.request, describer.scan, describer.found[0]
    return {
        "metric": request.metric.name,
        "label": request.metric.label,
        "protected": request.who_is,
        "target": request.against,
        "direction": best.direction,
        "harmed": request.harmed,
        "subgroup": describer.restricted(best),
        "search": scan.search,
        "steps": scan.steps,
        "subgroups": defined_or(scan.subgroups(), "beyond counting"),
        "sigma": scan.sigma,
        "values": describer.value_rows(best),
        "null": None if request.null is None else scan.rung.name,
        "movable_share": scan.rung.share,
        "confidence_level": request.confidence_level,
        **scan.details(),
    }


def _luck_details(best: dict[str, Any], request: ScanRequest, luck: Luck | None) -> dict[str, Any]:
    if luck is None:
        return {}
    return {
        "null_draws": luck.draws,
        "null_histogram": histogram(luck.scores, best["score"]),
        "null_critical": float(np.quantile(luck.scores, request.confidence_level, method="higher")),
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
    request = describer.request
    side = "above" if best["direction"] == "above" else "below"
    who = f"{request.who_is} ({best['subgroup']}, n {best['n']:,})"
    if best["state"] == "nothing found":
        nothing = f"nothing found: no subgroup of {request.who_is} is {side} what comparable people get"
        return Verdict("nothing-found", nothing)
    told = f"{request.metric.label} of {who} is {100 * best['rate']:.1f}%{_beside(best, side)}"
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


def notes_of(describer: SubgroupDescriber, best: dict[str, Any]) -> list[Note]:
    """What the intervals mean, and what the comparison rests on."""
    level = f"{100 * describer.request.confidence_level:g}%"
    text = (
        f"Intervals of rates hold for all subgroups at once ({level}, Chernoff and Bonferroni), "
        "hence also for the picked one."
    )
    notes = [Note("selected-intervals", text)]
    if len(describer.found) > 1:
        text = "The p-value is for the best score; the other subgroups overlap it and carry no claim."
        notes.append(Note("lower-ranks", text))
    return notes + _support_notes(describer, best)


def _support_notes(describer: SubgroupDescriber, best: dict[str, Any]) -> list[Note]:
    """Who has no counterpart outside the class, and how few the counterparts are."""
    notes = []
    alike = "features and neighbouring scores" if describer.request.on_score else "features"
    if best["unsupported"]:
        have = "has" if best["unsupported"] == 1 else "have"
        people = counted(best["n"], "person", "people")
        without = f"{best['unsupported']:,} of {people} of the subgroup {have} nobody outside the class"
        left = (
            "their expectation is extrapolated"
            if describer.scan.by_models
            else "they say nothing and are not compared"
        )
        notes.append(Note("positivity", f"{without} with the same {alike}: {left}.", best["unsupported"]))
    if 0 < best["target_n"] < 30:
        people = counted(best["target_n"], "person", "people")
        notes.append(
            Note(
                "few-comparators",
                f"The comparison rests on {people}{describer.scan.driven}.",
                best["target_n"],
            )
        )
    return notes


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


def luck_of(scan: AnyScan, observed: float, *, name: str, key: str) -> Luck:
    """p = (1 + b)/(1 + B), or Besag and Clifford's sequential p where the draws are sequential.

    Scores that equal the observed one up to rounding count as reached.
    """
    request: ScanRequest = scan.request
    batch = scan.batch()

    def task(part: range, generator: np.random.Generator) -> dict[str, NDArray[Any]]:
        return {"score": scan.draw_scores(len(part), generator)}

    def run(count: int, stage: str) -> FloatArray:
        drawn = work.map_batches(
            task, count, name=stage, seed=request.seed, batch_size=batch, key=key, jobs=request.jobs,
            progress=request.progress,
        )  # fmt: skip
        return drawn["score"].astype(np.float64)

    threshold = observed - 1e-9 * (1.0 + abs(observed))
    if request.sequential:
        return _sequentially(run, threshold, request.permutations, name)
    return _luck(run(request.permutations, name), threshold)


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
