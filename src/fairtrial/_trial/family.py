"""Many questions, one error: Holm or max-T over every primary p-value of the trial, and the verdict after it.

Certifications are not in the family: each says "certified" only when its whole interval lies inside the band, and
that all of them do is an intersection-union statement, which needs no correction (Berger, 1982).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from fairtrial._compare.words import place_words
from fairtrial._inference.multiplicity import Dependence, holm, max_t
from fairtrial._method.declaration import Shows, find_method
from fairtrial._metrics.table import METRICS
from fairtrial._results.claims import Claim, claimed_rows
from fairtrial._results.column import Primary, Tone, Verdict
from fairtrial._results.result import Result
from fairtrial._results.text import counted

NAME_THE_DECISION = "Name the decision to have it tested."
CORRECTIONS = {"holm": "Holm", "max-t": "max-T"}  # as sentences name them
TONES: dict[str, Tone] = {
    "violated": "bad",
    "certified": "good",
    "undetermined": "open",
}  # of a trial's verdict


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
    results: Iterable[tuple[str, Result]], alpha: float, dependence: Dependence | None = None, seed: int = 0
) -> list[FamilyEntry]:
    """Every primary p-value of the trial, adjusted together, strongest first: by Holm, or by max-T given how they
    depend on each other."""
    listed = list(primaries(results))
    p = [primary.p_value for _, _, primary in listed]
    adjusted = [float(value) for value in (holm(p) if dependence is None else max_t(p, dependence, seed))]
    entries = [
        FamilyEntry(
            section, result.kind, primary.metric, primary.subject, primary.against, float(primary.p_value), value,
            bool(value <= alpha), primary.effect, primary.low, primary.high, primary.kind, primary.n,
            result.confidence_level, primary.of_many,
        )
        for (section, result, primary), value in zip(listed, adjusted, strict=True)
    ]  # fmt: skip
    return sorted(entries, key=lambda entry: (entry.p_value, -abs(entry.effect or 0.0)))


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
    entries: Sequence[FamilyEntry],
    results: Sequence[tuple[str, Result]],
    alpha: float,
    unanswered: int,
    correction: str = "holm",
) -> Verdict:
    """The verdict of the whole trial, after correction."""
    level = f"{alpha:.0%}" if round(alpha * 100, 6).is_integer() else f"{alpha:.1%}"
    level = f"{CORRECTIONS[correction]}, {level}"
    tested = [entry for entry in entries if shows(entry.method) == "disparity"]
    if any(entry.significant for entry in tested):
        code, text = "violated", _shown(tested, results, level)
    elif not results:
        code, text = "undetermined", "Nothing can be said: no question was answered."
    elif only_describes([entry.method for entry in entries], results):
        code, text = "undetermined", _described(results)
    else:
        code, text = _without_finding(tested, results, unanswered, level)
    return Verdict(code, f"{text}{_rest(entries, unanswered)}")


def _shown(tested: Sequence[FamilyEntry], results: Sequence[tuple[str, Result]], level: str) -> str:
    """How many tests show a disparity, and the clearest of them."""
    shown = [entry for entry in tested if entry.significant]
    tests = f"{_of(len(shown), len(tested), 'test')} {'shows' if len(shown) == 1 else 'show'}"
    remains = f"a disparity that remains after correction over the whole trial ({level})."
    return f"{tests} {remains}{_clearest(shown, results)}"


def _without_finding(
    tested: Sequence[FamilyEntry], results: Sequence[tuple[str, Result]], unanswered: int, level: str
) -> tuple[str, str]:
    """The verdict where no test shows a disparity: from the certifications, if all of them say the same."""
    certified = [result for _, result in results if shows(result.kind) == "certificate"]
    codes = {result.verdict.code for result in certified}
    if "violated" in codes and not tested:
        return _from_certifications(certified)
    if codes != {"certified"} or unanswered:
        return "undetermined", _undetermined(tested, certified, level)
    text = "; ".join(map(_certified_words, certified))
    also = f" {_none_of(len(tested))} a disparity." if tested else ""
    return "certified", f"Certified: {text}.{also} This covers nothing else."


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
        said = certified[0].verdict.text.rstrip(".")
        return "violated", f"{said[:1].upper()}{said[1:]}."
    text = (
        f"Undetermined: {_of(refused, len(certified), 'certification')} found a violation, each at its own "
        "level; no test that is corrected over the whole trial was asked for. Add a [flag] section to "
        "settle it."
    )
    return "undetermined", text


def _undetermined(tested: Sequence[FamilyEntry], certified: Sequence[Result], level: str) -> str:
    parts = []
    if tested:
        parts.append(
            f"Undetermined: no disparity is shown after correction over the whole trial "
            f"({counted(len(tested), 'test')}, {level}). That is not evidence of fairness."
        )
    else:
        parts.append("Undetermined: this trial holds no test of a disparity.")
    refused = sum(result.verdict.code == "violated" for result in certified)
    if refused:
        level_words = "its own level" if refused == 1 else "their own levels"
        parts.append(f"{_of(refused, len(certified), 'certification')} found a violation at {level_words}.")
    elif certified and not all(result.verdict.code == "certified" for result in certified):
        parts.append("Not every certification could be given.")
    return " ".join(parts)


def _none_of(tests: int) -> str:
    return "The only test does not show" if tests == 1 else f"None of {tests:,} tests shows"


def _rest(entries: Sequence[FamilyEntry], unanswered: int) -> str:
    text = ""
    if any(entry.significant for entry in entries if shows(entry.method) == "alternative"):
        text += " A less discriminatory alternative that is as good exists."
    if unanswered:
        text += f" {counted(unanswered, 'question')} could not be answered: the verdict covers the others."
    return text


def _clearest(shown: Sequence[FamilyEntry], results: Sequence[tuple[str, Result]]) -> str:
    """The strongest finding that can be said in one plain sentence."""
    found = clearest(
        [entry.to_dict() for entry in shown],
        {section: (result.estimates, result.details) for section, result in results},
    )
    if found is None:
        return ""
    place = place_words(
        found["effect"], found["against"], "points" if found["kind"] == "points" else "number"
    )
    return f" The clearest: the {found['metric']} of {found['subject']} is {place}."


def clearest(
    family: Iterable[Mapping[str, Any]],
    tables: Mapping[str, tuple[Sequence[Mapping[str, Any]], Mapping[str, Any]]],
) -> Mapping[str, Any] | None:
    """The entry that every view tells first: the strongest disparity in points or numbers, one that harms where
    there is any; `tables` are the sections' rows and details."""
    harmed = {
        (section, row.get("group"), metric_label(row, details))
        for section, (rows, details) in tables.items()
        for row in rows
        if row.get("effect") == "harmed"
    }
    told = [entry for entry in family if entry["significant"] and _is_plain(entry)]
    harms = (entry for entry in told if (entry["section"], entry["subject"], entry["metric"]) in harmed)
    return next(harms, next(iter(told), None))


def _is_plain(entry: Mapping[str, Any]) -> bool:
    """Whether one sentence says it; several equalities at once have no rate of their own to speak of."""
    if shows(entry["method"]) != "disparity" or entry["of_many"] or entry["kind"] not in ("points", "number"):
        return False
    return bool(entry["effect"] and entry["subject"] and entry["against"])


def metric_label(row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    """The label of a row's metric, as its result (with these details) calls it; empty for one not of the table."""
    name = str(row.get("metric"))
    if name not in METRICS:
        return ""
    labels = details.get("labels", {name: details.get("label")})
    return str(labels.get(name) or METRICS[name].label)


def _of(count: int, total: int, noun: str) -> str:
    return f"{count:,} of {counted(total, noun)}"
