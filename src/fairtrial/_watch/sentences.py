"""What is said: one claim per sentence, never both in one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from fairtrial._compare.words import band_words, unit_of
from fairtrial._errors import Note, notes_where
from fairtrial._results.column import Verdict, scalar, undefined
from fairtrial._results.masking import people_told
from fairtrial._results.text import counted, format_value
from fairtrial._watch.monitor import Monitor
from fairtrial._watch.request import WatchRequest
from fairtrial._watch.result import WatchResult

NO_LIMIT = "no limit yet: too few rows"
NAMED = 3  # groups that a sentence lists


@dataclass(frozen=True, slots=True)
class Said:
    """Sentences about any period, about the average so far, about change, and the rest."""

    any_period: str
    average: str
    change: str
    more: list[str] = field(default_factory=list)

    @property
    def rest(self) -> list[str]:
        """What the verdict does not say already."""
        return [text for text in (self.change, *self.more) if text]


def _people(asked: WatchRequest) -> str:
    return " of these people" if asked.repeated == "these people" else ""


def _band(asked: WatchRequest) -> str:
    if asked.band is None:
        return ""
    if asked.scale == "ratio":
        return f"a ratio of {asked.band[0]:.3g} to {asked.band[1]:.3g} of"
    return f"{band_words(asked.band, asked.binary)} of"


def question(asked: WatchRequest) -> str:
    """'Does the false positive rate of every group stay within 5.0 points of everyone else?'."""
    within = f"stay within {_band(asked)}" if asked.band else "stay that of"
    return f"Does the {asked.label} of every group {within} {asked.target.label}?"


def null(asked: WatchRequest) -> str:
    inside = f"within {_band(asked)} {asked.target.label}" if asked.band else f"that of {asked.target.label}"
    return (
        f"To be violated: in every period so far every group's {asked.label} was {inside}. "
        "To be certified: on average so far some group's was outside."
    )


def _chance(asked: WatchRequest) -> str:
    return f"looking as often as you like, the chance of ever saying this wrongly is at most {100 * asked.alpha:.3g}%"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def reading(
    asked: WatchRequest, monitor: Monitor, rows: list[dict[str, Any]], details: dict[str, Any]
) -> Said:
    """Every sentence, each about one claim."""
    return Said(
        _any_period(asked, rows, details),
        _average(asked, monitor, rows, details),
        _change(asked, details),
        [*_list(asked, rows, details), *_window_sentences(asked, details), *_late(monitor, details)],
    )


def _any_period(asked: WatchRequest, rows: list[dict[str, Any]], details: dict[str, Any]) -> str:
    """The every-period claim of all groups together; for real values that of the average takes its place."""
    since = details["joint"]["since"]
    if since is None:
        return ""
    who = str(rows[0]["group"]) if len(rows) == 1 and asked.closed else "some group"
    outside = (
        f"outside {_band(asked)} {asked.target.label}" if asked.band else f"not that of {asked.target.label}"
    )
    when = f"in at least one period up to {since}" if asked.binary else f"on average up to {since}"
    return f"{when} the {asked.label} of {who}{_people(asked)} was {outside}; {_chance(asked)}"


def _list(asked: WatchRequest, rows: list[dict[str, Any]], details: dict[str, Any]) -> list[str]:
    """Which groups; another claim, with another error, than that there are any."""
    if len(rows) < 2 or details["joint"]["since"] is None:
        return []
    found = [f"{row['group']} (since {row['since']})" if row["since"] else str(row["group"]) for row in rows
             if row["state"] == "violated"]  # fmt: skip
    if not found:
        return ["At this look no single group can be named for it."]
    share = f"of such a list, at whatever look you stop, at most {100 * asked.alpha:.3g}% are wrong in expectation"
    return [f"Listed for it at this look: {_listed(found)}; {share}."]


def _told(asked: WatchRequest, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows whose average gap is known, the widest first."""
    known = [row for row in rows if row["average_state"] is not None and scalar(row[asked.scale]) is not None]
    neutral = 1.0 if asked.scale == "ratio" else 0.0
    return sorted(known, key=lambda line: -abs(scalar(line[asked.scale]) - neutral))


