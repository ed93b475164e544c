"""Many questions, one error: Holm or max-T over every primary p-value of the trial, and the verdict after it.

Certifications are not in the family: each says "certified" only when its whole interval lies inside the band, and
that all of them do is an intersection-union statement, which needs no correction (Berger, 1982).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isclose, log
from typing import Any

from fairtrial._inference.multiplicity import Dependence, holm, max_t
from fairtrial._method.declaration import Shows, find_method
from fairtrial._metrics.table import METRICS
from fairtrial._results.claims import Claim, claimed_rows
from fairtrial._results.column import Primary, Tone, Verdict
from fairtrial._results.result import Result
from fairtrial._results.text import counted
from fairtrial._trial.ledger import LedgerLine, clearest_first, comparisons, headline_line, ledger_of
from fairtrial._trial.naming import Naming
from fairtrial._trial.two_facts import (
    clearest_words,
    difference_words,
    power_words,
    ratio_words,
    tolerance_words,
)

SAME = 1e-9  # p-values so close, relative to their size, are equal
NAME_THE_DECISION = "Name the decision to have it tested."
CORRECTIONS = {"holm": "Holm", "max-t": "max-T"}  # as sentences name them


@dataclass(frozen=True, slots=True)
class FamilyEntry:
    """One p-value of the family with its adjusted one and what it is about."""

    section: str
    method: str
    metric: str
    subject: str
    against: str
    p_value: float
    adjusted: float
    significant: bool
    effect: float | None
    low: float | None
    high: float | None
    kind: str
    n: int | None
    level: float | None
    of_many: bool
    comparison: int | None  # its line of the ledger; None of what is no difference between people
    twin: bool  # whether it repeats another: the same gap asked again, or seen from its other side
    test_p: (
        float  # the p-value by which its test is corrected: that of both sides, where one of them is asked
    )
    masked: bool = False  # whether its numbers are about so few people that they are not shown

    def to_dict(self) -> dict[str, Any]:
        """As results.json records it."""
        return {name: value for name, value in asdict(self).items() if name != "masked" or value}


def favourable_of(spec: Mapping[str, Any]) -> object:
    """What the audit file says is good for a person; None where it does not."""
    data = spec.get("data", {})
    return data.get("favourable") if isinstance(data, Mapping) else None


def shows(kind: str) -> Shows | None:
    """What small p-values of a method say: that people are treated unequally, what carries it, what could be better."""
    return find_method(kind).shows


def primaries(results: Iterable[tuple[str, Result]]) -> Iterator[tuple[str, Result, Primary]]:
    """Every p-value that is corrected together with the others: all but those of certificates and of papers."""
    for section, result in results:
        if shows(result.kind) not in ("certificate", "paper"):
            for primary in result.primary():
                yield section, result, primary


def correct(
    results: Sequence[tuple[str, Result]],
    alpha: float,
    dependence: Dependence | None = None,
    seed: int = 0,
    naming: Naming | None = None,
) -> list[FamilyEntry]:
    """Every primary p-value of the trial, adjusted together, strongest first: by Holm, or by max-T given how they
    depend on each other."""
    _, about = comparisons(results, naming or Naming())
    listed = [
        (section, result, primary, about.get((section, index)))
        for section, own in results
        for index, (_, result, primary) in enumerate(primaries([(section, own)]))
    ]
    p = [float(primary.p_value) for _, _, primary, _ in listed]
    numbers = [number for *_, number in listed]
    if dependence is None or not dependence.tests.size:
        adjusted = holm_once(p, numbers)
    else:
        adjusted = [*map(float, max_t(p, dependence, seed))]
    tests = single_tests(p, numbers)
    again = repeats(tests, adjusted)
    entries = [
        FamilyEntry(
            section, result.kind, primary.metric, primary.subject, primary.against, float(primary.p_value), value,
            bool(value <= alpha), primary.effect, primary.low, primary.high, primary.kind, primary.n,
            result.confidence_level, primary.of_many, number, twin, test[1],
        )
        for (section, result, primary, number), value, twin, test in zip(listed, adjusted, again, tests, strict=True)
    ]  # fmt: skip
    return sorted(entries, key=lambda entry: (entry.p_value, -abs(entry.effect or 0.0)))


def single_tests(p: Sequence[float], comparisons: Sequence[int | None]) -> list[tuple[int, float]]:
    """The test that each p-value is of: its comparison, and the p-value that the test is corrected by.

    Of one comparison the two-sided p-value, its mirror image and the two one-sided ones are one test, by its two-sided
    p-value. A one-sided p-value whose other side is asked as well counts double; what follows from no other is a
    test of its own.
    """
    asked: dict[int, list[float]] = {}
    for value, number in zip(p, comparisons, strict=True):
        if number is not None:
            asked.setdefault(number, []).append(value)
    return [
        (-1 - place, value) if number is None else (number, _two_sided(value, asked[number]))
        for place, (value, number) in enumerate(zip(p, comparisons, strict=True))
    ]


def _two_sided(value: float, asked: Sequence[float]) -> float:
    """The two-sided p-value of the test that one of a comparison's p-values is a part of."""
    least = min(asked)
    if value >= 1.0 > least:
        return _two_sided(least, asked)  # the side that the data speak against
    if _like(0.5 * value, asked) is not None:
        return _like(value, asked) or value
    doubled = min(1.0, 2.0 * value)
    found = _like(doubled, asked)
    if found is None and value < 1.0 <= max(asked):
        return doubled  # both sides are asked, and nothing of the two together
    return found or _like(value, asked) or value


