"""Many questions, one error: Holm or max-T over every primary p-value of the trial, and the verdict after it.

Certifications are not in the family: each says "certified" only when its whole interval lies inside the band, and
that all of them do is an intersection-union statement, which needs no correction (Berger, 1982).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from fairtrial.inference.multiplicity import Dependence, holm, max_t
from fairtrial.methods.declaration import Shows, declared_methods
from fairtrial.methods.gaps.words import place_words
from fairtrial.results.claims import Claim, claimed_rows
from fairtrial.results.column import Tone, Verdict
from fairtrial.results.result import Result
from fairtrial.results.text import counted

CORRECTIONS = {"holm": "Holm", "max-t": "max-T"}  # as sentences name them
TONES: dict[str, Tone] = {
    "violated": "bad",
    "certified": "good",
    "undetermined": "open",
}  # of a trial's verdict


@dataclass(frozen=True, slots=True)
class Entry:
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

    def to_dict(self) -> dict[str, Any]:
        """As results.json records it."""
        return asdict(self)


def shows(kind: str) -> Shows | None:
    """What small p-values of a method say: that people are treated unequally, what carries it, what could be better."""
    return declared_methods()[kind].shows


def correct(
    results: Iterable[tuple[str, Result]], alpha: float, dependence: Dependence | None = None, seed: int = 0
) -> list[Entry]:
    """Every primary p-value of the trial, adjusted together, strongest first: by Holm, or by max-T given how they
    depend on each other."""
    listed = [
        (section, result, primary)
        for section, result in results
        if shows(result.kind) != "certificate"
        for primary in result.primary()
    ]
    p = [primary.p_value for _, _, primary in listed]
    adjusted = [float(value) for value in (holm(p) if dependence is None else max_t(p, dependence, seed))]
    entries = [
        Entry(
            section, result.kind, primary.metric, primary.subject, primary.against, float(primary.p_value), value,
            bool(value <= alpha), primary.effect, primary.low, primary.high, primary.kind, primary.n,
            result.confidence_level, primary.of_many,
        )
        for (section, result, primary), value in zip(listed, adjusted, strict=True)
    ]  # fmt: skip
    return sorted(entries, key=lambda entry: (entry.p_value, -abs(entry.effect or 0.0)))


def corrected_claims(section: str, result: Result, borne_out: Collection[tuple[str, str]]) -> list[Claim]:
    """The claims of one section after the correction; certifications are outside it."""
    if shows(result.kind) == "certificate":
        return result.claims()
    rows = claimed_rows(result)
    if len(rows) != len(result.claims()):  # claims of the method's own, which stand or fall together
        held = any(name == section for name, _ in borne_out)
        return [claim if held else _not_borne_out(claim) for claim in result.claims()]
    return [
        claim if (section, str(row["group"])) in borne_out else _not_borne_out(claim) for row, claim in rows
    ]


def _not_borne_out(claim: Claim) -> Claim:
    return replace(claim, verdict="undetermined") if claim.verdict == "found" else claim


def conclude(
    entries: Sequence[Entry],
    results: Sequence[tuple[str, Result]],
    alpha: float,
    unanswered: int,
    correction: str = "holm",
) -> Verdict:
    """The verdict of the whole trial, after correction."""
    level = f"{alpha:.0%}" if round(alpha * 100, 6).is_integer() else f"{alpha:.1%}"
    level = f"{CORRECTIONS[correction]}, {level}"
    tested = [entry for entry in entries if shows(entry.method) == "disparity"]
    shown = [entry for entry in tested if entry.significant]
    certified = [result for _, result in results if shows(result.kind) == "certificate"]
    rest = _rest(entries, unanswered)
    if shown:
        tests = f"{_of(len(shown), len(tested), 'test')} {'shows' if len(shown) == 1 else 'show'}"
        remains = f"a disparity that remains after correction over the whole trial ({level})."
        text = f"{tests} {remains}{_clearest(shown)}"
        return Verdict("violated", f"{text}{rest}")
    if not results:
        return Verdict("undetermined", f"Nothing can be said: no question was answered.{rest}")
    if not tested and any(result.verdict.code == "violated" for result in certified):
        return _from_certifications(certified, rest)
    if certified and all(result.verdict.code == "certified" for result in certified) and not unanswered:
        text = "; ".join(_certified_words(result) for result in certified)
        also = f" {_none_of(len(tested))} a disparity." if tested else ""
        return Verdict("certified", f"Certified: {text}.{also} This covers nothing else.{rest}")
    return Verdict("undetermined", f"{_undetermined(tested, certified, level)}{rest}")


def _certified_words(result: Result) -> str:
    return str(result.details.get("statement") or result.verdict.text.removeprefix("certified: "))


def _from_certifications(certified: Sequence[Result], rest: str) -> Verdict:
    """Only certifications were asked for: one alone keeps its level, several leave the trial undetermined."""
    refused = sum(result.verdict.code == "violated" for result in certified)
    if len(certified) == 1:
        said = certified[0].verdict.text.rstrip(".")
        return Verdict("violated", f"{said[:1].upper()}{said[1:]}.{rest}")
    text = (
        f"Undetermined: {_of(refused, len(certified), 'certification')} found a violation, each at its own "
        "level; no test that is corrected over the whole trial was asked for. Add a [flag] section to "
        "settle it."
    )
    return Verdict("undetermined", f"{text}{rest}")


def _undetermined(tested: Sequence[Entry], certified: Sequence[Result], level: str) -> str:
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


def _rest(entries: Sequence[Entry], unanswered: int) -> str:
    text = ""
    if any(entry.significant for entry in entries if shows(entry.method) == "alternative"):
        text += " A less discriminatory alternative that is as good exists."
    if unanswered:
        text += f" {counted(unanswered, 'question')} could not be answered: the verdict covers the others."
    return text


def _clearest(shown: Sequence[Entry]) -> str:
    """The strongest finding that can be said in one plain sentence."""
    for entry in shown:
        # several equalities at once have no rate of their own to speak of
        if entry.of_many or entry.kind not in ("points", "number"):
            continue
        if not (entry.effect and entry.subject and entry.against):
            continue
        place = place_words(entry.effect, entry.against, "points" if entry.kind == "points" else "number")
        return f" The clearest: the {entry.metric} of {entry.subject} is {place}."
    return ""


def _of(count: int, total: int, noun: str) -> str:
    return f"{count:,} of {counted(total, noun)}"
