"""The first screen: six questions that anybody asks, answered in words, and three numbers that lead further.

Every answer is put together from what results.json holds: nothing is computed but counts of rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fairtrial._compare.words import band_words
from fairtrial._method.declaration import find_method, read_result
from fairtrial._metrics.table import METRICS
from fairtrial._report.described import (
    Results,
    described_groups,
    described_headline,
    described_next,
    described_problem,
    described_size,
    described_sure,
    left_out,
    linked,
    named_groups,
    result_metrics,
)
from fairtrial._report.findings import gap_text, interval_of, largest_row, rates_text, what
from fairtrial._report.one_gap import (
    borne_out,
    compared_with,
    described_roles,
    row_of,
    strongest_in_people,
    strongest_row,
)
from fairtrial._report.tables import shown
from fairtrial._results.claims import Claim, claimed_rows
from fairtrial._results.column import scalar
from fairtrial._results.result import Result
from fairtrial._results.text import counted, in_a_sentence
from fairtrial._trial.family import corrected_claims, only_describes, shows
from fairtrial._trial.in_people import plain_metric

Judged = dict[str, dict[tuple[str, ...], str]]
ASKED_NEXT = {"explain": "which features carry it", "improve": "whether a fairer rule would be as good"}


def first_screen(content: Mapping[str, Any]) -> dict[str, Any]:
    """The headline, the six answers with who was left out, and the three numbers."""
    results = [(one["id"], read_result(one["result"])) for one in content["sections"] if one["result"]]
    judged = _judged(content, results)
    describes = only_describes([entry["method"] for entry in content["family"]], results)
    answers = {
        "What was checked?": _checked(content, results),
        **(_described(content, judged) if describes else _answers(content, judged, results)),
        "Who was left out?": left_out(content, results),
        "What next?": described_next() if describes else _next(content, results),
    }
    used: set[str] = set()
    return {
        "headline": linked(described_headline(content) if describes else _headline(content, results), used),
        "answers": [(question, linked(text, used)) for question, text in answers.items() if text],
        "counts": _counts(content, judged),
    }


def _answers(content: Mapping[str, Any], judged: Judged, results: Results) -> dict[str, str]:
    return {
        "Is there a problem?": _problem(content, judged, results),
        "For whom?": _for_whom(content, results),
        "How big is it?": _size(content, len(judged["found"])),
        "How sure is it?": _sure(content, results),
    }


def _described(content: Mapping[str, Any], judged: Judged) -> dict[str, str]:
    """The same questions where only the people are described and nothing that was decided about them."""
    differ = described_groups(content)
    return {
        "Is there a problem?": described_problem(len(judged["found"]), sum(map(len, judged.values()))),
        "For whom?": f"Different from others: {named_groups(differ)}."
        if differ
        else "No group is shown to differ.",
        "How big is it?": described_size(content),
        "How sure is it?": described_sure(content),
    }


def _headline(content: Mapping[str, Any], results: Results) -> str:
    """The answer in one plain sentence."""
    told, code = strongest_in_people(content), content["verdict"]["code"]
    if told:
        return told
    if code == "certified":
        stated = "; ".join(str(one.details.get("statement", "")) for _, one in results if _certifies(one))
        return f"{_capital(stated)}." if stated else "What was asked for is certified."
    if code == "violated":
        return "Groups are treated unequally, by more than luck explains."
    return "It is not settled whether groups are treated equally."


def _checked(content: Mapping[str, Any], results: Results) -> str:
    """Metrics in words of the file, of whom, compared with whom, within which tolerance."""
    data = content["data"]
    names = dict.fromkeys(name for _, result in results for name in result_metrics(result))
    told = [_metric_words(name, label, content) for name, label in _labels(results, list(names)).items()]
    attributes = [str(name) for name in data["groups"]]
    who = f", by {in_a_sentence(attributes)}" if attributes else ""
    compared = dict.fromkeys(words for one in content["sections"] if (words := compared_with(one)))
    against = f" Each group is compared with {' or with '.join(compared)}." if compared else ""
    rows = "" if data["rows"] is None else f" {data['rows']:,} rows."
    return f"{_capital('; '.join(told))}{who}.{rows}{against}{_tolerances(results)}" if told else ""


def _labels(results: Results, names: Sequence[str]) -> dict[str, str]:
    """Names with labels; where no question has a metric of the table, what the results call theirs."""
    if names:
        told = [result.details.get("labels", {}) for _, result in results]
        return {name: next((own[name] for own in told if name in own), METRICS[name].label) for name in names}
    labels = [str(result.details["label"]) for _, result in results if result.details.get("label")]
    return {label: label for label in labels}


def _metric_words(name: str, label: str, content: Mapping[str, Any]) -> str:
    rows = [row for one in content["sections"] if one["result"] for row in one["result"]["estimates"]]
    real = any(row.get("metric") == name and row.get("value_kind") == "number" for row in rows)
    plain = plain_metric(METRICS[name], described_roles(content), real=real) if name in METRICS else ""
    return f"{plain} ({label})" if plain else label


def _tolerances(results: Results) -> str:
    """The tolerances that were asked for; that there was none is said too."""
    told: dict[str, None] = {}
    for _, result in results:
        band = result.details.get("tolerance")
        if shows(result.kind) != "certificate" or not isinstance(band, list):
            continue
        low, high = (
            open_end if end is None else float(end)
            for end, open_end in zip(band, (-math.inf, math.inf), strict=True)
        )
        words = band_words(
            (low, high), result.details["value_kind"] == "percent", str(result.details["scale"])
        )
        told[words] = None
    return f" Tolerated: {' and '.join(told)}." if told else " No tolerance was stated."


def _problem(content: Mapping[str, Any], judged: Judged, results: Results) -> str:
    code = content["verdict"]["code"]
    total = counted(len({key for keys in judged.values() for key in keys}), "comparison")
    certificates = {section for section, result in results if _certifies(result)}
    if code == "violated" and judged["found"]:
        after = "" if certificates & {*judged["found"].values()} else ", after correction for asking so often"
        return f"Yes. A disparity is shown in {len(judged['found']):,} of {total}{_tests(content)}{after}."
    if code == "undetermined" and results and not judged["found"]:
        return f"Not settled. No disparity is shown in {total}, which is not evidence of fairness.{_unsettled(results)}"
    shortly = {
        "violated": "Yes. ",
        "certified": "Not in what was certified. " if judged["undetermined"] else "No. ",
    }
    return f"{shortly.get(code, '')}{content['verdict']['text']}".replace("Undetermined:", "Not settled:", 1)


def _tests(content: Mapping[str, Any]) -> str:
    """The count of the verdict beside it: one comparison may be tested in two sections, or from both its sides."""
    tested = [entry["significant"] for entry in content["family"] if shows(entry["method"]) == "disparity"]
    return f" ({sum(tested):,} of {counted(len(tested), 'test')})" if tested else ""


def _unsettled(results: Results) -> str:
    asked = [result for _, result in results if _certifies(result)]
    if not asked or all(result.verdict.code == "certified" for result in asked):
        return ""
    return " Nor could it be certified that the groups are within what is tolerated."


def _for_whom(content: Mapping[str, Any], results: Results) -> str:
    """Harmed groups that remain after correction; all found ones where nobody said what is good for a person."""
    rows = [row_of(content, entry) or {"group": entry["subject"]} for entry in _disparities(content)]
    harmed = [row["group"] for row in rows if row.get("effect") == "harmed"]
    if harmed:
        return f"Harmed: {named_groups(harmed)}."
    found = list(filter(None, (row["group"] for row in rows))) or _claimed(content, results)
    if found:
        return f"Different from others: {named_groups(found)}."
    return "No group is shown to be treated differently." if results else ""


def _claimed(content: Mapping[str, Any], results: Results) -> list[str]:
    """Whom the questions themselves find, where the verdict rests on one that is outside the correction."""
    if content["verdict"]["code"] != "violated":
        return []
    return [claim.who for _, result in results for claim in result.claims() if claim.verdict == "found"]


def _disparities(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tests that show a disparity after correction."""
    return [one for one in content["family"] if one["significant"] and shows(one["method"]) == "disparity"]