def _like(value: float, asked: Sequence[float]) -> float | None:
    """The first of the p-values that equals it: two computations of one test may differ in their last digit."""
    return next((other for other in asked if isclose(other, value, rel_tol=SAME)), None)


def holm_once(p: Sequence[float], comparisons: Sequence[int | None]) -> list[float]:
    """Holm's p-values with every test counted once. Under no difference the two-sided p-value keeps the level of its
    comparison, so that Holm over comparisons keeps that of the trial; no p-value falls below itself."""
    tests = single_tests(p, comparisons)
    distinct = list(dict.fromkeys(tests))
    adjusted = dict(zip(distinct, holm([value for _, value in distinct]), strict=True))
    return [max(value, float(adjusted[test])) for value, test in zip(p, tests, strict=True)]


def repeats(tests: Sequence[tuple[int, float]], adjusted: Sequence[float]) -> list[bool]:
    """Which p-values repeat another of the same test: all but its smallest after the correction."""
    best: dict[tuple[int, float], int] = {}
    for place, test in enumerate(tests):
        if adjusted[place] < adjusted[best.setdefault(test, place)]:
            best[test] = place
    return [best[test] != place for place, test in enumerate(tests)]


def count_tests(family: Iterable[Mapping[str, Any]]) -> int:
    """How many distinct tests there are."""
    return sum(not entry["twin"] for entry in family)


def difference_alone(sections: Sequence[Mapping[str, Any]]) -> list[str]:
    """The sections whose file asks for the difference alone, in words."""
    return [section["id"] for section in sections if section["arguments"].get("scale") == "difference"]


def corrected_claims(
    section: str, result: Result, borne_out: Collection[tuple[str, str, str]]
) -> list[Claim]:
    """The claims of one section after the correction; certifications are outside it.

    `borne_out` holds section, metric and group of every finding that remains.
    """
    if shows(result.kind) == "paper":
        return []
    if shows(result.kind) == "certificate":
        return result.claims()
    rows = claimed_rows(result)
    if len(rows) != len(result.claims()):  # claims of the method's own, which stand or fall together
        held = any(name == section for name, _, _ in borne_out)
        return [claim if held else _not_borne_out(claim) for claim in result.claims()]
    labels = result.details.get("labels", {})  # where several metrics are asked of the same groups
    remain = {(metric if labels else "", group) for name, metric, group in borne_out if name == section}
    return [
        claim if (str(labels.get(row["metric"], "")), str(row["group"])) in remain else _not_borne_out(claim)
        for row, claim in rows
    ]


