"""Saved results as Markdown: a summary for a pull request, and a model card as the model hubs read it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from fairtrial.methods.declaration import find_method
from fairtrial.results.column import scalar
from fairtrial.trial.family import favourable_of
from fairtrial.trial.report.builder import capital, left_out, limits
from fairtrial.trial.report.findings import correction_text, findings
from fairtrial.trial.report.one_gap import clearest_in_people

MARKS = {"violated": "❌", "certified": "✅"}  # anything else is open
_SPECIAL = re.compile(r"([\\`*_\[\]#|<>~])")


def escape(text: object) -> str:
    r"""A text from data, so that Markdown and HTML take none of it for their own; always one line.

    >>> print(escape("a|b <script> *x* @you"))
    a\|b \<script\> \*x\* &#64;you
    """
    plain = " ".join(str(text).split()).replace("&", "&amp;")
    # a hub calls whoever stands after an @, and links addresses
    return _SPECIAL.sub(r"\\\1", plain).replace("@", "&#64;").replace("://", "&#58;//")


def summary_markdown(content: Mapping[str, Any]) -> str:
    """What a pull request shows: the verdict, the strongest findings and a line per question."""
    verdict = content["verdict"]
    lines = [f"## {MARKS.get(verdict['code'], '❔')} {escape(content['report']['title'])}", ""]
    lines += [f"**{escape(capital(verdict['text']))}**", "", *_beside(content)]
    found = findings(content)
    if found:
        rows = [[item["what"], _effect(item), item["interval"], item["adjusted"]] for item in found]
        lines += [*_table(["finding", "effect", "interval", "adjusted p"], rows), ""]
        lines += [escape(correction_text(content)), ""]
    return "\n".join([*lines, *_answers(content), "", _foot(content)]) + "\n"


def card_markdown(content: Mapping[str, Any], *, model: str | None = None) -> str:
    """A model card's section on fairness: metadata as the hubs' `model-index`, then the words of the summary."""
    report = content["report"]
    lines = ["---", *_metadata(content, model or report["title"]), "---", ""]
    lines += ["# Fairness", "", escape(capital(content["verdict"]["text"])), "", *_beside(content)]
    used = [text for name in ("context", "decision") if report[name] for text in (escape(report[name]), "")]
    lines += ["## Use and decision", "", *used] if used else []
    lines += ["## What was asked", "", *_answers(content), ""]
    lines += ["## Limits", "", *[f"- {escape(text)}" for text in limits(content)], ""]
    return "\n".join([*lines, _foot(content)]) + "\n"


def _beside(content: Mapping[str, Any]) -> list[str]:
    """What stands beside the verdict, as paragraphs."""
    unanswered = [section["id"] for section in content["sections"] if section["status"] != "done"]
    incomplete = [f"Not answered: {', '.join(unanswered)}."] if unanswered else []
    unpublished = content["report"].get("not_published", [])
    texts = [clearest_in_people(content), *left_out(content), *incomplete, *unpublished]
    return [line for text in texts if text for line in (escape(text), "")]


def _effect(item: Mapping[str, Any]) -> str:
    return f"{item['effect']} {item['unit']}".strip()


def _answers(content: Mapping[str, Any]) -> list[str]:
    favourable = favourable_of(content["spec"]["content"])
    rows = [
        [
            section["title"] or find_method(section["method"]).asks(favourable),
            capital(section["result"]["verdict"]["text"]) if section["result"] else section["error"],
        ]
        for section in content["sections"]
    ]
    return _table(["question", "answer"], rows)


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    return [*lines, *[f"| {' | '.join(escape(text) for text in row)} |" for row in rows]]


def _foot(content: Mapping[str, Any]) -> str:
    started = str(content["run"].get("started", ""))[:10]
    made = f"fairtrial {content['versions'].get('fairtrial', '')}, {started}".rstrip(", ")
    data = content["data"]
    return f"<sub>{escape(made)}. {data['rows']:,} rows, fingerprint {escape(data['digest'])}.</sub>"


def _metadata(content: Mapping[str, Any], model: str) -> list[str]:
    """YAML as the hubs read it; every text as JSON, which is YAML."""
    task = {"type": "tabular-classification", "name": "Fairness audit"}
    data = content["data"]
    dataset = {"type": "private", "name": str(data["source"]), "revision": data["digest"]}
    shown = [section["result"] for section in content["sections"] if section["result"]]
    numbers = {number["name"]: number for result in shown for number in _numbers(result)}
    results = [{"task": task, "dataset": dataset, "metrics": list(numbers.values())}]
    index = json.dumps([{"name": model, "results": results}], ensure_ascii=True)
    return ["library_name: fairtrial", "tags:", "- fairness", f"model-index: {index}"]


def _numbers(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each group's rate that may be shown."""
    rows = [row for row in result["estimates"] if isinstance(row.get("group"), str) and row.get("metric")]
    rates = [(row, scalar(row.get("rate"))) for row in rows]
    return [
        {"type": str(row["metric"]), "name": f"{row['metric']}, {row['group']}", "value": round(rate, 6)}
        for row, rate in rates
        if isinstance(rate, int | float)
    ]
