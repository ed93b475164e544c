"""The ledger: every distinct comparison of a trial once, from which all that is said of it is told.

A comparison is a metric, people, whom they are compared with, and what both are alike in. The same gap asked by
several questions, and the two sides of an attribute with two groups, are one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

from fairtrial._method.declaration import find_method, read_result
from fairtrial._metrics.groups import Favours, describes_people, effect_of, harmed_side, within_four_fifths
from fairtrial._metrics.table import METRICS
from fairtrial._results.column import scalar
from fairtrial._results.result import Result
from fairtrial._trial.naming import Naming, Place

POWER = 0.8
LEAST = 1e-280  # no law tells p-values below it apart: they end at 1e-300, before the correction
MERGED = ("measure", "flag", "certify")  # questions of one gap: their numbers are the same
OTHER_SIDE = {"harmed": "favoured", "favoured": "harmed"}
KINDS = {"points": "percent", "number": "number"}
WORST = ("violated", "undetermined", "certified")
FEW = frozenset({"too few", "few in target", "masked"})  # states of groups with too few people to judge
GAP = ("difference", "difference_low", "difference_high")
RATIO = ("ratio", "ratio_low", "ratio_high")
Results = Sequence[tuple[str, Result]]
Row = Mapping[str, Any]
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine:
    """One comparison: whose rate lies how far from whose, whether that is shown, and whether it is tolerated."""

    metric: str
    label: str
    kind: str  # "percent" of rates, "number" of means, "other" of what has no rate of its own
    who: str
    against: str
    people: str = ""  # the same two in a sentence: "Black applicants"; empty where only a label is known
    others: str = ""
    within: tuple[str, ...] = ()
    n: int | None = None
    target_n: int | None = None
    rate: float | None = None
    target_rate: float | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    level: float | None = None
    p_value: float | None = None
    adjusted: float | None = None
    tested: bool = False  # whether it could be told at all
    few: bool = False  # whether it was not, because too few people are on a side
    shown: bool = False  # whether a difference is shown, after the correction
    effect: str = ""
    described: bool = False  # of what people are, not of what was decided about them
    certificates: tuple[dict[str, Any], ...] = ()  # scale, tolerance and state of each
    detectable: float | None = None  # the gap that this audit would about have found with 80% probability
    sections: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As results.json records it."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> LedgerLine:
        plain: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in content.items()
        }
        return cls(**plain)

    @property
    def certificate(self) -> str:
        """The worst of what was certified of it; empty where nothing was asked."""
        states = {one["state"] for one in self.certificates}
        return next((state for state in WORST if state in states), "")

    @property
    def judged(self) -> str:
        """Found, certified or undetermined; empty where it was not tested."""
        if not self.tested:
            return ""
        return "found" if self.shown else "certified" if self.certificate == "certified" else "undetermined"

    @property
    def four_fifths(self) -> bool:
        """Whether its ratio is shown to be within 0.8 to 1.25."""
        return within_four_fifths(self.ratio_low, self.ratio_high)


@dataclass(frozen=True, slots=True)
class _Place:
    """A row of a section, with the comparison that it is about."""

    section: str
    result: Result
    row: Row
    key: Key
    who: str
    against: str
    called: Mapping[str, str]  # each of the two in a sentence


def places_of(results: Results, naming: Naming) -> list[_Place]:
    """Every row about one group's gap, in the order of the trial."""
    found = []
    for section, result in results:
        known = result.details.get("places", [])
        if result.kind in MERGED and len(known) == len(result.estimates):
            rows = zip(result.estimates, known, strict=True)
            found += [_placed(section, result, row, place, naming) for row, place in rows]
    return [place for place in found if place.who != place.against]  # the reference has no line of its own


def _small(results: Results, naming: Naming) -> Iterator[_Place]:
    """Groups that a question lists beside its table, because too few people are in them."""
    for section, result in results:
        for item in result.details.get("untested", ()) if result.kind in MERGED and result.estimates else ():
            shared = {name: result.estimates[0].get(name) for name in ("metric", "value_kind")}
            if item.get("state") in FEW and item.get("place"):
                yield _placed(section, result, {**item, **shared}, item["place"], naming)