def _not_borne_out(claim: Claim) -> Claim:
    return replace(claim, verdict="undetermined") if claim.verdict == "found" else claim


def conclude(
    lines: Sequence[LedgerLine],
    entries: Sequence[FamilyEntry],
    results: Sequence[tuple[str, Result]],
    unanswered: int,
    alone: Collection[str] = (),
) -> Verdict:
    """The verdict of the whole trial, after correction, told from the ledger.

    `alone` names the certifications whose file asks for the difference alone, whatever the ratio is.
    """
    tested = [line for line in lines if line.tested and not line.described]
    if any(entry.significant for entry in entries if entry.comparison is not None):
        code, text = "violated", _shown(tested)
    elif not results:
        code, text = "undetermined", "Nothing can be said: no question was answered."
    elif only_describes([entry.method for entry in entries], results):
        code, text = "undetermined", _described(results)
    else:
        code, text = _without_finding(tested, entries, results, unanswered, alone)
    return Verdict(code, f"{text}{_rest(entries, unanswered)}")


def _shown(tested: Sequence[LedgerLine]) -> str:
    """In how many comparisons a difference is shown, the clearest of them, and whether it is tolerated."""
    shown = list(clearest_first(tested))
    text = "A difference is shown"
    if len(tested) > 1:
        text += f" in {_of(len(shown), len(tested), 'comparison')}"
    told = headline_line(shown)
    if told is None or told.difference is None:
        return f"{text}."
    tolerated = tolerance_words(told)
    clearest = f"{'. The clearest' if len(shown) > 1 else ''}: {clearest_words(told)}"
    return f"{text}{clearest}.{f' {tolerated}' if tolerated else ''}"


def _without_finding(
    tested: Sequence[LedgerLine],
    entries: Sequence[FamilyEntry],
    results: Sequence[tuple[str, Result]],
    unanswered: int,
    alone: Collection[str],
) -> tuple[str, str]:
    """The verdict where no test shows a difference: from the certifications, if all of them say the same."""
    certified = [(section, result) for section, result in results if shows(result.kind) == "certificate"]
    codes = {result.verdict.code for _, result in certified}
    asked = any(entry.comparison is not None for entry in entries)
    if "violated" in codes and not asked:
        return _from_certifications([result for _, result in certified])
    if codes != {"certified"} or unanswered:
        return "undetermined", _undetermined(tested, [result for _, result in certified])
    one_scale = [section for section, result in certified if not on_both_scales(result)]
    if set(one_scale) - set(alone):
        return "undetermined", _on_one_scale(tested)
    text = "; ".join(_certified_words(result) for _, result in certified)
    covers = " It covers the difference alone, not the ratio." if one_scale else ""
    return "certified", f"Certified: {text}. {_beside(tested)}{covers} This covers nothing else."


def on_both_scales(result: Result) -> bool:
    """Whether a certificate holds for the ratio of rates as well; means and certified ratios need no other."""
    return result.details.get("scale") == "ratio" or result.details.get("ratios_within") is not False


def _beside(tested: Sequence[LedgerLine]) -> str:
    """Whether a difference is shown within the tolerance, and what would have been found if none is."""
    shown = next(clearest_first(tested), None)
    if shown is not None:
        return difference_words(shown)
    return f"No difference is shown. {power_words(tested)}".strip()


def _on_one_scale(tested: Sequence[LedgerLine]) -> str:
    """Within the tolerance as a difference and not as a ratio."""
    worst = max(
        (line for line in tested if line.ratio and not line.four_fifths),
        key=lambda line: abs(log(line.ratio or 1.0)),
        default=None,
    )
    ratio = "a ratio is not known" if worst is None else f"of {worst.who}, {ratio_words(worst)}"
    return (
        f"Not certified: every gap is within your tolerance as a difference, but {ratio}. {_beside(tested)} To "
        'certify the difference alone, write scale = "difference" under [certify].'
    )


