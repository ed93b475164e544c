"""The first screen: one sentence in people, two facts kept apart, for whom, who was left out, and what to do next.

Every answer is told from the ledger of results.json: nothing is computed but counts of lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairtrial._labels import in_a_sentence
from fairtrial._method.declaration import find_method, read_result
from fairtrial._metrics.table import METRICS
from fairtrial._report.described import (
    Results,
    described_difference,
    linked,
    named_groups,
    result_metrics,
    rows_left_out,
    small_groups_sentence,
)
from fairtrial._report.one_gap import compared_with
from fairtrial._results.text import counted
from fairtrial._trial.family import NAME_THE_DECISION, difference_alone, only_describes, shows
from fairtrial._trial.in_people import line_sentence, words_of
from fairtrial._trial.ledger import LedgerLine, alike_line, clearest_first, headline_line, ledger_of
from fairtrial._trial.two_facts import (
    gap_words,
    interval_words,
    power_words,
    ratio_words,
    tolerance_text,
    tolerance_words,
)

Content = Mapping[str, Any]
Lines = Sequence[LedgerLine]
DIFFERENCE, TOLERANCE, WHOM = "Is there a difference?", "Is it within the tolerance?", "For whom?"
LEFT, CHECKED, NEXT = "Who was left out?", "What was checked?", "What next?"
MOST_METRICS = 1  # named on the first screen


def first_screen(content: Content) -> dict[str, Any]:
    """The headline, the answers and the three numbers."""
    results = [(one["id"], read_result(one["result"])) for one in content["sections"] if one["result"]]
    lines, describes = ledger_of(content), describes_only(content, results)
    told = [line for line in lines if line.tested and line.described == describes]
    answers = {
        DIFFERENCE: described_difference(told) if describes else difference_answer(told, content),
        TOLERANCE: "" if describes else tolerance_answer(told, content),
        WHOM: _for_whom(told),
        LEFT: _left_out(lines, results, content),
        CHECKED: _checked(content, results),
        NEXT: NAME_THE_DECISION if describes else _next(content, told),
    }
    used: set[str] = set()
    return {
        "headline": linked(headline(content, told), used),
        "answers": [(question, linked(text, used)) for question, text in answers.items() if text],
        "counts": _counts(content, told),
    }


def first_sentence(content: Content) -> str:
    """What is said first wherever the trial is told."""
    return "".join(piece["text"] for piece in first_screen(content)["headline"])


def describes_only(content: Content, results: Results) -> bool:
    """Whether the trial compares who people are and nothing that was decided about them."""
    return only_describes([entry["method"] for entry in content["family"]], results)


def headline(content: Content, told: Lines) -> str:
    """The clearest comparison in people; the largest gap seen where none is shown."""
    line = _as_it_is(headline_line(told), told)
    if line is None:
        small = next(
            (one for one in ledger_of(content) if one.few and None not in (one.rate, one.target_rate)), None
        )
        if small is not None:
            return f"{line_sentence(small, words_of(content))} These are too few people to compare."
        return "Nobody could be compared." if content["sections"] else ""
    told_first = line_sentence(line, words_of(content))
    beside = alike_words(line, told)
    if line.shown or beside:
        return f"{told_first} {beside}".strip()
    return f"{told_first} That may be chance."


def _as_it_is(line: LedgerLine | None, lines: Lines) -> LedgerLine | None:
    """The gap as it is of one among people alike, where it was asked as well: it is told before."""
    return next((one for one in lines if alike_line(one, [line]) is line), line) if line is not None else None


def alike_words(line: LedgerLine, told: Lines) -> str:
    """The same gap among people who are alike in what may explain it: whether it stays, vanishes or turns."""
    alike = alike_line(line, told)
    if alike is None or line.difference is None or alike.difference is None:
        return ""
    among = f"Among people alike in {in_a_sentence(list(alike.within))}"
    same = (line.difference > 0) == ((alike.difference > 0) == (alike.who == line.who))
    if not alike.shown:
        interval = interval_words(alike if same else _turned(alike))
        return f"{among}, no difference is shown{f' ({interval})' if interval else ''}."
    turned = "" if same else ", the other way round"
    interval = interval_words(alike, bare=True)
    return f"{among}, the gap is {gap_words(alike)}{turned}{f' ({interval})' if interval else ''}."


def _turned(line: LedgerLine) -> LedgerLine:
    """The interval as it is read beside a gap of the other direction: below zero is the other way round."""
    low, high = line.difference_low, line.difference_high
    if low is None or high is None:
        return line
    if (line.difference or 0.0) > 0:
        low, high = 0.0 - high, 0.0 - low
    return replace(line, difference=0.0, difference_low=low, difference_high=high)


def difference_answer(told: Lines, content: Content) -> str:
    """Whether a difference is shown, by how much, or what gap would have been found."""
    shown = list(clearest_first(told))
    compared = counted(len(told), "comparison")
    if not told:
        return "Not known: nobody could be compared."
    if not shown and content["verdict"]["code"] == "violated":
        return f"Yes: the groups differ jointly, and none stands out in {compared}."
    if not shown:
        seen = headline_line(told)
        interval = "" if seen is None else interval_words(seen)
        fits = f" The data fit a gap of {interval}." if interval else ""
        low, high = (0.0, 0.0) if seen is None else (seen.difference_low or 0.0, seen.difference_high or 0.0)
        apart = low > 0 or high < 0
        tests = content["correction"]["tests"]
        after = f" once we correct for asking {tests:,} questions" if apart and tests > 1 else ""
        return f"None is shown in {compared}{after}.{fits} {power_words(told)}".strip()
    first = headline_line(shown) or shown[0]
    size, interval = gap_words(first), interval_words(first, bare=True)
    count = f"in {len(shown):,} of {compared}"
    if not size:
        return f"Yes, {count}. Its size is not told here."
    within = f" ({interval})" if interval else ""
    if len(told) == 1:
        return f"Yes: {size}{within}, more than chance explains."
    which = "The clearest is" if len(shown) > 1 else "It is"
    return f"Yes, {count}, more than chance explains. {which} {size}{within}."


def tolerance_answer(told: Lines, content: Content) -> str:
    """Whether the gaps are within what is tolerated, on the scale that was asked and on the other."""
    asked = [line for line in told if line.certificates]
    if not asked:
        stated = any(
            one["result"]["details"].get("tolerance")
            for one in content["sections"]
            if one["result"] and shows(one["method"]) == "certificate"
        )
        return "Not known: nobody could be compared." if stated else "You set no tolerance."
    first = headline_line(told)
    alone = asked == [first]
    if alone or (first in asked and first is not None and first.shown):
        line = asked[0] if alone or first is None else first
        return f"{tolerance_words(line)}{_alone(content, [line])}"
    bands = " or ".join(
        dict.fromkeys(tolerance_text(one, line) for line in asked for one in line.certificates)
    )
    kinds = {line.within for line in asked}
    bands += (
        f" among people alike in {in_a_sentence([*asked[0].within])}"
        if len(kinds) == 1 and kinds != {()}
        else ""
    )
    beyond = [line.who for line in asked if line.certificate == "violated" and line.shown]
    if beyond:
        return f"No: {named_groups(beyond)} {'is' if len(set(beyond)) == 1 else 'are'} beyond {bands}."
    within = sum(line.certificate == "certified" for line in asked)
    if within < len(asked):
        known = f"{within:,} of {counted(len(asked), 'comparison')}" if within else "no comparison"
        return f"Not settled: {known} {'is' if within < 2 else 'are'} shown to be within {bands}."
    far = _furthest_ratio(asked)
    beside = "" if far is None else f", but of {far.who} {ratio_words(far)}"
    every = "the one comparison is" if len(asked) == 1 else f"all {len(asked):,} comparisons are"
    return f"Yes: {every} within {bands}{beside}.{_alone(content, asked)}"


def _furthest_ratio(asked: Lines) -> LedgerLine | None:
    """A rate that is within as a difference and not shown to be as a ratio."""
    open_ones = [
        line
        for line in asked
        if line.kind == "percent" and line.ratio and not line.four_fifths
        if all(one["scale"] == "difference" for one in line.certificates)
    ]
    return max(open_ones, key=lambda line: abs((line.ratio or 1.0) - 1.0), default=None)


def _alone(content: Content, asked: Lines) -> str:
    """What a certificate of the difference alone does not cover."""
    if not difference_alone(content["sections"]) or _furthest_ratio(asked) is None:
        return ""
    return " You asked for the difference alone: the ratio is not covered."


def _for_whom(told: Lines) -> str:
    """The harmed; all who differ where nobody said what is good for a person."""
    shown = list(clearest_first(told))
    harmed = [line for line in shown if line.effect == "harmed"]
    groups: dict[str, list[str]] = {}
    named = harmed or shown
    first_told = [line for line in (headline_line(named),) if line is not None]
    for line in [*first_told, *named]:
        groups.setdefault(line.label, []).append(line.people or line.who)
    if not groups:
        return ""
    start = "Harmed" if harmed else "Different from others"
    first, *others = groups.items()
    elsewhere = {line.label for line in shown} - groups.keys()
    gone = _gone(harmed or shown, told)
    if not elsewhere and all(set(who) <= set(first[1]) for _, who in others):
        return f"{start}: {named_groups(first[1])}.{gone}"
    more = len(others) + len(elsewhere)
    also = f" Groups also differ in {counted(more, 'other measure')}." if more else ""
    return f"{start} in {first[0]}: {named_groups(first[1])}.{also}"


def _gone(shown: Lines, told: Lines) -> str:
    """That what is shown as it is, is not shown among people alike; empty where some of it is."""
    beside = [alike for line in shown if not line.within and (alike := alike_line(line, told)) is not None]
    if not beside or any(line.shown for line in beside) or len(beside) < len(shown):
        return ""
    return f" Not shown among people alike in {in_a_sentence([*beside[0].within])}."


def _left_out(lines: Lines, results: Results, content: Content) -> str:
    """Rows that lack something, and people who are too few to be judged on their own in any question."""
    texts = rows_left_out(results)
    judged = {side for line in lines if line.tested for side in (line.who, line.against)}
    sizes = {
        f"{name}: {level['label']}": level["n"]
        for name, levels in content["data"]["groups"].items()
        for level in levels
    }
    few = {line.who: sizes.get(line.who, line.n) for line in lines if line.few and line.who not in judged}
    alone = {who: n for who, n in few.items() if ", " not in who}
    small = small_groups_sentence(results) if len(alone) < len(few) else ""
    if small:  # one sentence for all of them in place of a count of combinations
        texts.append(small)
        few = alone
    if few:
        texts.append(f"Too few people to judge on their own: {_few_words(few)}.")
    return " ".join(texts)


def _few_words(few: Mapping[str, int | None]) -> str:
    """Small groups by name, and how many combinations of attributes are too small."""
    told = [who if n is None else f"{who} (n = {n:,})" for who, n in few.items() if ", " not in who]
    crossed = [who for who in few if ", " in who]
    if not told and len(crossed) <= 2:
        return "; ".join(crossed)
    more = [counted(len(crossed), "combination")] if crossed else []
    return "; ".join([named_groups(told)] * bool(told) + more)


def _checked(content: Content, results: Results) -> str:
    """Which rates, by whom, of how many rows, and compared with whom."""
    data = content["data"]
    names = list(dict.fromkeys(name for _, result in results for name in result_metrics(result)))
    named = [result.details.get("labels", {}) for _, result in results]
    labels = [next((own[name] for own in named if name in own), METRICS[name].label) for name in names] or [
        str(result.details["label"]) for _, result in results if result.details.get("label")
    ]
    if not labels:
        return ""
    labels = list(dict.fromkeys(labels))
    more = [f"{len(labels) - MOST_METRICS:,} more"] if len(labels) > MOST_METRICS else []
    attributes = [str(name) for name in data["groups"]]
    by = (
        f" by {in_a_sentence(attributes[:4] + (['more'] if len(attributes) > 4 else []))}"
        if attributes
        else ""
    )
    compared = list(dict.fromkeys(words for one in content["sections"] if (words := compared_with(one))))
    against = f", each group against {' or '.join(compared[:2])}" if compared else ""
    rows = "" if data["rows"] is None else f" in {data['rows']:,} rows"
    text = f"{in_a_sentence(labels[:MOST_METRICS] + more)}{by}{rows}{against}."
    return f"{text[:1].upper()}{text[1:]}"


def _next(content: Content, told: Lines) -> str:
    """What a reader can do now with this very file."""
    code = content["verdict"]["code"]
    if code == "violated":
        return f"{_open_questions(content)}Whether it is justified is for people to judge."
    if code == "certified":
        return "Hand on the certificate: fairtrial report --certificate."
    if not told:
        return "Check the groups: join small ones, or name others."
    if not any(shows(one["method"]) == "certificate" for one in content["sections"]):
        return "Say under [certify] which gap you can accept, and run again."
    if any(line.certificate == "undetermined" for line in told):
        return "More people would settle it: fairtrial plan says how many."
    return "Decide whether the ratio matters here, and say it under [certify]."


def _open_questions(content: Content) -> str:
    """What explains or mends a difference, was not asked yet, and can be asked of this file."""
    answered = [one["method"] for one in content["sections"] if one["result"]]
    asked = {find_method(method).variant_of or method for method in answered}
    data = content["data"]
    has_features = bool(data["features"])
    able = {
        "explain": ("Ask which features carry it: fairtrial explain. ", has_features),
        "improve": (
            "Ask whether a fairer rule would do as well: fairtrial improve. ",
            has_features and "outcome" in data["roles"] and "decision" in data["roles"],
        ),
    }
    return "".join(text for name, (text, can) in able.items() if can and name not in asked)


def _counts(content: Content, told: Lines) -> list[dict[str, Any]]:
    """How many differences are shown, how many are within the tolerance, and how many are neither."""
    parts = {
        "with a difference": [line for line in told if line.shown],
        "within tolerance": [line for line in told if line.certificate == "certified"],
        "not settled": [line for line in told if line.judged == "undetermined"],
    }
    return [
        {"number": f"{len(lines):,}", "word": word, "link": _link(content, word, lines)}
        for word, lines in parts.items()
    ]


def _link(content: Content, word: str, lines: Lines) -> str:
    if word == "with a difference" and lines:
        return "findings"
    return lines[0].sections[0] if lines else "verdict"