def _placed(section: str, result: Result, row: Row, place: Place, naming: Naming) -> _Place:
    who, within = naming.label(place), tuple(map(str, result.details.get("within") or ()))
    asked = result.provenance.get("arguments", {}).get("target", "")
    against, others = naming.target(asked, place)
    key = (str(row["metric"]), frozenset((who, against)), within)
    return _Place(section, result, row, key, who, against, {who: naming.crowd(place), against: others})


def comparisons(results: Results, naming: Naming) -> tuple[dict[Key, int], dict[tuple[str, int], int]]:
    """The number of each comparison, and that of each p-value of a section by its place among the section's."""
    numbers: dict[Key, int] = {}
    rows: dict[str, list[int]] = {}
    for place in places_of(results, naming):
        number = numbers.setdefault(place.key, len(numbers))
        if scalar(place.row.get("p_value")) is not None and place.row["metric"] not in _described(
            place.result
        ):
            rows.setdefault(place.section, []).append(number)
    tests: dict[tuple[str, int], int] = {}
    for section, result in results:
        if find_method(result.kind).shows != "disparity":
            continue
        told, known = result.primary(), rows.get(section, [])
        for index, primary in enumerate(told):
            if len(known) == len(told):
                tests[section, index] = known[index]
            else:
                key = (result.kind, primary.metric, primary.subject, primary.against)
                tests[section, index] = numbers.setdefault(key, len(numbers))
    return numbers, tests


def _described(result: Result) -> Sequence[str]:
    return list(result.details.get("described", ()))


def make_ledger(
    results: Results, family: Sequence[Mapping[str, Any]], naming: Naming, alpha: float
) -> list[LedgerLine]:
    """Every line, from results as they may be shown and their corrected p-values."""
    entries: dict[int, list[Mapping[str, Any]]] = {}
    for entry in family:
        if entry["comparison"] is not None:
            entries.setdefault(entry["comparison"], []).append(entry)
    places: dict[Key, list[_Place]] = {}
    for place in places_of(results, naming):
        places.setdefault(place.key, []).append(place)
    small: dict[Key, list[_Place]] = {}
    for place in _small(results, naming):
        (places if place.key in places else small).setdefault(place.key, []).append(place)
    each = alpha / max(1, len(entries))
    lines = [_line(told, entries.pop(number, []), each) for number, told in enumerate(places.values())]
    lines += [_of_entries(entries[number]) for number in sorted(entries)]
    return lines + [_line(told, [], each) for told in small.values()]


def _line(places: Sequence[_Place], entries: Sequence[Mapping[str, Any]], alpha: float) -> LedgerLine:
    """One comparison, told from the harmed side where that is known."""
    who, against = _sides(places)
    first = places[0]
    metric, details = str(first.row["metric"]), first.result.details
    seen = [_seen(place, turned=place.who != who) for place in places]
    told = next((one for one in seen if one["difference"] is not None), seen[0])
    ratio = next((one for one in seen if one["ratio_low"] is not None), told)
    effect = next((one["effect"] for one in seen if one["effect"]), "")
    codes = {str(place.row.get("state")) for place in places}
    certificates = _certificates(seen)
    p_value, adjusted = _strongest(entries)
    tested = bool(entries) or any(scalar(place.row.get("p_value")) is not None for place in places)
    apart = [one for one in seen if one["apart"]]
    shown = any(entry["significant"] for entry in entries) if entries else bool(apart)
    described = not entries and any(
        metric in _described(place.result) or _is_of_people(metric) for place in places
    )
    if described:
        shown = "described" in codes
    return LedgerLine(
        metric=metric, label=_label(metric, details), kind=str(first.row["value_kind"]), who=who, against=against,
        people=first.called[who], others=first.called[against], within=first.key[2],
        n=_first(seen, "n"), target_n=_first(seen, "target_n"),
        rate=_first(seen, "rate"), target_rate=_first(seen, "target_rate"),
        **{name: told[name] for name in GAP}, **{name: ratio[name] for name in RATIO},
        level=told["level"], p_value=p_value, adjusted=adjusted, tested=tested,
        few=not tested and bool(codes & FEW), shown=shown, effect=effect if shown else "",
        described=described, certificates=certificates, detectable=_detectable(told, alpha),
        sections=tuple(dict.fromkeys(place.section for place in places)),
    )  # fmt: skip


