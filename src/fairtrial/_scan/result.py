"""The results of `scan` and `scan_all`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fairtrial._results.charts.picture import Picture
from fairtrial._results.claims import Claim, Judged
from fairtrial._results.column import CloseUp, Column, Primary, StateKind, scalar, state_columns, with_limits
from fairtrial._results.result import Result
from fairtrial._results.text import counted

_FOUND = (StateKind("found", "bad"), StateKind("not shown"), StateKind("nothing found"))
_METHOD = (
    "People are compared within strata of the same features, controls and condition (neighbouring scores where the "
    "score is the condition): T is the class's events minus its share of the stratum's, V the variance of T when the "
    "class is dealt out anew, and the score of a subgroup is (sum of T)^2/(2 sum of V) on the asked side, minus a "
    "penalty per listed value or range (Mantel and Haenszel). The p-value compares the best score with the best scores "
    "of data in which the class does not matter, each searched as the data were. By score = article: log-likelihood "
    "ratios against a weighted logistic model of the people outside the class, refitted in every draw."
)
_ASSUMPTIONS = (
    "Stratified null: people with the same features, controls and condition are exchangeable between the classes; "
    "no model has to be right.",
    "Propensity null: the fitted model of the class or that of the event is right.",
    "Bootstrap null: the fitted model of the event is right.",
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
class ScanAllResult(Result):
    """One scan per value of every sensitive attribute, with p-values adjusted over all of them."""

    kind: ClassVar[str] = "scan_all"
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
    def found(self) -> list[dict[str, Any]]:
        """The lines that remain after adjustment."""
        return [row for row in self.estimates if row["state"] == "found"]

    def close_ups(self) -> list[CloseUp]:
        """The best subgroup of every class that was scanned."""
        return _close_ups(self)

    def pictures(self) -> list[Picture]:
        """One line per protected class: what is expected and what is observed."""
        from fairtrial._scan.chart import scan_all_pictures

        return scan_all_pictures(self)

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
    from fairtrial._scan.close_up import close_up

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
