"""The sentence templates of explain, compare, scan, improve, transport, watch, plan and the trial, with extreme values.

Templates are called with the smallest stand-ins that they read, then every method runs once on a few people; the last
tests list the modules, and no function in them that makes a sentence may have gone unsaid.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from itertools import product
from pathlib import Path
from types import SimpleNamespace as Like
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tests.english import reads, whole

import fairtrial as ft
from fairtrial import METRICS, CompareResult, ScanResult, TransportResult
from inside.explain import PairGap, estimate_rows, p_text, signed, two_rules, verdict_and_notes
from inside.ground import Note
from inside.improve import sentences as improve_words
from inside.methods import declared_methods
from inside.plan import answer as plan_words
from inside.plan import answer as planned
from inside.results import Verdict, counted, undefined
from inside.scan import Rung, ScanEachResult, _blocks, every_class
from inside.scan import answer as scan_words
from inside.transport import answer as transport_answer
from inside.transport import result as transport_words
from inside.trial import (
    FamilyEntry,
    FileWords,
    LedgerLine,
    conclude,
    findings,
    first_screen,
    in_people,
    line_sentence,
    summary_markdown,
    two_facts,
    why_numbers_differ,
)
from inside.watch import sentences as watch_words

NUMBERS = (0.0, -0.0, 1.0, -1.0, 1e-9, -1e-9, 1e9)
COUNTS = (0, 1, 2, 10**9)
INF = float("inf")


def noted(notes: list[Note] | tuple[Note, ...]) -> None:
    for note in notes:
        whole(note.text)


# -- explain and compare ----------------------------------------------------------------------------------------------
def explained(
    gap: float, *, binary: bool = True, rows: int = 1, audited: bool = True, groups: int = 2
) -> Any:
    """What the words of explain read of an explanation."""
    test = PairGap(gap, gap - 1, INF, 0.5)
    count = np.full(groups, float(rows))
    stage = Like(
        binary=binary,
        gaps=(test,) * (groups - 1),
        rate=np.zeros(groups),
        count=count,
        omnibus=Like(p_value=0.5),
    )
    return Like(
        first=Like(explained=stage, audited=stage if audited else None, judged=stage), metric=METRICS["accuracy"],
        pair_labels=[(f"g{i}", "B") for i in range(groups - 1)], labels=[f"g{i}" for i in range(groups)],
        value_kind="percent" if binary else "number", alpha=0.05, allocation="shapley", another_system=True,
        agreement=0.0, by_text="Sex", second=Like(undefined=np.array([True])), empty_group=lambda _: "no rate",
        request=Like(scores=not binary, kind="retrain", averaged="decisions", meaning="It means this.", gaps=(),
                    background_rows=lambda *_: rows),
        explained=Like(sensitive="player", train=np.zeros(rows), test=np.zeros(rows), notes=()),
        game=Like(groups=groups, level=0.95, masks=np.zeros(rows + 1), sampled=Like(pairs=rows), allocations=("a", "b"),
                  baseline=Like(kind="prior", value=0.5, influence=None),
                  background=Like(block=np.repeat([0, 1], rows))),
    )  # fmt: skip


@pytest.mark.parametrize(("gap", "binary", "groups"), list(product(NUMBERS, (True, False), (2, 3))))
def test_explain(gap: float, binary: bool, groups: int) -> None:
    for audited, p_value in product((True, False), (0.0, 1.0)):
        given = explained(gap, binary=binary, audited=audited, groups=groups)
        given.first.judged.omnibus = Like(p_value=p_value)
        reads(verdict_and_notes.verdict(given)[1])
        given.first.judged.omnibus = None
        reads(verdict_and_notes.verdict(given)[1])
        given.first.judged.rate[0] = np.nan
        reads(verdict_and_notes.verdict(given)[1])
    given.first.explained.gaps = (None,) * (groups - 1)
    reads(verdict_and_notes.verdict(given)[1])
    about = {"part": "contribution to the gap", "group": "g0", "target": "B", "difference": gap}
    for features, p_value in product((0, 1, 5), (0.0, 1.0)):
        rows = [{**about, "feature": f"x{i}", "p_adjusted": p_value} for i in range(features)]
        whole(verdict_and_notes.drivers_text(given, rows))


@pytest.mark.parametrize(("rows", "kind"), list(product((0, 1, 2, 100), ("retrain", "marginal"))))
def test_notes_of_explain(rows: int, kind: str) -> None:
    given = explained(0.0, rows=rows)
    given.request.kind, given.metric = kind, METRICS["npv"]
    votes = [{"group": "g0", "target": "B", "feature": "x", "rejecting": 1, "of": 1}]
    changes = [{"group": "a", "effect": "gains"}, {"group": "b", "effect": "loses"}]
    told = [estimate_rows._reading("x", changes[:k], kind) for k in (0, 1, 2)]
    told += [
        estimate_rows._reading("x", changes[1:], kind),
        estimate_rows._reading("x", [{"group": "a", "effect": "undefined"}], kind),
    ]
    for entry in told[:4]:
        whole(entry["text"])
    reads(told[4]["text"])
    noted(verdict_and_notes.notes(given, {"votes": votes, "pareto": told[:4]}))


@pytest.mark.parametrize("value", (*NUMBERS, INF, float("nan")))
def test_numbers_of_explain(value: float) -> None:
    for kind in ("percent", "number"):
        reads(signed(value, kind))
    reads(p_text(min(1.0, abs(value)) if value == value else 1.0))


@pytest.mark.parametrize(
    ("value", "kind", "p_value"), list(product(NUMBERS, ("percent", "number"), (0.0, 1.0)))
)
def test_compare(value: float, kind: str, p_value: float) -> None:
    names = ("before", "after", "difference", "difference_low", "difference_high")
    row = {**dict.fromkeys(names, value), "p_value": p_value, "group": "A", "target": "B", "feature": "x"}
    details = {"value_kind": kind, "label": "accuracy"}
    reads(two_rules._verdict(row, details, 0.95).text)
    reads(two_rules._verdict({**row, "difference_low": undefined("why")}, details, 0.95).text)
    for state in ("changed", "not shown"):
        whole(two_rules._drivers_text([{**row, "state": state}], kind))


# -- scan, of one class and of every one ------------------------------------------------------------------------------
def best_of(value: float, people: int, state: str = "found") -> dict[str, Any]:
    return {
        "direction": "above", "subgroup": "everyone", "n": people, "state": state, "rate": value, "expected": value,
        "unsupported": people, "difference": value, "score": value, "target_n": people, "target_rate": value, "rank": 1,
        "protected": "sex: f", "p_value": 1.0, "p_adjusted": value,
    }  # fmt: skip


@pytest.mark.parametrize(("value", "people"), list(product((0.0, 1.0, 1e-9), COUNTS)))
def test_scan(value: float, people: int) -> None:
    request = Like(who_is="sex: f", metric=METRICS["accuracy"], on_score=False, confidence_level=0.95)
    for by_models, found in product((True, False), ([1], [1, 2])):
        scan = Like(rung=Like(name="stratified"), by_models=by_models, driven=": the score is driven by them")
        describer = Like(request=request, scan=scan, found=found)
        for state, luck in product(
            ("found", "nothing found", "not shown"), (None, Like(p_value=1.0, draws=people))
        ):
            reads(scan_words.verdict_of(describer, best_of(value, people, state), luck).text)
        best = best_of(value, people)
        reads(scan_words.verdict_of(describer, {**best, "unsupported": 0}, None).text)
        reads(scan_words.verdict_of(describer, {**best, "expected": undefined("why")}, None).text)
        noted(scan_words.notes_of(describer, best))
    result = ScanResult(
        question="?", null="", verdict=Verdict("found", "found: so"), estimates=(best_of(1.0, people),),
        details={"search": "exact", "label": "accuracy", "confidence_level": 0.95, "null_draws": people},
    )  # fmt: skip
    assert all(whole(text) for text in result.reading()[1:])
    reads(result.verdict_of_shown(result.estimates))
    masked = undefined("fewer than 10 of 500", masked=True)
    row = {**best_of(1.0, people), "rank": people, "subgroup": "x: a; y: b", "p_value": undefined("not tested"),
           "difference": masked, "rate_low": value, "rate_high": 1.0}  # fmt: skip
    for one in (*result.close_ups(), *replace(result, estimates=(row,)).close_ups()):
        assert all(whole(text) for text in one.found)
        assert all(reads(text) for _, text in one.numbers)


@pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")
@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_scan_of_every_class(count: int) -> None:
    rows = [best_of(0.5, 1)] * count
    reads(every_class._verdict(METRICS["accuracy"], rows).text)
    whole(every_class._few_draws(count, 10**9, count).text)
    verdict = Verdict("found", "found: so")
    for more in (0, 1):
        untested = [{**best_of(0.5, 1), "p_value": undefined("why")}] * more
        result = ScanEachResult(question="?", null="", verdict=verdict, estimates=tuple(rows + untested))
        assert all(whole(text) for text in result.reading()[1:])
    scanned = ft.scan(few_people(), "selection_rate", permutations=19)
    reads(scanned.verdict.text)
    noted(scanned.notes)


@pytest.mark.parametrize("name", ["stratified", "propensity"])
def test_nulls_of_scan(name: Any) -> None:
    for strata, share, yes in product((0, 1, 10**6), (0.0, 1.0), (True, False)):
        moved = Like(strata=strata, moves=lambda strata=strata: np.ones(strata))
        rung: Any = Rung(name=name, by_ladder=yes, matched=moved, share=share, on_score=yes)
        whole(rung.note(_blocks(((0, 1),), ("X",)) if yes else _blocks((), ())).text)


# -- improve ----------------------------------------------------------------------------------------------------------
def improved(value: float, count: int, **changes: Any) -> dict[str, Any]:
    """The details of improve, every number `value` and every count `count`."""
    claim = {
        "accuracy_labels": ["accuracy"], "margins": [[value, value]], "weighted": None, "groups": ["a", "b"],
        "better_lower": [], "margin_kind": "absolute", "rates": ["accuracy"], "fairness_labels": ["selection rate"],
        "scale": "difference", "reduction": abs(value), "fairness_is_rate": True, **changes,
    }  # fmt: skip
    levels = [{"group": g, "rule": r, "use": "accuracy", "metric": "accuracy", "mean": value}
              for g in ("a", "b", "everyone") for r in ("status quo", "alternative")]  # fmt: skip
    return {
        "claim": claim, "all_rows": False, "splits": [{"p_value": 0.0, "proved": "is proved best"}] * max(1, count % 7),
        "aggregate": "median", "alpha": 0.05, "p_value": 0.01, "few_losses": None, "rows": count, "levels": levels,
        "gaps": [{"metric": "selection rate", "mean_status_quo": value, "mean_alternative": value}],
        "margins": [{"margin": abs(value), "p_value": 1.0}], "search": [{}] * min(count, 3),
        "surface": [{"level": 0.05, "corners": [{"fairness": abs(value), "accuracy": 1.0}]}],
        "least_discriminatory": {"gap": value, "accuracy": value, "candidate": "a rule"},
        "smallest_possible_gap": value,
        "refit": {"shown": False, "candidate": "A rule", "changes": [
            {"group": "A", "gain_decision": count, "lose_decision": count, "n": count}]},
    }  # fmt: skip


@pytest.mark.parametrize(("value", "count"), list(product((*NUMBERS, 0.01), COUNTS)))
def test_improve(value: float, count: int) -> None:
    ways: list[dict[str, Any]] = [
        {}, {"margin_kind": "relative"}, {"rates": [], "fairness_is_rate": False}, {"scale": "ratio"},
        {"weighted": "groups"}, {"weighted": "everyone"}, {"better_lower": ["accuracy"], "margins": [[value, 0.5]]},
    ]  # fmt: skip
    for changes, all_rows in product(ways, (True, False)):
        details = {**improved(value, count, **changes), "all_rows": all_rows}
        whole(improve_words.question_of(details))
        whole(improve_words.null_of(details))
        for p_value, few in ((0.01, None), (1.0, None), (1.0, count)):
            reads(improve_words.verdict_of({**details, "p_value": p_value, "few_losses": few}).text)
        for text in improve_words.sentences_of(details):
            whole(text)
        rules = [{"gap_alternative": value}, {"gap_alternative": -value}, {"gap_alternative": None}]
        forward = {"p_first": abs(value), "count": max(count, 2), "rules": rules}  # never fewer
        for text in improve_words.sentences_of({**details, "learned_forward": forward}):
            whole(text)
        for text in improve_words.sentences_of({**details, "smallest_possible_gap": None, "search": [{}]}):
            whole(text)


# -- transport --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("value", "count"), list(product((0.0, -0.0, 1.0, 1e-9, 0.01, 1e9), COUNTS)))
def test_transport(value: float, count: int) -> None:
    cells = [
        Like(metric="accuracy", reference=reference, attribute="g", group=f"g{reference}")
        for reference in (0, 1)
    ]
    contrasts = Like(families=[0, 1], disjoint=False)
    for by in ([], ["g"], [{"g": "a"}, {"g": "b"}]):
        whole(transport_words.question_words(Like(by=by, name="equalized_odds")))  # type: ignore[arg-type]
    rates: Any = Like(cells=cells, name="equalized_odds", contrasts=contrasts, left_out=[0] * min(count, 2),
                      compared_rows=np.ones(min(count, 5), dtype=bool), counts=np.ones(min(count, 5)))  # fmt: skip
    for direction in ("differs", "above", "below"):
        for allowed in (np.full(2, min(value, 1.0)), np.array([min(value, 1.0), 0.3])):
            whole(transport_words.null_words(rates, allowed, direction))
            long: Any = Like(cells=[Like(metric="a" * 300)], name="odds")
            whole(transport_words.null_words(long, allowed, direction))
    row = {"metric": "accuracy", "group": "A", "target": "B", "difference": value, "difference_low": value,
           "difference_high": value}  # fmt: skip
    details = {
        "moved": float(count) * 0.01,
        "compared": count,
        "mean_shift": value,
        "distance": {"unit": "log-odds"},
    }
    limits = {
        f"{size}_{end}": abs(value)
        for size in ("moved", "statistic", "mean_shift")
        for end in ("low", "high")
    }
    for intervals in (limits, dict.fromkeys(limits, undefined("why"))):
        noted(transport_words.size_notes({**details, "intervals": intervals, "confidence_level": 0.95}))
    few: Any = Like(metric="accuracy", group="A", n=count)
    assert "rows" in transport_answer._left_out_row(few, count + 1)["state_reason"]
    assert "nobody" in transport_answer._left_out_row(few, count)["state_reason"]
    for rows, p_value in product(([], [row], [row, row]), (0.0, 1.0)):
        test: Any = Like(p_value=p_value)
        ends = dict.fromkeys(range(len(rows)), (value, value))
        reads(transport_words.verdict(rows, details, test, 0.95, ends).text)
        reads(transport_words.verdict(rows, {**details, "moved": undefined("why")}, "few", 0.95, ends).text)
    distances = Like(values=np.full(min(count, 5), INF), notes=())
    for change in (Like(distances=distances, after=Like(shared=count), why_none=""),
                   Like(distances=Like(values=None, notes=()), after=None, why_none="no score")):  # fmt: skip
        noted(transport_words.notes(rates, change, max(1, count)))  # type: ignore[arg-type]
    band = {"share_at_edge": 0.5, "at_edge": count, "group": "A", "metric": "accuracy", "mass": float(count),
            "direction": "up", "farthest": value}  # fmt: skip
    result = TransportResult(question="?", null="", verdict=Verdict("violated", "violated: so"), estimates=(),
                             details={**details, "bands": [band]})  # fmt: skip
    assert all(whole(text) for text in result.reading()[1:])


# -- watch ------------------------------------------------------------------------------------------------------------
def watching(**changes: Any) -> Any:
    given = {
        "repeated": "these people", "band": (-0.05, 0.05), "scale": "difference", "binary": True, "label": "accuracy",
        "target": Like(label="everyone else"), "alpha": 0.05, "closed": True, "confidence_level": 0.95, "waiting": 1,
        "reference": ("1", "1"), "run_length": 1, "block": 5, "width": 1.0,
    }  # fmt: skip
    return Like(**{**given, **changes})


@pytest.mark.parametrize(("value", "count"), list(product(NUMBERS, (0, 1, 2, 5))))
def test_watch(value: float, count: int) -> None:
    ways: list[dict[str, Any]] = [
        {}, {"band": None}, {"band": (-0.0, 0.0)}, {"scale": "ratio", "band": (0.8, 1.25)}, {"binary": False},
        {"repeated": "once", "reference": None, "closed": False}, {"run_length": 10**9},
    ]  # fmt: skip
    ends = [f"{scale}{end}" for scale in ("difference", "ratio") for end in ("", "_low", "_high")]
    states = ((None, None), ("violated", "certified"), ("none-shown", "undetermined"))
    for changes, since, (state, average), alarm in product(ways, (None, "1"), states, (-1, 0)):
        asked = watching(**changes)
        row = {
            "group": "A",
            "since": since,
            "state": state,
            "average_state": average,
            **dict.fromkeys(ends, value),
        }
        windows = [
            {
                "first": "1",
                "last": "1",
                "group": "A",
                "average_state": average,
                "violated": state == "violated",
            }
        ]
        item = {"group": "A", "since": "1", "alarm": "1"}
        details = {"joint": {"since": since}, "first_period": "1", "last_period": "1", "windows": windows[:count],
                   "changes": [item] * (count if alarm < 0 else max(1, count)), "late_log_e": 9.0}  # fmt: skip
        longest = np.full(1, count)
        monitor: Any = Like(rule=Like(level=3.0), late_evidence=lambda: 9.0, left_out=count, periods=["1"] * count,
                            groups=["A"] * count, waiting={str(i): 1 for i in range(count)},
                            limits_together=lambda place: np.full(2, value),
                            streams=Like(longest=longest, alone=longest, weight=np.ones(1),
                                         alarm=np.full((1, 2), alarm)))  # fmt: skip
        rows = [row] * max(1, count)
        said = watch_words.reading(asked, monitor, rows, details)
        for text in said.rest:
            whole(text)
        if asked.reference or alarm < 0:
            reads(watch_words.verdict(asked, monitor, rows, said).text)
        whole(watch_words.question(asked))
        whole(watch_words.null(asked))
        noted(watch_words.notes(asked, monitor))


# -- plan -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("groups", "reached"), list(product((1, 2, 10**6), (-1, 0, 9))))
def test_plan(groups: int, reached: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = plan_words.PlanAssumptions(METRICS["accuracy"], 0.2, None, True, 1.0, groups, 0.8, 0.95)
    band = (-0.05, 0.05)
    for given in (asked, replace(asked, rate=None, deviation=1.0)):
        for _, words, _ in [*plan_words._goals(given, band, 1.0), *plan_words._goals(given, None, -0.1)]:
            reads(words)
    for members in (1, 2, 10**12):
        lines = [{"members": members, "goal": "certify within 5.0 points"}]
        reads(plan_words._verdict(lines, "accuracy", 0.8).text)
        reads(plan_words._verdict(lines * 2, "accuracy", 0.999).text)
    design = plan_words.RowDesign
    designs = (None, design(5.0, 0.1), design(spread=1.0), design(2.0, 1e-9, 0.01), design(differing=0.1))
    for known, rate, design in product((True, False), (0.2, None), designs):
        given = replace(asked, target_known=known, rate=rate, deviation=None if rate else 1.0, design=design)
        noted(plan_words._notes(given, reached > 0))
    verdict = Verdict("planned", "accuracy: so many")
    plan = declared_methods()["plan"].result(
        question="?", null="", verdict=verdict, estimates=(), details={"curves": [], "label": "accuracy"}
    )
    monkeypatch.setattr(planned, "simulate", lambda *_: np.full(1000, reached))
    monkeypatch.setattr(planned, "answer", lambda *_: plan)
    for each in (1, 2, 10**6):
        watched = planned.answer_watched(asked, band, 0.1, each)  # type: ignore[arg-type]
        reads(watched.verdict.text)
        noted(watched.notes)
        assert whole(watched.reading()[1])


# -- the trial --------------------------------------------------------------------------------------------------------
def entry(effect: float, **changes: Any) -> FamilyEntry:
    given = FamilyEntry(
        "s",
        "measure",
        "accuracy",
        "A",
        "B",
        0.0,
        0.0,
        True,
        effect,
        None,
        None,
        "points",
        1,
        0.95,
        False,
        0,
        False,
        0.0,
    )
    return replace(given, **changes)


def ledger_line(gap: float, **changes: Any) -> LedgerLine:
    given = LedgerLine(
        metric="selection_rate", label="selection rate", kind="percent", who="g: A", against="g: B", people="A people",
        others="B people", n=9, target_n=1, rate=0.5, target_rate=0.5 - gap, difference=gap, difference_low=gap - 1,
        difference_high=gap + 1, ratio=0.7, ratio_low=0.5, ratio_high=0.9, level=0.95, p_value=0.0, adjusted=0.0,
        tested=True, shown=True, detectable=0.05, sections=("s",),
    )  # fmt: skip
    return replace(given, **changes)


TOLERATED = [
    {"scale": scale, "tolerance": band, "state": state}
    for scale, band in (("difference", [-0.05, 0.05]), ("difference", [None, 0.05]), ("ratio", [0.8, 1.25]))
    for state in ("certified", "violated", "undetermined")
]


def certification(code: str, **details: Any) -> Any:
    verdict = Verdict(code, f"{code}: so it is")
    return Like(
        kind="certify", verdict=verdict, details={"statement": None, **details}, estimates=(), claims=list
    )


def description(code: str) -> Any:
    verdict = Verdict(code, f"{code}: so it is")
    return Like(
        kind="measure", verdict=verdict, details={"described": ["base_rate"]}, estimates=(), claims=list
    )


@pytest.mark.parametrize(("effect", "kind"), list(product((0.3, -0.3, 1e-9), ("percent", "number", "other"))))
def test_verdicts_of_a_trial(effect: float, kind: str) -> None:
    line = ledger_line(effect, kind=kind, certificates=(TOLERATED[0],))
    lines = [line, replace(line, who="g: C", shown=False, certificates=()), replace(line, difference=None)]
    open_ = entry(effect, significant=False, adjusted=1.0)
    better = entry(effect, method="improve", comparison=None)
    families = [[], [entry(effect)], [open_], [open_, open_, better]]
    certified = [certification(code) for code in ("certified", "violated", "undetermined")]
    one_scale = certification("certified", scale="difference", ratios_within=False)
    answers = [[], certified[:1], certified[1:2], certified[2:], certified, certified[1:2] * 2, [one_scale]]
    answers += [[description("described")], [description("none-shown")]]
    for told, family, asked, unanswered in product((lines, lines[1:2], []), families, answers, (0, 1, 2)):
        for alone in ((), ("s",)):
            whole(conclude(told, family, [("s", result) for result in asked], unanswered, alone).text)


@pytest.mark.parametrize(("gap", "kind"), list(product((*NUMBERS[:5], 0.05), ("percent", "number", "other"))))
def test_two_facts(gap: float, kind: str) -> None:
    """What is said of one comparison, with every certificate and without."""
    for certificate, shown, within, ratio in product(
        (None, *TOLERATED), (True, False), ((), ("x", "y")), (None, 0.7, 1.0, 1.4)
    ):
        told = () if certificate is None else (certificate,)
        line = ledger_line(gap, kind=kind, shown=shown, within=within, ratio=ratio, certificates=told)
        whole(two_facts.difference_words(line))
        assert not told or whole(two_facts.tolerance_words(line))
        reads(two_facts.clearest_words(line))
        whole(line_sentence(line, FileWords()))
        whole(line_sentence(replace(line, rate=None), FileWords()))
        whole(line_sentence(replace(line, difference=None, rate=None, against=""), FileWords()))
        assert not (power := two_facts.power_words([line, replace(line, detectable=0.4)])) or whole(power)
        assert ratio is None or reads(two_facts.ratio_words(line))


@pytest.mark.parametrize(("one", "other"), list(product((0.0, -0.0, 1.0, 1e-9, 0.5), repeat=2)))
def test_in_people(one: float, other: float) -> None:
    plain = {"decision": "d", "outcome": "y"}
    scored = {"score": "s", "threshold": 0.5, "outcome": "y", "positive": {"outcome": "yes"}}
    median = {"score": "s", "threshold": "median", "outcome": "defaulted"}
    said = {"decision": "were held", "outcome": "came back", "people": "defendants"}
    files = [{"data": plain}, {"data": scored}, {"data": median}, {"data": plain, "words": said}]
    for metric, file, against in product(METRICS.values(), files, ("B people", "everyone else", "overall")):
        text = in_people(metric, FileWords.of(file), (("A people", one), (against, other)))
        assert text is None or whole(text)


def few(rates: tuple[float, float], **more: Any) -> Any:
    data = pd.DataFrame({"g": ["a"] * 200 + ["b"] * 200 + ["c"] * 5, "x": ["u", "v"] * 202 + ["u"]})
    random = np.random.default_rng(1)
    chance = np.where(data["g"] == "a", *rates)
    data["d"] = (random.random(405) < chance).astype(int)
    data["y"] = (random.random(405) < 0.5).astype(int)
    data["pay"] = np.exp(chance + random.normal(size=405)).round(2)
    roles = {"decision": "d", "groups": ["g"], "favourable": 1, **more.pop("data", {})}
    return ft.run(
        {"data": {name: value for name, value in roles.items() if value is not None}, **more}, data=data
    )


RATE, ALIKE = {"metric": "selection_rate"}, {"metric": "selection_rate", "within": ["x"]}
SCREENS: list[dict[str, Any]] = [
    {"measure": RATE}, {"measure": [RATE, ALIKE]}, {"flag": {**RATE, "direction": "differs"}},
    {"certify": {**RATE, "tolerance": 0.05}}, {"certify": {**RATE, "tolerance": 0.6, "scale": "difference"}},
    {"certify": {**RATE, "tolerance": 0.8, "scale": "ratio"}, "measure": RATE},
    {"measure": {"metric": ["selection_rate", "fpr", "fnr"]}, "data": {"outcome": "y"}},
    {"preset": "general", "data": {"decision": "pay", "favourable": "high"}},
    {"measure": {"metric": "base_rate"}, "data": {"decision": None, "outcome": "y", "favourable": None}},
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")
@pytest.mark.parametrize("rates", [(0.2, 0.7), (0.5, 0.5), (0.0, 0.0)])
def test_first_screens(rates: tuple[float, float]) -> None:
    for asked in SCREENS:
        trial = few(
            rates,
            **{name: dict(value) if isinstance(value, dict) else value for name, value in asked.items()},
        )
        content = trial.to_dict()
        shown = first_screen(content)
        texts = [shown["headline"], *(answer for _, answer in shown["answers"])]
        for pieces in texts:
            whole("".join(piece["text"] for piece in pieces))
        for finding in findings(content):
            assert all(reads(finding[name]) for name in ("what", "sentence", "tolerance") if finding[name])
        assert trial.summary()
        assert summary_markdown(content)


def test_one_gap() -> None:
    """Why two sections show different numbers."""
    row = {"metric": "selection_rate", "group": "A", "rate": 1.0, "difference": 0.1}
    sections = [
        {
            "id": name,
            "title": "",
            "result": {
                "estimates": [{**row, "difference": place / 10}],
                "details": {"within": ["x"] if place else None},
                "question": "Who is it?",
                "provenance": {"arguments": {"target": against}},
            },
        }
        for place, (name, against) in enumerate((("s", 0.0), ("t", "rest"), ("u", {"g": "a"})))
    ]
    told = why_numbers_differ(sections)
    assert told
    assert all(whole(text) for text in told.values())


@pytest.mark.parametrize("wrong", [
    "by -0.0 points", "1 rows were left out", "of 1 groups", "1 protected classes", "it is not not so", "The the rate",
    "Violated: violated: so", "a  b", "a , b", "so..", "is nan", "is None", "is True", "with sex=f", "about 1e+09",
    "{'a': 1}", "of all 1 row", "So. it is", "",
])  # fmt: skip
def test_the_rules_can_fail(wrong: str) -> None:
    with pytest.raises(AssertionError):
        reads(wrong)


def test_counts() -> None:
    assert [counted(n, "row") for n in COUNTS] == ["0 rows", "1 row", "2 rows", "1,000,000,000 rows"]


# -- every method once, on few people ---------------------------------------------------------------------------------
def few_people() -> ft.Audit:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"G": ["A", "B"] * 60, "X": random.integers(0, 2, 120), "w": np.repeat([1, 2, 3], 40)}
    )
    frame["y"], frame["d"] = (random.random(120) < 0.4).astype(int), (frame["G"] == "A").astype(int)
    frame.loc[::7, "d"] = 0
    frame.loc[1::5, "d"] = 1
    return ft.Audit(frame, decision="d", outcome="y", groups="G", features=["X"])


def runs(folder: Path) -> dict[str, Callable[[], Any]]:
    """One small run of every declared method; a new one has to be added here."""
    audit = few_people()
    explanation = ft.explain(audit, "selection_rate")
    one = {"candidates": [LogisticRegression()], "splits": 1, "bootstrap": 100}
    return {
        "measure": lambda: ft.measure(audit, "selection_rate"),
        "certify": lambda: ft.certify(audit, "selection_rate", tolerance=0.05),
        "flag": lambda: ft.flag(audit, "selection_rate"),
        "scan": lambda: ft.scan(
            audit, "selection_rate", protected={"G": "A"}, permutations=19, null="propensity"
        ),
        "explain": lambda: ft.explain(audit, "separation"),
        "compare": lambda: explanation.compare(explanation),
        "improve": lambda: ft.improve(audit, "accuracy", "selection_rate", **one),
        "transport": lambda: ft.transport(audit, "statistical_parity"),
        "watch": lambda: ft.watch(str(folder / "state.jsonl"), audit, "selection_rate", period="w"),
        "plan": lambda: ft.plan("selection_rate", rate=0.2, disparity=0.3),
        "tabulate": lambda: ft.tabulate(audit, "adverse-impact"),
    }


@pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")
def test_every_method_reads_as_english(tmp_path: Path) -> None:
    every = runs(tmp_path)
    assert set(every) == {*declared_methods(), CompareResult.kind}
    for run in every.values():
        result = run()
        for text in (result.question, result.null):
            whole(text)
        reads(result.verdict.text)
        for text in result.reading():
            reads(text)
        noted(result.notes)


# -- no template goes unsaid ------------------------------------------------------------------------------------------
# Where each method's sentences are made; those of measure, certify and flag are written out in test_sentences.py.
MODULES = {
    "measure": (), "certify": ("compare.certify_answer",), "flag": (),
    "scan": ("scan.answer", "scan.every_class", "scan.matched_scan", "scan.result"),
    "explain": ("explain.answer", "explain.verdict_and_notes"),
    "compare": ("explain.two_rules",),
    "improve": ("improve.sentences",), "transport": ("transport.answer", "transport.result"),
    "watch": ("watch.sentences",), "tabulate": ("compare.tables",),
    "plan": ("plan.answer", "plan.result"),
}  # fmt: skip
WRITTEN_OUT = {
    "_compare.words",
    "_results.result",  # a saved verdict, read
    "_compare.measure_answer",
    "_compare.flag_answer",
    "_compare.certify_verdict",
    "_trial.spec.words",  # the parts of sentences, which tests/unit/test_words.py reads
}
OF_THE_TRIAL = (
    "_trial.family",
    "_trial.in_people",
    "_trial.two_facts",
    "_report.first_screen",
    "_report.one_gap",
)
LISTED = {*(f"_{name}" for names in MODULES.values() for name in names), *OF_THE_TRIAL}
FAULTS = {"Fault", "Words", "InputError", "NotApplicable", "add"}  # refusals have tests of their own
SOURCE = Path(ft.__file__).parent


# What each criterion or order comes to: rates of two groups, people in each, and what is asked.
SEVERAL_RATES = [
    ((0.5, 0.5), 4_000, {"tolerance": 0.2}), ((0.2, 0.7), 4_000, {"tolerance": 0.1}),
    ((0.5, 0.5), 200, {"tolerance": 0.05}),
    ((0.2, 0.7), 4_000, {}), ((0.5, 0.5), 200, {}),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")
@pytest.mark.parametrize("case", SEVERAL_RATES)
def test_criteria_and_cuts(case: Any) -> None:
    rates, people, asked = case
    place = np.arange(people) % 100 / 100
    decided = np.concatenate([place < rate for rate in rates]).astype(int)
    data = {
        "g": np.repeat(["a", "b"], people), "decided": decided, "outcome": np.tile(np.arange(people) // 100 % 2, 2),
        "band": np.array(["no", "later", "yes"])[decided + np.tile(place < 0.1, 2)],
    }  # fmt: skip
    audit = ft.Audit(data, decision="decided", outcome="outcome", groups="g")
    for criterion in ("separation", "sufficiency"):
        reads(ft.certify(audit, criterion, **asked).verdict.text)
        reads(ft.papers.elfa.certify(audit, criterion, target_method="profile", **asked).verdict.text)
    ordered = ft.Audit(data, decision="band", order=["no", "later", "yes"], groups="g")
    reads(ft.certify(ordered, "selection_rate", **asked).verdict.text)
    reads(ft.flag(audit, "separation", **asked).verdict.text)


def test_scan_with_people_of_several_rows() -> None:
    data = {
        "g": ["a", "b"] * 60,
        "d": [1, 0, 0, 1] * 30,
        "x": ["p", "q", "q"] * 40,
        "person": [i // 2 for i in range(120)],
    }
    data["g"] = ["a" if i // 2 % 2 else "b" for i in range(120)]
    audit = ft.Audit(data, decision="d", groups="g", features=["x"], unit="person")
    with pytest.raises(ft.InputError, match="draws row by row"):
        ft.scan(audit, "selection_rate", protected={"g": "a"}, direction="above", null="propensity")


def test_bias_record() -> None:
    audit = ft.Audit({"g": ["a", "b"] * 60, "d": [0, 1, 1] * 40}, decision="d", groups="g")
    record = {"group": {"g": "a"}, "threshold": 0.1}
    for records in ([record], [record, {"group": {"g": "b"}}]):
        reads(ft.tabulate(audit, "bias-record", records=records).verdict.text)
    with pytest.raises(ft.InputError, match="takes no 'hazzard'"):
        ft.tabulate(audit, "bias-record", records=[{**record, "hazzard": "x"}])


def parts_of(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all below it but for refusals and nested functions."""
    yield node
    for child in ast.iter_child_nodes(node):
        named = getattr(getattr(child, "func", None), "id", getattr(getattr(child, "func", None), "attr", ""))
        if named not in FAULTS and not isinstance(child, ast.FunctionDef | ast.Raise):
            yield from parts_of(child)