def _size(content: Mapping[str, Any], found: int) -> str:
    """The strongest finding in its own unit; else the largest gap that was seen, and that it is none."""
    row = strongest_row(content)
    if row is not None:
        several = f" (the clearest of {found:,})" if found > 1 else ""
        return f"{gap_text(row)}: {rates_text(row)}{several}."
    if content["verdict"]["code"] == "violated":
        return _found_otherwise(content)
    seen = largest_row(content)
    if seen is None:
        return ""
    told = f"The largest gap seen is {gap_text(seen)} ({seen['group']})"
    if content["verdict"]["code"] == "certified":
        return f"{told}, inside what is tolerated."
    return f"{told}, which these numbers cannot tell from luck."


def _found_otherwise(content: Mapping[str, Any]) -> str:
    """A finding that cannot be told in people: its effect as the table has it, or that it is masked."""
    entries = _disparities(content)
    known = next((entry for entry in entries if entry["effect"] is not None), None)
    if known is None:
        return "The numbers are about so few people that they are masked here." if entries else ""
    unit = {"points": " points", "ratio": " times"}.get(known["kind"], "")
    return f"{shown(known['effect'], known['kind'])}{unit} ({what(known)})."


def _sure(content: Mapping[str, Any], results: Results) -> str:
    """The interval of that gap, and how often such an audit would err."""
    code = content["verdict"]["code"]
    row = strongest_row(content) or (None if code == "violated" else largest_row(content))
    alpha = f"{100 * content['correction']['alpha']:g}"
    interval = "" if row is None else interval_of(row, alone=len(content["family"]) > 1)
    if code == "certified":
        level = min(float(result.details["confidence_level"]) for _, result in results if _certifies(result))
        most = f"{100 - 100 * level:g} of 100 such audits"
        err = f"If a gap were larger than tolerated, it would be certified in at most {most}."
    elif code == "violated" and any(entry["significant"] for entry in content["family"]):
        err = (
            f"If there were no disparity, luck would show one or more in at most {alpha} of 100 such audits."
        )
    else:
        err = "The data do not settle it either way."
    return f"{interval} {err}".strip()


