"""The findings of a trial and all its tests, as the page, the summary and the workbook show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairtrial._method.declaration import find_method
from fairtrial._report.tables import SHORT, Cell, TableColumn, kept, number_class, off_paper, shown, width
from fairtrial._trial.family import CORRECTIONS
from fairtrial._trial.in_people import line_sentence, words_of
from fairtrial._trial.ledger import LedgerLine, clearest_first, ledger_of
from fairtrial._trial.spec.words import FileWords
from fairtrial._trial.two_facts import tolerance_words

SHOWN = 5


def findings(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The clearest comparisons in which a difference is shown, each in at most two sentences."""
    words = words_of(content)
    asked = {one["id"]: find_method(one["method"]).short for one in content["sections"]}
    lines = [line for line in clearest_first(ledger_of(content)) if not line.described]
    return [_finding(line, words) | {"question": asked[line.sections[0]]} for line in lines[:SHOWN]]


def _finding(line: LedgerLine, words: FileWords) -> dict[str, Any]:
    kind: Any = {"percent": "points", "number": "number"}.get(line.kind, "number")
    known = line.difference is not None
    adjusted = f" among people alike in {' and '.join(line.within)}" if line.within else ""
    against = f", compared with {line.against}" if line.against else ""
    label = f"{line.label[:1].upper()}{line.label[1:]}"
    return {
        "section": line.sections[0],
        "what": f"{label}: {line.who}{against}{adjusted}",
        "sentence": line_sentence(line, words) if known else "",
        "tolerance": tolerance_words(line),
        "effect": shown(line.difference, kind) if known else ("masked" if line.kind != "other" else ""),
        "unit": "points" if known and kind == "points" else "",
        "interval": _interval(line, kind),
        "level": "" if line.level is None else f"{100 * line.level:g}%",
        "adjusted": "" if line.adjusted is None else shown(line.adjusted, "p"),
        "n": "" if line.n is None else f"{line.n:,}",
        "harm": line.effect,
    }


def _interval(line: LedgerLine, kind: Any) -> str:
    if line.difference_low is None or line.difference_high is None:
        return "masked" if line.difference is None and line.kind != "other" else ""
    return f"{shown(line.difference_low, kind)} to {shown(line.difference_high, kind)}"


def is_hidden(entry: Mapping[str, Any]) -> bool:
    """Whether the numbers of an entry were masked, rather than there being none."""
    return bool(entry.get("masked"))


def effect_text(entry: Mapping[str, Any]) -> tuple[str, str]:
    """The effect and its unit."""
    if entry["effect"] is None:
        return ("masked" if is_hidden(entry) else ""), ""
    unit = {"points": "points", "ratio": "times"}.get(entry["kind"], "")
    return shown(entry["effect"], entry["kind"]), unit


def correction_text(content: Mapping[str, Any]) -> str:
    """How the p-values were corrected; empty where there are none."""
    correction = content["correction"]
    if not correction["tests"]:
        return ""
    tests, how = correction["tests"], CORRECTIONS[correction["method"]]
    once = [entry for entry in content["family"] if correction["method"] != "holm" or not entry["twin"]]
    significant = sum(entry["significant"] for entry in once)
    beside = "Each interval stands alone, and certificates need no correction."
    if tests == 1:
        found = "significant" if significant else "not significant"
        return f"This audit makes one test, which needs no correction: it is {found} at {correction['alpha']:.0%}."
    every = "Both" if tests == 2 else f"All {tests:,}"
    return (
        f"{every} tests of this audit were corrected together ({how}, {correction['alpha']:.0%}); "
        f"{significant:,} {'is' if significant == 1 else 'are'} significant. {beside}"
    )


def how_we_know(content: Mapping[str, Any]) -> list[str]:
    """What stands behind the first screen: the verdict in full, the correction, and how often it would err."""
    alpha = f"{100 * content['correction']['alpha']:g}"
    err = f"If there were no difference at all, luck would show one or more in at most {alpha} of 100 such audits."
    power = (
        "The gap that would have been found with 80% probability is worked out from the half width of each interval, "
        "at the level of the correction."
    )
    certified = (
        "A gap larger than tolerated would be certified in at most as many audits as the level leaves."
    )
    texts = [content["verdict"]["text"], correction_text(content)]
    texts += [err] if content["correction"]["tests"] else []
    return [text for text in (*texts, power, certified if _certifies(content) else "") if text]


def _certifies(content: Mapping[str, Any]) -> bool:
    return any(find_method(one["method"]).shows == "certificate" for one in content["sections"])


def family_text(content: Mapping[str, Any]) -> str:
    """Why all p-values are corrected together, and which are not."""
    how = CORRECTIONS[content["correction"]["method"]]
    if how != "Holm":
        known = content["correction"]["known"]
        how += f", from how {known:,} of them that share people depend on each other; Holm for the others"
    twins = " A comparison asked twice, or seen from its other side, is one test." if how == "Holm" else ""
    return (
        "Many tests find something by luck. We therefore correct all of them together "
        f"({how}): the chance of even one false finding in the whole audit is at most "
        f"{content['correction']['alpha']:.0%}.{twins} Certificates are not part of it: that all of them hold needs no "
        "correction."
    )


_COLUMNS = (
    ("Who", "text"),
    ("Metric", "text"),
    ("Compared with", "text"),
    ("Question", "text"),
    ("Effect", "number"),
    ("p", "p"),
    ("Adjusted p", "p"),
    ("After correction", "state"),
)
_WANTED = ("Effect", "Adjusted p", "Metric", "Compared with", "Question")  # the corrected p is what judges


def family_table(content: Mapping[str, Any]) -> dict[str, Any]:
    """Every entry of the family, strongest first."""
    lines = []
    for entry in content["family"]:
        effect, unit = effect_text(entry)
        lines.append(
            [
                _cell(entry["subject"], "text"),
                _cell(entry["metric"], "text"),
                _cell(entry["against"], "text"),
                _cell(find_method(entry["method"]).short, "text"),
                Cell(
                    f"{effect} {unit}".strip() or "–",
                    entry["effect"] if entry["effect"] is not None else "",
                    "num",
                ),
                _cell(entry["p_value"], "p"),
                _cell(entry["adjusted"], "p"),
                _cell("significant" if entry["significant"] else "not significant", "state"),
            ]
        )
    titles = [title for title, _ in _COLUMNS]
    below = zip(*lines, strict=True)
    widths = {
        title: width(title, [(cell.text, cell.css) for cell in cells])
        for title, cells in zip(titles, below, strict=True)
    }
    stay = kept(_WANTED, [titles[0], titles[-1]], widths)
    columns = [TableColumn(title, number_class(kind), title not in stay) for title, kind in _COLUMNS]
    printed = off_paper([entry["significant"] for entry in content["family"]])
    return {"columns": columns, "lines": lines, "off_paper": printed}


def _cell(value: Any, kind: Any) -> Cell:
    text = shown(value, kind) if value != "" else "–"
    return Cell(text, value, number_class(kind) + (" short" if len(text) <= SHORT else ""))
