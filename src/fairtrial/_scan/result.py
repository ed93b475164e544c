"""The result of `scan`: of one protected class, or of every one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from fairtrial._results.charts import Picture
from fairtrial._results.claims import Claim, Judged
from fairtrial._results.column import (
    CloseUp,
    Column,
    Mark,
    Primary,
    StateKind,
    reason,
    scalar,
    state_columns,
    with_limits,
)
from fairtrial._results.result import Result
from fairtrial._results.text import counted, format_value, interval_text

_FOUND = (StateKind("found", "bad"), StateKind("not shown"), StateKind("nothing found"))
_METHOD = (
    "People are compared within strata of the same features, controls and condition (neighbouring scores where the "
    "score is the condition): T is the class's events minus its share of the stratum's, V the variance of T when the "
    "class is dealt out anew, and the score of a subgroup is (sum of T)^2/(2 sum of V) on the asked side, minus a "
    "penalty per listed value or range (Mantel and Haenszel). The p-value compares the best score with the best scores "
    "of data in which the class does not matter, each searched as the data were."
)
_ASSUMPTIONS = (
    "Stratified null: people with the same features, controls and condition are exchangeable between the classes; "
    "no model has to be right.",
    "Propensity null: the fitted model of the class or that of the event is right.",
)
_SEARCHED = {
    "exact": "No other subgroup built from these features scores higher: every one was considered.",
    "depth 2": (
        "No other subgroup that restricts at most two features scores higher; subgroups of more features were not "
        "tested."
    ),
    "restarts": "The search climbed from many starts; a higher-scoring subgroup may exist.",
}
_CITATION = (
    "Boxer, McFowland & Neill, Auditing Predictive Models for Intersectional Biases (conditional bias scan); "
    "Mantel & Haenszel (1959); Zhang & Neill (2016); Speakman et al. (2016), penalized fast subset scanning; "
    "Besag & Clifford (1991)."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScanResult(Result):
    """The subgroups with the largest scores, best first, and the p-value of the first."""

    kind: ClassVar[str] = "scan"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("rank", "rank", "count"),
        Column("protected", "protected class", "text", shown=False),
        Column("subgroup", "subgroup", "text"),
        Column("direction", "direction", "text", shown=False),
        Column("n", "n", "people"),
        *with_limits("rate", "rate", "rate", share_of="n"),
        Column("expected", "expected", "rate"),
        Column("difference", "difference", "points"),
        Column("target", "compared with", "text", shown=False),
        Column("target_n", "others' n", "people"),
        Column("target_rate", "others' rate", "rate", share_of="target_n"),
        Column("target_rate_low", "low", "rate", shown=False),
        Column("target_rate_high", "high", "rate", shown=False),
        Column("target_expected", "others' expected", "rate", shown=False),
        Column("unsupported", "without counterpart", "people", shown=False, part_of="n"),
        Column("score", "score", "number"),
        Column("log_odds", "log-odds shift", "number"),
        Column("p_value", "p", "p"),
        *state_columns("finding"),
    )
    states: ClassVar[tuple[StateKind, ...]] = (*_FOUND, StateKind("not tested"), StateKind("listed"))
    people_in_details: ClassVar[frozenset[str]] = frozenset({"n", "target_n"})
    method: ClassVar[str] = _METHOD
    assumptions: ClassVar[tuple[str, ...]] = _ASSUMPTIONS
    citation: ClassVar[str] = _CITATION

    @property
    def subgroup(self) -> dict[str, list[str]]:
        """Attribute → admitted values of the best subgroup; attributes that admit all values are left out."""
        return {name: list(values) for name, values in self.details["subgroup"].items()}

    @property
    def score(self) -> float:
        """The score of the best subgroup."""
        return float(self.estimates[0]["score"])

    @property
    def p_value(self) -> float | None:
        """Of the best score, over the whole search; None when no null was drawn."""
        value = scalar(self.estimates[0]["p_value"])
        return None if value is None else float(value)

    @property
    def search(self) -> str:
        """'exact': no subgroup scores higher; 'depth 2': none of at most two features; 'restarts' proves nothing."""
        return str(self.details["search"])

    @property
    def found(self) -> list[dict[str, Any]]:
        """The rows that were found, of every class after the adjustment."""
        return [row for row in self.estimates if row["state"] == "found"]

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ScanResult:
        """The result again, of one class or of every one, from `to_dict()` or from the JSON it was saved as."""
        details = content.get("details") if isinstance(content, Mapping) else None
        every = isinstance(details, Mapping) and isinstance(details.get("subgroups"), Mapping)
        kind = ScanEachResult if every else cls
        return super(ScanResult, kind).from_dict(content)

    @property
    def best(self) -> dict[str, Any] | None:
        """The row of the best subgroup; None where it is masked."""
        return next((row for row in self.estimates if row["rank"] == 1), None)

    def close_ups(self) -> list[CloseUp]:
        """Every subgroup that is listed."""
        return _close_ups(self)

    def verdict_of_shown(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """The best subgroup by the rates that may be shown."""
        best = next((row for row in rows if row["rank"] == 1), {})
        n, rate, expected, p = (scalar(best.get(name)) for name in ("n", "rate", "expected", "p_value"))
        if None in (n, rate, expected, p):
            return ""
        told = f"{self.details['label']} of {_who(best)} (n {n:,}) is {100 * rate:.1f}%"
        beside = f"comparable people outside the class get {100 * expected:.1f}%"
        return f"{self.verdict.code.replace('-', ' ')}: {told}, {beside}; p = {p:.3g} over the whole search"

    def pictures(self) -> list[Picture]:
        """The subgroup value by value; then the null distribution, when one was drawn."""
        from fairtrial._scan.chart import scan_pictures

        return scan_pictures(self, self.best)

    def reading(self) -> list[str]:
        """What the subgroup is, what was searched, and what the p-value is for."""
        best = self.best
        sentences = [self.verdict.text]
        if best is not None and best["score"] > 0:
            share = scalar(best["target_rate"])
            others = f"{100 * share:.1f}%" if share is not None else "not known"
            sentences.append(
                f"The subgroup ({best['subgroup']}) has {_people(best['n'])} of the protected class at "
                f"{100 * best['rate']:.1f}%; the same subgroup outside the class has {others} "
                f"({_people(best['target_n'])})."
            )
        sentences.append(_SEARCHED[self.search])
        sentences.append(
            "The p-value is for the best score of the whole search; lower-ranked subgroups carry no claim of their own."
        )
        return sentences

    def claims(self) -> list[Claim]:
        """The best subgroup, where it was tested and may be shown; the others claim nothing."""
        return [] if self.best is None else _claims(self, [self.best], str(self.details["target"]))

    def primary(self) -> list[Primary]:
        """One p-value: that of the best subgroup."""
        if self.p_value is None:
            return []
        return [_primary(self.estimates[0], str(self.details["label"]), self.p_value)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScanEachResult(ScanResult):
    """One scan per value of every sensitive attribute, with p-values adjusted over all of them."""

    columns: ClassVar[tuple[Column, ...]] = (
        Column("attribute", "attribute", "text"),
        Column("protected", "protected class", "text"),
        Column("subgroup", "subgroup", "text"),
        Column("direction", "direction", "text", shown=False),
        Column("n", "n", "people"),
        Column("rate", "rate", "rate", share_of="n"),
        Column("rate_low", "low", "rate", shown=False),
        Column("rate_high", "high", "rate", shown=False),
        Column("expected", "expected", "rate"),
        Column("difference", "difference", "points"),
        Column("target_n", "others' n", "people"),
        Column("target_rate", "others' rate", "rate", share_of="target_n"),
        Column("score", "score", "number"),
        Column("search", "search", "text", shown=False),
        Column("draws", "draws", "count"),
        Column("p_value", "p", "p", shown=False),
        Column("p_adjusted", "adjusted p", "p"),
        *state_columns("finding"),
    )
    states: ClassVar[tuple[StateKind, ...]] = (*_FOUND, StateKind("not tested", compared=False))
    people_in_details: ClassVar[frozenset[str]] = frozenset({"n", "target_n"})
    method: ClassVar[str] = _METHOD + (
        " One scan per protected class; p-values are adjusted by Holm over the scans, with enough draws for the "
        "adjustment to be able to reject (sequential: a scan that is clearly not significant stops early)."
    )
    assumptions: ClassVar[tuple[str, ...]] = _ASSUMPTIONS
    citation: ClassVar[str] = _CITATION

    @property
    def subgroup(self) -> dict[str, list[str]]:
        """Attribute → admitted values of the strongest class's best subgroup."""
        first = self.estimates[0]["protected"].replace(": ", "=", 1)
        return {name: list(values) for name, values in self.details["subgroups"].get(first, {}).items()}

    @property
    def p_value(self) -> float | None:
        """Of the strongest scan, adjusted over all; None where no class could be scanned."""
        value = scalar(self.estimates[0]["p_adjusted"])
        return None if value is None else float(value)

    @property
    def search(self) -> str:
        """How the strongest class was searched: 'exact', 'depth 2' or 'restarts'."""
        return str(self.estimates[0]["search"])

    @property
    def best(self) -> dict[str, Any] | None:
        """The row of the strongest class; None where no class could be scanned."""
        return next((row for row in self.estimates if scalar(row["p_value"]) is not None), None)

    def verdict_of_shown(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """Nothing: which class came first was told from what is masked."""
        return ""

    def pictures(self) -> list[Picture]:
        """One line per protected class: what is expected and what is observed."""
        from fairtrial._scan.chart import every_class_pictures

        return every_class_pictures(self)

    def reading(self) -> list[str]:
        """How many classes were scanned, and how many could not be."""
        tested = [row for row in self.estimates if scalar(row["p_value"]) is not None]
        were = "1 protected class was" if len(tested) == 1 else f"{len(tested):,} protected classes were"
        sentences = [self.verdict.text, f"{were} scanned."]
        if len(tested) < len(self.estimates):
            sentences.append(f"{len(self.estimates) - len(tested)} could not be scanned; the table says why.")
        return sentences

    def claims(self) -> list[Claim]:
        """The best subgroup of every class that was scanned, after the adjustment."""
        return _claims(self, self.estimates, "everyone else")

    def primary(self) -> list[Primary]:
        """One p-value per scan, before the adjustment."""
        rows = [row for row in self.estimates if scalar(row["p_value"]) is not None]
        return [_primary(row, str(self.details["label"]), float(scalar(row["p_value"]))) for row in rows]


def _close_ups(result: Result) -> list[CloseUp]:
    return [close_up(result, row) for row in result.estimates if scalar(row.get("rate")) is not None]


def _people(count: int) -> str:
    return counted(count, "person", "people")


def _claims(result: Result, rows: Sequence[Mapping[str, Any]], against: str) -> list[Claim]:
    """What the rows with a p-value claim: a subgroup on one side of what comparable people outside the class get."""
    claims = []
    for row in rows:
        if scalar(row["p_value"]) is None or not isinstance(row["score"], float) or row["score"] <= 0:
            continue
        size = scalar(row["difference"])
        found: Judged = "found" if row["state"] == "found" else "undetermined"
        harmed = result.details.get("harmed")
        effect = "" if harmed is None else "harmed" if harmed == row["direction"] else "favoured"
        claims.append(
            Claim(
                method=result.kind, metric=str(result.details["metric"]), who=_who(row), against=against,
                direction=row["direction"], size=None if size is None else float(size), scale="difference",
                tolerance=None, level=result.details["confidence_level"], verdict=found, effect=effect,
            )
        )  # fmt: skip
    return claims


def _who(row: Mapping[str, Any]) -> str:
    """The class, and the values that restrict it."""
    restricted = row["subgroup"] not in (None, "everyone")
    return f"{row['protected']}; {row['subgroup']}" if restricted else str(row["protected"])


def _primary(best: Mapping[str, Any], label: str, p_value: float) -> Primary:
    """The search's one p-value, with its best subgroup: observed rate minus what is expected of it."""
    subject = (
        f"{best['protected']}, {best['subgroup']}" if scalar(best["subgroup"]) else str(best["protected"])
    )
    difference, n = scalar(best.get("difference")), scalar(best.get("n"))
    effect = None if difference is None else float(difference)
    people = None if n is None else int(n)
    return Primary(label, subject, p_value, effect, against="what comparable people outside get", n=people)


# -- Subgroups from near: what they get, what comparable people get, and how the search came upon them.
SEARCHES = {
    "exact": "every subgroup of these features was considered",
    "depth 2": "every subgroup that restricts at most two features was considered",
    "restarts": "the search climbed from many starts, and a better subgroup may exist",
}


def close_up(result: Result, row: Mapping[str, Any]) -> CloseUp:
    """One subgroup that was found or listed; what is masked says so."""
    subgroup = str(scalar(row["subgroup"]) or "everyone")
    who = "everyone of it" if subgroup == "everyone" else subgroup
    return CloseUp(
        title=f"{row['protected']}: {who}",
        marks=tuple(_marks(result, row)),
        numbers=tuple(_numbers(result, row)),
        found=(_restricted(subgroup), _searched(result, row), _luck(result, row)),
    )


def _marks(result: Result, row: Mapping[str, Any]) -> list[Mark]:
    """The rates that may be shown, its own first."""
    found: list[tuple[str, Literal["own", "expected", "others"], str]] = [
        (str(row["protected"]), "own", "rate"),
        ("comparable people outside it", "expected", "expected"),
        (_others(result, row), "others", "target_rate"),
    ]
    return [
        Mark(label, role, float(rate), scalar(row.get(f"{name}_low")), scalar(row.get(f"{name}_high")))
        for label, role, name in found
        if (rate := scalar(row.get(name))) is not None
    ]


def _others(result: Result, row: Mapping[str, Any]) -> str:
    return str(row.get("target") or result.details.get("target") or "everyone else")


def _numbers(result: Result, row: Mapping[str, Any]) -> list[tuple[str, str]]:
    level = f"{100 * float(result.details['confidence_level']):g}% interval for all subgroups at once"
    told = [
        ("Its rate", _rate(row, "rate", "n", level)),
        ("Comparable people outside the class get", _shown(row, "expected", "rate")),
        ("Difference to them, in points", _shown(row, "difference", "points")),
        (f"The same subgroup among {_others(result, row)}", _rate(row, "target_rate", "target_n", level)),
        ("Without a comparable person outside", _shown(row, "unsupported", "people")),
    ]
    return [(name, text) for name, text in told if text]


def _rate(row: Mapping[str, Any], name: str, people: str, level: str) -> str:
    """'46.1% of 1,390 people (95% interval …: 40.2 to 52.2)'."""
    rate, n = scalar(row.get(name)), scalar(row.get(people))
    if rate is None:
        return _shown(row, name, "rate")
    text = format_value(rate, "rate")
    if n is not None:
        text += f" of {_people(int(n))}"
    limits = scalar(row.get(f"{name}_low")), scalar(row.get(f"{name}_high"))
    return text if None in limits else f"{text} ({level}: {interval_text(*limits, 'rate')}%)"


def _shown(row: Mapping[str, Any], name: str, kind: Any) -> str:
    """A cell in words: its value, why it has none, nothing where the table has no such column."""
    if name not in row:
        return ""
    why = reason(row[name])
    if why and kind == "points" and row[name].get("masked"):
        return "masked, since few people could be worked out from it"  # a difference is nobody's number
    return why or format_value(scalar(row[name]), kind)


def _restricted(subgroup: str) -> str:
    """Which features define it."""
    if subgroup == "everyone":
        return "No feature restricts it: it is the whole class."
    return f"It is defined by {subgroup.replace('; ', ' and ')}."


def _searched(result: Result, row: Mapping[str, Any]) -> str:
    """Its place in the search, and what was searched."""
    score = scalar(row.get("score"))
    scored = "" if score is None else f" with a score of {float(score):.1f}"
    search = SEARCHES[str(row.get("search") or result.details["search"])]
    place = "It came out first" if row.get("rank", 1) == 1 else f"It came out at rank {row['rank']}"
    return f"{place}{scored}; {search}."


def _luck(result: Result, row: Mapping[str, Any]) -> str:
    """What luck would have found."""
    p = scalar(row.get("p_adjusted")) if "p_adjusted" in row else scalar(row.get("p_value"))
    if p is None:
        return "It was not tested by itself and carries no claim of its own."
    draws = row.get("draws") or result.details.get("null_draws")
    times = f" {counted(int(draws), 'time')}" if draws else ""
    corrected = ", corrected over all classes" if "p_adjusted" in row else ""
    told = format_value(p, "p")
    chance = f"p {told}" if told.startswith("<") else f"p = {told}"
    return f"The whole search was repeated{times} on data in which the class does not matter: {chance}{corrected}."