def trial_tone(content: Mapping[str, Any]) -> Tone:
    """The colour of a whole trial: green only where no difference is shown and the power to see one is known."""
    code, told = content["verdict"]["code"], [line for line in ledger_of(content) if line.tested]
    if code == "violated":
        return "bad"
    fair = code == "certified" and not any(line.shown for line in told)
    return "good" if fair and power_words(told) else "open"


def only_describes(tested: Iterable[str], results: Sequence[tuple[str, Result]]) -> bool:
    """Whether the trial compares who people are and nothing that was decided about them; `tested` are the methods
    of the family's p-values."""
    if any(shows(kind) == "disparity" for kind in tested):
        return False
    certified = any(shows(result.kind) == "certificate" for _, result in results)
    return not certified and any(result.details.get("described") for _, result in results)


def _described(results: Sequence[tuple[str, Result]]) -> str:
    """Of the people themselves: whether they differ, and that this is no verdict on a decision."""
    differ = any(result.verdict.code == "described" for _, result in results)
    text = (
        "the groups differ, which describes"
        if differ
        else "the groups are not shown to differ; what was compared describes"
    )
    return f"Undetermined: {text} the people and not what was decided about them. {NAME_THE_DECISION}"


def _certified_words(result: Result) -> str:
    return str(result.details.get("statement") or result.verdict.text.removeprefix("certified: "))


def _from_certifications(certified: Sequence[Result]) -> tuple[str, str]:
    """Only certifications were asked for: one alone keeps its level, several leave the trial undetermined."""
    refused = sum(result.verdict.code == "violated" for result in certified)
    if len(certified) == 1:
        said = certified[0].verdict.text.removeprefix("violated: ").rstrip(".")
        return "violated", f"A gap is beyond your tolerance: {said}."
    text = (
        f"Not settled: {_of(refused, len(certified), 'certification')} found a gap beyond the tolerance, each at its "
        "own level. Add a [flag] section to test them together."
    )
    return "undetermined", text


def _undetermined(tested: Sequence[LedgerLine], certified: Sequence[Result]) -> str:
    if not tested:
        return "Not settled: nobody could be compared."
    parts = []
    shown = next(clearest_first(tested), None)
    if shown is not None:
        parts.append(f"A difference is shown: {clearest_words(shown)}.")
    else:
        parts.append(f"Not settled: no difference is shown in {counted(len(tested), 'comparison')}.")
        parts += [text for text in (power_words(tested), "That is not evidence of fairness.") if text]
    refused = sum(result.verdict.code == "violated" for result in certified)
    if refused:
        level_words = "its own level" if refused == 1 else "their own levels"
        parts.append(f"{_of(refused, len(certified), 'certification')} found a violation at {level_words}.")
    elif certified and not all(result.verdict.code == "certified" for result in certified):
        parts.append("Whether every gap is within your tolerance is not settled.")
    return " ".join(parts)


def _rest(entries: Sequence[FamilyEntry], unanswered: int) -> str:
    text = ""
    if any(entry.significant for entry in entries if shows(entry.method) == "alternative"):
        text += " A less discriminatory alternative that is as good exists."
    if unanswered:
        text += f" {counted(unanswered, 'question')} could not be answered: the verdict covers the others."
    return text


def metric_label(row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """The label of a row's metric, as its result (with these details) calls it; empty for one not of the table."""
    name = str(row.get("metric"))
    if name not in METRICS:
        return ""
    labels = details.get("labels", {name: details.get("label")})
    return str(labels.get(name) or METRICS[name].label)


def _of(count: int, total: int, noun: str) -> str:
    return f"{count:,} of {counted(total, noun)}"
