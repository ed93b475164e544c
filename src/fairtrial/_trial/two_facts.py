"""Two facts in words, never mixed: whether a difference is shown, and whether it is within the tolerance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fairtrial._compare.words import band_words, groups_words, number_words, place_words, unit_of
from fairtrial._method.declaration import find_method
from fairtrial._metrics.groups import FOUR_FIFTHS, is_selection
from fairtrial._metrics.table import METRICS
from fairtrial._results.column import Tone
from fairtrial._results.result import Result
from fairtrial._results.text import counted, true_minus
from fairtrial._trial.ledger import MERGED, LedgerLine

NOT_BORNE_OUT = "Once we correct for all questions of this audit, this is no longer shown."


def plain(text: str) -> str:
    """'5.0 points' as people write it: '5 points'."""
    return true_minus(text).replace(".0 point", " point")


def gap_words(line: LedgerLine) -> str:
    """'3.2 points'; empty where the size is not known or not told."""
    return "" if line.difference is None else _size(line, abs(line.difference))


def _size(line: LedgerLine, value: float) -> str:
    unit = _unit(line)
    return plain(f"{number_words(value, unit)}{' points' if unit == 'points' else ''}")


def _unit(line: LedgerLine) -> Any:
    return unit_of(line.kind != "number")


def interval_words(line: LedgerLine, *, bare: bool = False) -> str:
    """'1.7 to 4.7 points', told as the size of the gap, `bare` without its unit; empty where there is none."""
    low, high = line.difference_low, line.difference_high
    if low is None or high is None or line.difference is None:
        return ""
    if line.difference < 0:
        low, high = 0.0 - high, 0.0 - low
    unit = _unit(line)
    told = f"{number_words(low, unit)} to {number_words(high, unit)}"
    return true_minus(f"{told}{' points' if unit == 'points' and not bare else ''}")


def difference_words(line: LedgerLine) -> str:
    """Whether a difference is shown, and how large it may be."""
    interval = interval_words(line)
    if line.shown:
        return f"A difference is shown ({interval})." if interval else "A difference is shown."
    return f"No difference is shown (the data fit {interval})." if interval else "No difference is shown."


def tolerance_words(line: LedgerLine) -> str:
    """Whether the gap is within what is tolerated, on its scale and on the other; empty where nothing was asked."""
    told = []
    for one in line.certificates:
        band = tolerance_text(one, line)
        whose = whose_tolerance(one)
        if one["state"] == "certified":
            told.append(f"It is within {whose} of {band}{_other_scale(line, one['scale'])}.")
        elif one["state"] == "violated" and line.shown:
            told.append(f"It is beyond {whose} of {band}.")
        else:
            told.append(f"Whether it is within {whose} of {band} is not settled.")
    return " ".join(told)


def whose_tolerance(certificate: Any) -> str:
    """Points are chosen by who asks; four fifths is a rule of the field."""
    return "the tolerance" if certificate["scale"] == "ratio" else "your tolerance"


def tolerance_text(certificate: Any, line: LedgerLine) -> str:
    """'5 points', 'a ratio of 0.8 to 1.25'."""
    low, high = certificate["tolerance"]
    band = (-math.inf if low is None else float(low), math.inf if high is None else float(high))
    return plain(band_words(band, line.kind != "number", certificate["scale"]))


def _other_scale(line: LedgerLine, scale: str) -> str:
    """A small difference of low rates can be a large ratio."""
    if line.kind != "percent":
        return ""
    if scale == "ratio":
        gap = gap_words(line)
        return f"; as a difference it is {gap}" if gap else ""
    if line.ratio is None:
        return ", but its ratio is not known"
    ratio = number_words(line.ratio, "ratio")
    if line.four_fifths:
        return f", and its ratio of {ratio} is shown to be within 0.8 to 1.25"
    return f", but {ratio_words(line)}"


def ratio_words(line: LedgerLine) -> str:
    """'the rate is only 0.67 of the others': four fifths is not met'."""
    assert line.ratio is not None
    ratio = number_words(line.ratio, "ratio")
    metric = METRICS.get(line.metric)
    named = metric is not None and is_selection(metric)
    if line.ratio < FOUR_FIFTHS[0]:
        return f"the rate is only {ratio} of the others'{': four fifths is not met' if named else ''}"
    if line.ratio > FOUR_FIFTHS[1]:
        return f"the rate is {ratio} times the others'{': four fifths is not met' if named else ''}"
    return f"the ratio of {ratio} is not shown to be within 0.8 to 1.25"


def clearest_words(line: LedgerLine) -> str:
    """'the selection rate of race: Black is 3.2 points below race: White (1.7 to 4.7 points)'."""
    if line.difference is None or not line.against:
        against = f" from {line.against}" if line.against else ""
        return f"the {line.label} of {line.who} differs{against}"
    where = place_words(line.difference, line.against, _unit(line))
    alike = f" among people alike in {' and '.join(line.within)}" if line.within else ""
    interval = interval_words(line, bare=True)
    said = f"the {line.label} of {line.who} is {plain(where)}{alike}"
    return f"{said} ({interval})" if interval else said


def power_words(lines: Sequence[LedgerLine]) -> str:
    """What gap the audit would have found with 80% probability: the power behind 'no difference is shown'."""
    known = [line for line in lines if line.detectable is not None and line.tested]
    rates = [line for line in known if line.kind == "percent"]
    told = sorted(rates or known, key=lambda line: line.detectable or 0.0)
    if not told or (not rates and len({line.metric for line in told}) > 1):
        return ""
    ends = list(dict.fromkeys(_about(line) for line in (told[0], told[-1])))
    gap = "a gap" if len(ends) == 1 else "gaps"
    unit = " points" if rates else ""
    return f"This audit would have found {gap} of about {' to '.join(ends)}{unit} with 80% probability."