def templates(path: Path) -> set[tuple[str, int]]:
    """Functions with a format string of more than one word, each by its name and first line."""
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    found = set()
    for function in functions:
        strings = [part for part in parts_of(function) if isinstance(part, ast.JoinedStr)]
        literal = [
            value.value for part in strings for value in part.values if isinstance(value, ast.Constant)
        ]
        if any(" " in str(text).strip() for text in literal) and not function.name.startswith("_check"):
            first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
            found.add((function.name, first))
    return found


def test_every_method_with_templates_is_listed() -> None:
    assert set(MODULES) == {*declared_methods(), CompareResult.kind}
    made = {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for path in SOURCE.glob("_*/**/*.py")
        if "_results" not in path.parts
        and ("Verdict(" in path.read_text() or path.stem in ("words", "sentences"))
    }
    assert made - LISTED - WRITTEN_OUT == set()


@pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")
def test_no_template_goes_unsaid(request: pytest.FixtureRequest) -> None:
    said: set[tuple[str, str, int]] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            said.add((frame.f_code.co_filename, frame.f_code.co_name, frame.f_code.co_firstlineno))

    sys.setprofile(note)
    try:
        say_everything(request)
    finally:
        sys.setprofile(None)
    unsaid = []
    for name in sorted(LISTED):
        path = Path(str(import_module(f"fairtrial.{name}").__file__))
        unsaid += [
            f"{name}.{own}" for own, line in sorted(templates(path)) if (str(path), own, line) not in said
        ]
    assert unsaid == []