def _average(
    asked: WatchRequest, monitor: Monitor, rows: list[dict[str, Any]], details: dict[str, Any]
) -> str:
    """The average claim, of the group whose gap is the widest: chosen after looking, so its limits hold for all."""
    told = _told(asked, rows)
    if not told:
        return ""
    row = told[0]
    kind = unit_of(asked.binary, asked.scale)
    ends = [row[f"{asked.scale}_{end}"] for end in ("low", "high")]
    if len(rows) > 1:
        place = next(place for place, line in enumerate(rows) if line is row)
        width = asked.width if asked.scale == "difference" else 1.0
        ends = [limit_cell(float(limit) * width) for limit in monitor.limits_together(place)]
    gap, low, high = (_shown(cell, kind) for cell in (row[asked.scale], *ends))
    what = "ratio" if asked.scale == "ratio" else "gap"
    unit = " points" if kind == "points" else ""
    span = f"from {details['first_period']} to {details['last_period']}{_compared_where(monitor)}"
    most = " (the widest of the groups)" if len(told) > 1 else ""
    together = " for all groups together," if len(rows) > 1 else ""
    return (
        f"On average {span} the {what} of {row['group']} to {asked.target.label}{most} is {gap}{unit}{_people(asked)}, "
        f"between {low} and {high} with {100 * asked.confidence_level:g}% confidence{together} at every look."
    )


def limit_cell(value: float) -> Any:
    """A limit as a row keeps it."""
    return value if math.isfinite(value) else undefined(NO_LIMIT)


def _shown(cell: Any, kind: Any) -> str:
    value = scalar(cell)
    return "no limit" if value is None else format_value(value, kind)


def _change(asked: WatchRequest, details: dict[str, Any]) -> str:
    if asked.reference is None:
        return ""
    first, last = asked.reference
    if not details["changes"]:
        return f"No change against {first} to {last} has been noticed."
    parts = [
        f"{item['group']} since about {item['since']} (alarm in {item['alarm']})"
        for item in details["changes"]
    ]
    return (
        f"Compared with {first} to {last} the gap has changed: {_listed(parts)}. A group without a change raises a "
        f"false alarm once in {counted(asked.run_length, 'period')} or more, on average, where the 99% interval of the "
        "reference holds its gap."
    )


def _window_sentences(asked: WatchRequest, details: dict[str, Any]) -> list[str]:
    windows = details["windows"]
    if not windows:
        return []
    last = [item for item in windows if item["last"] == windows[-1]["last"]]
    inside = [item["group"] for item in last if item["average_state"] == "certified"]
    broken = [item["group"] for item in last if item["violated"]]
    level = f"{100 * asked.confidence_level:g}%"
    own = "its own" if len(last) == 1 else "its own for each group"
    text = f"The window {last[0]['first']} to {last[0]['last']} by itself, with a level of {level} of {own}:"
    if broken:
        text += f" some period was outside for {_listed(broken)}."
    elif inside:
        text += f" on average certified for {_listed(inside)}."
    else:
        text += " nothing is shown."
    return [text]


def _late(monitor: Monitor, details: dict[str, Any]) -> list[str]:
    if details["late_log_e"] < monitor.rule.level:
        return []
    return [
        "Rows that came later than others of their period differ from them within their group: lateness depends on "
        "what is measured. What is said here is true of rows labelled in time only, not of everyone."
    ]


def verdict(asked: WatchRequest, monitor: Monitor, rows: list[dict[str, Any]], said: Said) -> Verdict:
    """The code and one sentence with one claim."""
    code, text = _found(asked, monitor, rows, said)
    if monitor.late_evidence() >= monitor.rule.level:
        text += "; among rows labelled in time only, because lateness depends on what is measured"
    if _most_pooled(monitor) > 1:
        text += f"; taking rates as steady within pooled periods (up to {_most_pooled(monitor):,})"
    return Verdict(code, text)


def average_told(asked: WatchRequest, rows: list[dict[str, Any]], said: Said) -> dict[str, Any]:
    """The sentence on the average with the fewest people that its numbers tell of, by which masking goes."""
    fewest = [people_told(row, WatchResult.columns) for row in _told(asked, rows)[:1]]
    return {"text": said.average, "n": min((count for count in fewest if count), default=0)}