def _about(line: LedgerLine) -> str:
    size = line.detectable or 0.0
    if line.kind != "percent":
        return number_words(size, "number")
    return "more than 100" if size >= 1 else f"{100 * size:.2g}" if size < 0.1 else f"{100 * size:.0f}"


def question_words(title: str, method: str, result: Result | None, favourable: object) -> str:
    """What a section asks: its title, else a table's own question with its groups, else that of the method."""
    if title or result is None or result.kind != "tabulate":
        asked = title or find_method(method).asks(favourable)
        within = [] if title or result is None else list(result.details.get("within") or ())
        return f"{asked.rstrip('?')} among people alike in {' and '.join(within)}?" if within else asked
    by = [name for name in result.provenance.get("arguments", {}).get("by") or () if isinstance(name, str)]
    return f"{result.question.rstrip('?')}, by {' and '.join(by)}?" if by else result.question


def _median_words(result: Result) -> str:
    """The widest gap of medians in a table of pay; empty in any other table."""
    rows = [row for row in result.estimates if str(row["metric"]).startswith("median ")]
    known = [row for row in rows if isinstance(row.get("difference"), int | float)]
    if not known:
        return ""
    widest = max(known, key=lambda row: abs(row["difference"]))
    rate, others = (number_words(float(widest[name]), "number") for name in ("rate", "target_rate"))
    interval = ""
    if all(isinstance(widest.get(f"difference_{end}"), int | float) for end in ("low", "high")):
        ends = sorted(abs(float(widest[f"difference_{end}"])) for end in ("low", "high"))
        same = widest["difference_low"] * widest["difference_high"] >= 0
        told = " to ".join(number_words(end, "number") for end in ends)
        interval = f" (a gap of {told})" if same else " (which may be chance)"
    return f"The {widest['metric']} of {widest['group']} is {rate}, against {others} for {widest['target']}{interval}."


def section_words(section: str, result: Result, lines: Sequence[LedgerLine]) -> str:
    """What one question found, told from the ledger, so that no two questions contradict each other."""
    own = [line for line in lines if section in line.sections and line.tested]
    shown = [line for line in own if line.shown]
    if result.kind == "tabulate":
        if told := _median_words(result):
            return told
        rule = "In the table" if result.verdict.code == "listed" else "By the table's own rule"
        return f"{rule}: {result.verdict.text.rstrip('.')}."
    if result.kind not in MERGED or not own:
        text = f"{capital(result.verdict.text).rstrip('.')}."
        lost = result.tone == "bad" and own and not shown
        return f"{text} {NOT_BORNE_OUT}" if lost else text
    if result.kind == "certify" and result.details.get("tolerance") is not None:
        return _certified_words(section, result, own)
    if shown:
        who = groups_words(list(dict.fromkeys(line.who for line in shown)))
        of = "" if len(own) == 1 else f" in {len(shown):,} of {counted(len(own), 'comparison')}"
        return f"A difference is shown{of}: {who}."
    return f"No difference is shown in {counted(len(own), 'comparison')}. {power_words(own)}".strip()


def _certified_words(section: str, result: Result, own: Sequence[LedgerLine]) -> str:
    """In how many comparisons the gap is within the tolerance, and whether the ratio is."""
    scale = str(result.details["scale"])
    asked = [(one, line) for line in own for one in line.certificates if one["scale"] == scale]
    if not asked:
        return f"{capital(result.verdict.text).rstrip('.')}."
    band = " or ".join(dict.fromkeys(tolerance_text(one, line) for one, line in asked))
    within = [line for one, line in asked if one["state"] == "certified"]
    compared, whose = counted(len(asked), "comparison"), whose_tolerance({"scale": scale})
    beyond = list(dict.fromkeys(line.who for one, line in asked if one["state"] == "violated" and line.shown))
    if len(within) == len(asked) == 1:
        parts = [f"Within {whose} of {band}"]
    elif within:
        parts = [f"Within {whose} of {band} in {len(within):,} of {compared}"]
    else:
        parts = [
            f"Not shown to be within {whose} of {band}{'' if len(asked) == 1 else f' in any of {compared}'}"
        ]
    parts += [f"beyond it for {groups_words(beyond)}"] if beyond else []
    apart = [
        line for line in within if line.kind == "percent" and scale == "difference" and not line.four_fifths
    ]
    some = "" if len(within) == 1 else f" in {len(apart):,} of these"
    parts += [f"the ratio is not shown to be within 0.8 to 1.25{some}"] if apart else []
    return f"{'; '.join(parts)}."


def section_tone(section: str, result: Result, lines: Sequence[LedgerLine]) -> Tone:
    """The colour of a question's answer: red only where a difference is shown, green only where none is."""
    own = [line for line in lines if section in line.sections and line.tested]
    shown = any(line.shown and not line.described for line in own)
    if result.kind not in MERGED or not own:
        return "open" if result.tone == "bad" and own and not shown else result.tone
    if shown:
        return "open" if result.kind == "certify" and result.tone != "bad" else "bad"
    return "good" if result.tone == "good" and power_words(own) else "open"


def capital(text: str) -> str:
    """The text as a sentence begins."""
    return text[:1].upper() + text[1:]