def _certifies(result: Result) -> bool:
    return shows(result.kind) == "certificate"


def _next(content: Mapping[str, Any], results: Results) -> str:
    """What a reader can do now, by the verdict."""
    code = content["verdict"]["code"]
    if code == "violated":
        return (
            f"{_open_questions(content)}Whether the disparity is justified is for people to judge, with the decision "
            "at stake in mind."
        )
    if code == "certified":
        return "Hand on the certificate (fairtrial report --certificate), and watch that it stays so (fairtrial watch)."
    needed = _needed(content, results)
    if needed:
        return needed
    if not any(_certifies(result) for _, result in results):
        return "State how much may be tolerated and ask for a certification (fairtrial certify)."
    return "Gather more people, above all in the groups that were not tested, and ask again."


def _open_questions(content: Mapping[str, Any]) -> str:
    """What explains or mends a disparity and was not asked yet."""
    answered = [one["method"] for one in content["sections"] if one["result"]]
    asked = {find_method(method).variant_of or method for method in answered}
    names = [name for name in ASKED_NEXT if name not in asked]
    words = in_a_sentence([ASKED_NEXT[name] for name in names])
    return f"Ask {words} (fairtrial {' and '.join(names)}). " if names else ""


def _needed(content: Mapping[str, Any], results: Results) -> str:
    """How many people would settle a certification; a group that has as many is not told to gather them."""
    rows = [row for _, result in results if _certifies(result) for row in result.estimates]
    known: dict[str, float] = {}
    enough = False
    for row in rows:
        members, whole = scalar(row.get("members_needed")), scalar(row.get("rows_needed"))
        need, have = (whole, content["data"]["rows"]) if whole else (members, scalar(row.get("n")))
        if isinstance(need, int | float):
            enough |= need <= (have or 0)
            known |= {str(row["group"]): float(need)} if need > (have or 0) else {}
    if not known:
        return (
            "More people would settle it: at this size a group without a gap would mostly be certified, so there may "
            "be one."
            if enough
            else ""
        )
    group = max(reversed(known), key=lambda name: known[name])  # of equal ones the last, as in the verdict
    unit = "rows in all" if any(scalar(row.get("rows_needed")) for row in rows) else "members"
    return (
        f"Gather more people: to certify {group} takes about {known[group]:,.0f} {unit} if it has no gap "
        "(fairtrial plan says more)."
    )


def _judged(content: Mapping[str, Any], results: Results) -> Judged:
    """Every comparison that was made once, with the section that tells of it, by what came out."""
    held = borne_out(content)
    describes = only_describes([entry["method"] for entry in content["family"]], results)
    judged: Judged = {"found": {}, "certified": {}, "undetermined": {}}
    for section, result in results:
        # what describes people is outside the correction: it counts where nothing else was compared
        claims = result.claims() if describes else corrected_claims(section, result, held)
        for claim in _once(result, claims):
            if not describes and claim.metric in result.details.get("described", ()):
                continue
            judged[claim.verdict].setdefault((claim.metric, claim.who, claim.against), section)
    settled = {*judged["found"], *judged["certified"]}
    judged["undetermined"] = {key: at for key, at in judged["undetermined"].items() if key not in settled}
    return judged


def _counts(content: Mapping[str, Any], judged: Judged) -> list[dict[str, Any]]:
    """How many were found, certified and left undetermined, each with where they are told."""
    listed = any(entry["significant"] for entry in content["family"])
    return [
        {
            "number": f"{len(claims):,}",
            "word": word,
            "link": "findings" if word == "found" and listed else next(iter(claims.values()), "verdict"),
        }
        for word, claims in judged.items()
    ]


def _once(result: Result, claims: list[Claim]) -> list[Claim]:
    """Without mirror images: two groups that are each other's target have one gap."""
    rows = claimed_rows(result)
    if len(rows) != len(claims):
        return claims
    seen: set[tuple[Any, ...]] = set()
    kept = []
    for (row, _), claim in zip(rows, claims, strict=True):
        rates = row.get("metric"), scalar(row.get("target_rate")), scalar(row.get("rate"))
        if None not in rates and claim.against == "everyone else" and rates in seen:
            continue
        seen.add((rates[0], rates[2], rates[1]))
        kept.append(claim)
    return kept


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