def say_everything(request: pytest.FixtureRequest) -> None:
    """Every test above with the first, the middle and the last of its values."""
    here = [test for name, test in globals().items() if name.startswith("test_") and "template" not in name]
    for test in here:
        fixtures = {
            name: request.getfixturevalue(name)
            for name in ("monkeypatch", "tmp_path")
            if name in test.__annotations__
        }
        marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
        values = list(marks[0].args[1]) if marks else [()]
        several = bool(marks) and not isinstance(marks[0].args[0], str)
        for value in values[:: max(1, len(values) // 4)]:
            test(*(value if several or not marks else (value,)), **fixtures)
            if "monkeypatch" in fixtures:
                fixtures["monkeypatch"].undo()


@pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")
def test_notes_of_a_scan_about_one() -> None:
    """One row that lacks something, one person who is in neither class, one stratum, one subgroup."""
    data = {"d": [0, 1] * 40 + [1], "g": ["a", "a", "b", "b"] * 20 + ["c"], "X": ["u"] * 80 + [None]}
    roles = {"decision": "d", "groups": ["g"], "missing": "drop"}
    lacks = ft.scan(
        ft.Audit(data, features=["X"], **roles), "selection_rate", protected={"g": "a"}, target={"g": "b"},
        permutations=19,
    )  # fmt: skip
    noted(lacks.notes)
    left = ft.scan(
        ft.Audit(data, **roles), "selection_rate", protected={"g": "a"}, target={"g": "b"}, permutations=19
    )
    noted(left.notes)
    texts = " ".join(note.text for note in (*lacks.notes, *left.notes))
    assert "1 person who is neither" in texts
    assert "a proof over the one subgroup there is" in texts
    assert "(1 of 1 stratum)" in texts