def _sides(places: Sequence[_Place]) -> tuple[str, str]:
    """Whom it is told of: the harmed, else whom it was asked of first."""
    for wanted in ("harmed", "favoured"):
        for place in places:
            if _effect(place) == wanted:
                named = any(one.who == place.against for one in places)
                turned = wanted == "favoured" and named
                return (place.against, place.who) if turned else (place.who, place.against)
    return places[0].who, places[0].against


def _seen(place: _Place, *, turned: bool) -> dict[str, Any]:
    """The row's numbers from the side that the line is told from."""
    row, details = place.row, place.result.details
    told = {name: scalar(row.get(name)) for name in ("n", "target_n", "rate", "target_rate", *GAP, *RATIO)}
    told |= {"effect": _effect(place), "level": details.get("confidence_level")}
    told |= {"apart": _is_apart(place), "certificate": _certificate(place, turned)}
    if (
        row.get("compared") is not None or place.key[2]
    ):  # the rates are everybody's, the gap is of people alike
        told |= {"rate": None, "target_rate": None}
    if not turned:
        return told
    gap, low, high = (told[name] for name in GAP)
    ratio, below, above = (told[name] for name in RATIO)
    minus = [None if value is None else 0.0 - value for value in (gap, high, low)]
    over = [1 / value if value else None for value in (ratio, above, below)]
    return {
        **told, "n": told["target_n"], "target_n": told["n"], "rate": told["target_rate"], "target_rate": told["rate"],
        **dict(zip((*GAP, *RATIO), (*minus, *over), strict=True)), "effect": OTHER_SIDE.get(told["effect"], ""),
    }  # fmt: skip


def _effect(place: _Place) -> str:
    """Whom the gap harms, where that is known; a row whose gap is not shown by its own question does not say it."""
    gap, metric = scalar(place.row.get("difference")), METRICS.get(str(place.row["metric"]))
    if place.row.get("effect") or gap is None or metric is None:
        return str(place.row.get("effect") or "")
    known = place.result.provenance
    good = Favours(decision=known.get("favourable"), score=known.get("score_favours"))
    return effect_of(gap, harmed_side(metric, good))


def _is_apart(place: _Place) -> bool:
    """Whether the interval that holds for all groups of a certification at once excludes no gap."""
    name, none = ("ratio_together", 1.0) if place.row.get("scale") == "ratio" else ("together", 0.0)
    low, high = (scalar(place.row.get(f"{name}_{end}")) for end in ("low", "high"))
    return (low is not None and low > none) or (high is not None and high < none)


def _certificate(place: _Place, turned: bool) -> dict[str, Any] | None:
    """What was certified of the row; None where nothing was."""
    band = place.result.details.get("tolerance")
    if place.result.kind != "certify" or band is None or scalar(place.row.get("p_value")) is None:
        return None
    scale = str(place.result.details["scale"])
    low, high = band
    if turned:
        low, high = (_turned(end, scale) for end in (high, low))
    return {"scale": scale, "tolerance": [low, high], "state": _state(place)}


def _state(place: _Place) -> str:
    code = str(place.row.get("state"))
    return {"favoured": "violated", "described": "violated"}.get(
        code, code if code in WORST else "undetermined"
    )


def _turned(end: float | None, scale: str) -> float | None:
    if end is None or (scale == "ratio" and end <= 0):
        return None
    return 1 / end if scale == "ratio" else 0.0 - end