def _found(asked: WatchRequest, monitor: Monitor, rows: list[dict[str, Any]], said: Said) -> tuple[str, str]:
    if said.any_period:
        return "violated", f"violated: {said.any_period}"
    if monitor.streams.alarm[:, 0].max(initial=-1) >= 0:
        return "changed", f"changed: {said.change[0].lower()}{said.change[1:]}".rstrip(".")
    compared = [row["average_state"] for row in rows if row["average_state"] is not None]
    inside = compared.count("certified")
    span = f"{monitor.periods[0]} to {monitor.periods[-1]}" if monitor.periods else "the beginning"
    if asked.band is None:
        return "none-shown", (
            f"no violation shown: in no period from {span} was the {asked.label} of "
            f"{_any_of(len(compared))} shown to differ from {asked.target.label}; without a tolerance "
            "nothing can be certified"
        )
    within = f"within {_band(asked)} {asked.target.label}"
    span += _compared_where(monitor)
    if compared and inside == len(compared):
        return "certified", (
            f"certified so far: on average from {span} the {asked.label} of every group compared ({len(compared)})"
            f"{_people(asked)} is {within}; {_chance(asked)} for each end of the tolerance"
        )
    return "undetermined", (
        f"undetermined: on average from {span} the {asked.label} is certified {within} for {inside} of "
        f"{counted(len(compared), 'group')}"
    )


def _any_of(groups: int) -> str:
    return "the only group" if groups == 1 else f"any of {groups:,} groups"


def _compared_where(monitor: Monitor) -> str:
    """Which periods an average is over, where some were left out."""
    if not monitor.streams.alone.any():
        return ""
    return ", over the periods that had both sides,"


def _most_pooled(monitor: Monitor) -> int:
    """Periods in the longest block; 0 where none has been pooled."""
    longest = int(monitor.streams.longest.max(initial=0))
    return longest + 1 if longest else 0


def _left_alone(periods: int) -> str:
    said = "In 1 period" if periods == 1 else f"In up to {periods:,} periods"
    left = "it was" if periods == 1 else "they were"
    return (
        f"{said} a group or its target had no row: {left} left out of that group's comparison, because people of "
        "one period are compared with people of that period only. Where that is often so, name longer periods."
    )


def _still_waiting(periods: int) -> str:
    return "1 period still waits" if periods == 1 else f"{periods:,} periods still wait"


def _came_late(rows: int) -> str:
    if rows == 1:
        return "1 row came after its period was closed, and was"
    return f"{rows:,} rows came after their period was closed, and were"


def notes(asked: WatchRequest, monitor: Monitor) -> list[Note]:
    """What a reader must know of these claims."""
    alone, pooled = int(monitor.streams.alone.max(initial=0)), _most_pooled(monitor)
    open_ = sorted(monitor.waiting)
    left = monitor.left_out
    return notes_where(
        {
            "two-claims": (
                True,
                "'Any period' and 'on average so far' are two claims: a violation once shown stays said, while the "
                "average moves with every period. Intervals of different looks must not be intersected.",
            ),
            "fixed-weights": (
                len(monitor.groups) > 1,
                "Groups are listed by e-BH with weights fixed in advance"
                + ("." if asked.closed else ", half of them kept for groups that may still come up.")
                + " It holds for the list of this look, not for the lists of all looks put together.",
            ),
            "own-intervals": (
                len(monitor.groups) > 1 and bool(monitor.streams.weight.any()),
                "Each group's interval, and what it says on average, hold for that group at every look, not for all "
                "groups together; the interval in the sentence on the widest gap is wider and does.",
            ),
            "alone": (alone > 0, _left_alone(alone)),
            "pooled": (
                pooled > 0,
                f"Up to {pooled:,} periods were pooled until both sides had {counted(asked.block, 'row')}: within them "
                "rates are taken as steady, and who comes as not following what was decided.",
            ),
            "waiting": (
                bool(open_),
                f"{_still_waiting(len(open_))} for late rows (waiting time {asked.waiting}): {_listed(open_)}.",
            ),
            "late": (left > 0, f"{_came_late(left)} left out."),
            "these-people": (
                asked.repeated == "these people",
                "People are counted in several periods: everything said is about these people, not about others.",
            ),
            "average-only": (
                not asked.binary,
                "Real values: 'violated' is said of the average so far; the test of any period is for 0 and 1.",
            ),
        }
    )