def _certificates(seen: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Each scale's once; of two that differ the worse."""
    found: dict[str, dict[str, Any]] = {}
    for one in seen:
        made = one["certificate"]
        if made is not None:
            other = found.setdefault(made["scale"], made)
            if WORST.index(made["state"]) < WORST.index(other["state"]):
                found[made["scale"]] = made
    return tuple(found.values())


def _strongest(entries: Sequence[Mapping[str, Any]]) -> tuple[float | None, float | None]:
    if not entries:
        return None, None
    best = min(entries, key=lambda entry: (entry["adjusted"], entry["p_value"]))
    return float(best["p_value"]), float(best["adjusted"])


def _detectable(told: Mapping[str, Any], alpha: float) -> float | None:
    """About the gap that would have been found with 80% probability, from the half width of the interval."""
    low, high, level = told["difference_low"], told["difference_high"], told["level"]
    if low is None or high is None or level is None:
        return None
    normal = NormalDist()
    error = (high - low) / 2 / normal.inv_cdf(0.5 + level / 2)
    return float(error * (normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(POWER)))


def _of_entries(entries: Sequence[Mapping[str, Any]]) -> LedgerLine:
    """A comparison that only a question's own test tells of: a subgroup, several equalities at once, a watch."""
    best = min(entries, key=lambda entry: (entry["adjusted"], entry["p_value"]))
    kind = "other" if best["of_many"] else KINDS.get(best["kind"], "other")
    gap, low, high = (None if kind == "other" else best[name] for name in ("effect", "low", "high"))
    p_value, adjusted = _strongest(entries)
    return LedgerLine(
        metric="", label=str(best["metric"]), kind=kind, who=str(best["subject"]), against=str(best["against"]),
        n=best["n"], difference=gap, difference_low=low, difference_high=high, level=best["level"],
        p_value=p_value, adjusted=adjusted, tested=True, shown=any(entry["significant"] for entry in entries),
        sections=tuple(dict.fromkeys(str(entry["section"]) for entry in entries)),
    )  # fmt: skip


def _label(metric: str, details: Mapping[str, Any]) -> str:
    """What the result calls the metric."""
    labels = details.get("labels", {metric: details.get("label")})
    return str(labels.get(metric) or (METRICS[metric].label if metric in METRICS else metric))


def _is_of_people(metric: str) -> bool:
    return metric in METRICS and describes_people(METRICS[metric])


def _first(seen: Sequence[Mapping[str, Any]], name: str) -> Any:
    return next((one[name] for one in seen if one[name] is not None), None)


def rebuilt(content: Mapping[str, Any]) -> list[LedgerLine]:
    """The lines as they follow from the answers and the corrected p-values of a results.json."""
    results = [(one["id"], read_result(one["result"])) for one in content["sections"] if one["result"]]
    naming = Naming.of(content["data"], content["spec"]["content"])
    return make_ledger(results, content["family"], naming, content["correction"]["alpha"])


def ledger_of(content: Mapping[str, Any]) -> list[LedgerLine]:
    """The lines of a results.json."""
    return [LedgerLine.from_dict(line) for line in content["ledger"]]


def clearest_first(lines: Sequence[LedgerLine]) -> Iterator[LedgerLine]:
    """Lines in which a difference is shown: of the harmed first, then by the p-value and the size of the gap."""
    shown = [line for line in lines if line.shown]
    p = {id(line): max(line.adjusted or 0.0, LEAST) for line in shown}
    yield from sorted(shown, key=lambda line: (line.effect != "harmed", p[id(line)], -_size(line)))


def headline_line(lines: Sequence[LedgerLine]) -> LedgerLine | None:
    """The line that is told first: the clearest difference as it is, before one among people alike; where none is
    shown the one that is nearest to it."""
    shown = sorted(clearest_first(lines), key=lambda line: (line.difference is None, *_later(line)))
    told = [line for line in lines if line.difference is not None and line.tested]
    near = sorted(
        told,
        key=lambda line: (bool(line.within), 1.0 if line.p_value is None else line.p_value, -_size(line)),
    )
    return next(iter([*shown, *near]), None)


def _later(line: LedgerLine) -> tuple[bool, bool]:
    """Gaps among people alike come after gaps as they are, and means after rates."""
    return bool(line.within), line.kind != "percent"


def alike_line(line: LedgerLine, lines: Sequence[LedgerLine]) -> LedgerLine | None:
    """The same comparison among people who are alike in something."""
    sides = {line.who, line.against}
    same = (one for one in lines if one.within and one.tested and one.metric == line.metric)
    return None if line.within else next((one for one in same if {one.who, one.against} == sides), None)


def _size(line: LedgerLine) -> float:
    return abs(line.difference or 0.0)
