"""Results → what the page shows. Nothing is computed here: numbers are formatted, texts are put in order."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from fairtrial._method.declaration import find_method, read_result, trial_methods
from fairtrial._report.described import entries
from fairtrial._report.findings import correction_text, family_table, family_text, findings
from fairtrial._report.first_screen import first_screen
from fairtrial._report.one_gap import drawn, why_numbers_differ
from fairtrial._report.tables import build_table, chart_lines
from fairtrial._results.masking import masked_rows, published_rows
from fairtrial._results.result import FurtherTable, Result
from fairtrial._results.text import left_out_texts
from fairtrial._trial.family import TONES, metric_label
from fairtrial._trial.rederived import contradictions

READ_AT_ONCE = 4  # sentences; more are folded
# notes that say what is assumed of these data: with the method's own assumptions they stand once
ASSUMED = ("independent-rows", "independent-pairs", "independent-units", "not-fitted-here", "pointwise")
_WORDS = {"violated": "Disparities shown", "certified": "Certified", "undetermined": "Undetermined"}
_LEVELS_SHOWN = 12
NAMED = 4  # groups in one sentence


def build_page(content: Mapping[str, Any]) -> dict[str, Any]:
    """All that the template needs, from the dict of a results.json."""
    below = content["report"]["suppress_below"]
    sections = [build_section(section, content["family"], below) for section in content["sections"]]
    _tell_apart(sections, content["sections"])
    differing = why_numbers_differ(content["sections"])
    for section in sections:
        section["beside"] = differing.get(section["id"], "")
    report = content["report"]
    return {
        "version": version("fairtrial"),
        "title": report["title"],
        "over": _over(content),
        "context": report["context"],
        "decision": report["decision"],
        "verdict": {**content["verdict"], "word": _word(content), "tone": TONES[content["verdict"]["code"]]},
        "contradictions": contradictions(content),
        "problems": [
            {"title": section["title"] or find_method(section["method"]).question, "text": section["error"]}
            for section in content["sections"]
            if section["error"]
        ],
        "first": first_screen(content),
        "findings": findings(content),
        "correction": correction_text(content),
        "limits": limits(content),
        "sections": sections,
        "family": family_table(content) if content["family"] else None,
        "family_text": family_text(content),
        "data": _data(content["data"]),
        "notes": content["notes"],
        "reproduce": _reproduce(content),
        "glossary": [
            {"name": name, "heading": heading, "text": text} for name, (heading, text) in entries().items()
        ],
    }


def _tell_apart(shown: Sequence[dict[str, Any]], asked: Sequence[Mapping[str, Any]]) -> None:
    """Several sections of one question are told apart in the contents: by what differs in what was asked."""
    for short in {section["short"] for section in shown}:
        same = [i for i, section in enumerate(shown) if section["short"] == short]
        if len(same) < 2:
            continue
        names = _names(short, [str(shown[i]["title"]) for i in same], [asked[i] for i in same])
        for i, name in zip(same, names, strict=True):
            shown[i]["short"] = name


def _names(short: str, titles: list[str], asked: Sequence[Mapping[str, Any]]) -> list[str]:
    """The shortest names that differ: by the groups, by the metric, by both, by title, by all that was asked."""
    groups = [_listed(one["arguments"].get("by")) for one in asked]
    by = [
        f" by {named}" if named else "" for named in groups
    ]  # nobody named: everybody that the audit compares
    metrics = [_listed(_metrics(one["arguments"])) for one in asked]
    names = [[f"{short}{one}" for one in by],
             [f"{short}: {one}" for one in metrics],
             [f"{short}: {one}{other}" for one, other in zip(metrics, by, strict=True)],
             titles,
             [f"{short}: {_differing(one, asked)}" for one in asked]]  # fmt: skip
    return next((told for told in names if len(set(told)) == len(told) and all(told)), names[-1])


def _differing(section: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    """What was asked of this section and not of all of them alike."""
    return ", ".join(
        f"{name.replace('_', ' ')} {_listed(value)}"
        for name, value in section["arguments"].items()
        if any(other["arguments"].get(name) != value for other in others)
    )


def _metrics(arguments: Mapping[str, Any]) -> Any:
    return arguments.get("metric", arguments.get("criterion"))


def _listed(value: Any) -> str:
    """Attributes or metrics of a section in a few words."""
    items = value if isinstance(value, list) else [value]
    names = [item.get("label", item.get("name")) or " and ".join(item) if isinstance(item, Mapping) else item
             for item in items]  # fmt: skip
    told = list(dict.fromkeys(str(name).replace("_", " ") for name in names if name is not None))
    return ", ".join(told[:3]) + (" and more" if len(told) > 3 else "")


def build_section(
    section: Mapping[str, Any], family: Sequence[Mapping[str, Any]], below: int
) -> dict[str, Any]:
    """One question with its chart, reading and table."""
    method = find_method(section["method"])
    shown: dict[str, Any] = {
        "id": section["id"],
        "short": method.short,
        "title": section["title"] or method.question,
        "status": {"stopped": "Stopped.", "failed": "Not answered."}.get(section["status"], ""),
        "error": section["error"],
        "verdict": None,
    }
    if section["result"] is None:
        return shown
    result = read_result(section["result"])
    return shown | _answered(section, result, below) | {"verdict": _verdict(section, result, family)}


def _answered(section: Mapping[str, Any], result: Result, below: int) -> dict[str, Any]:
    """What a section shows besides its verdict; charts and sentences are about the rows one may see."""
    visible = published_rows(result)
    reading = [sentence for sentence in visible.reading() if sentence.strip() != result.verdict.text.strip()]
    if visible is not result:
        reading.append(
            "Rows that are masked are neither counted in these sentences nor drawn."
            if reading
            else "Rows that are masked are not drawn."
        )
    shown_at_once = len(reading) if len(reading) == READ_AT_ONCE + 1 else READ_AT_ONCE
    return {
        "title": section["title"] or result.question,
        "question": result.question if section["title"] else "",
        "null": result.null,
        "reading": reading[:shown_at_once],
        "further": reading[shown_at_once:],
        "charts": _charts(section["id"], visible),
        "table": build_table(result),
        "further_tables": [
            {"name": more.name, "title": more.title, "table": build_table(_as_result(more, below))}
            for more in visible.further_tables()
        ],
        "close_ups": [drawn(one) for one in result.close_ups()],
        "method": result.method,
        "assumptions": [*(note.text for note in result.notes if note.code in ASSUMED), *result.assumptions],
        "notes": [note.text for note in result.notes if note.code not in ASSUMED],
        "citation": result.citation,
        "arguments": _arguments(section),
    }


def _as_result(table: FurtherTable, below: int) -> Any:
    """A further table is shown as the estimates are, and masked alike: it has columns, rows and states."""
    return replace(table, estimates=masked_rows(table.estimates, table.columns, below))


def _verdict(
    section: Mapping[str, Any], result: Result, family: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    after = _after_correction(section, result, family)
    kept = any(entry["significant"] for entry in family if entry["section"] == section["id"])
    return {
        "code": result.verdict.code,
        "text": capital(result.verdict.text)
        + ("." if after and not result.verdict.text.endswith(".") else ""),
        "tone": "open" if after and not kept else result.tone,  # marks follow the corrected verdict
        "after": after,
    }


def _after_correction(section: Mapping[str, Any], result: Result, family: Sequence[Mapping[str, Any]]) -> str:
    """A question's own verdict knows its own tests alone; say so where the whole trial does not bear it out."""
    own = [entry for entry in family if entry["section"] == section["id"]]
    if result.tone != "bad" or not own:
        return ""
    if not any(entry["significant"] for entry in own):
        return "After correction over the whole trial this is no longer significant."
    rows = [row for row in result.estimates if _is_finding(result, row)]
    found = {(row.get("group"), metric_label(row, result.details)) for row in rows}
    lost = [
        f"{entry['subject']} ({entry['metric']})"
        for entry in own
        if not entry["significant"] and (entry["subject"], entry["metric"]) in found
    ]
    named = "; ".join(lost[:NAMED]) + (f"; and {len(lost) - NAMED:,} more" if len(lost) > NAMED else "")
    are = "is" if len(lost) == 1 else "are"
    return f"After correction over the whole trial {named} {are} no longer significant." if lost else ""


def _is_finding(result: Result, row: Mapping[str, Any]) -> bool:
    kind = result.state_of(row)
    return kind.found or kind.tone == "bad"


def capital(text: str) -> str:
    """The text as a sentence begins."""
    return text[:1].upper() + text[1:]


def _charts(section: str, result: Result) -> list[dict[str, Any]]:
    """Each chart with its Vega-Lite spec, the main one first."""
    if not result.estimates:
        return []
    from altair.utils.schemapi import debug_mode

    # The tests validate every kind of chart against the schema; doing it here takes most of the report's time.
    with debug_mode(False):
        drawn = [(picture, picture.chart.to_dict(validate=False)) for picture in result.pictures()]
    return [
        {
            "id": f"chart-{section}-{index}",
            "name": picture.name,
            "title": picture.title,
            "alt": picture.alt,
            "lines": chart_lines(spec),
            "spec": spec,
            "failed": "",
        }
        for index, (picture, spec) in enumerate(drawn)
    ]


def _arguments(section: Mapping[str, Any]) -> str:
    pairs = [
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in section["arguments"].items()
    ]
    return f"{section['method']}(audit{''.join(f', {pair}' for pair in pairs)})"


def _over(content: Mapping[str, Any]) -> str:
    parts = ["Fairness audit", content["report"]["author"], str(content["run"].get("started", ""))[:10]]
    if content["report"]["title"] == "Fairness audit":
        parts = parts[1:]
    return " · ".join(part for part in parts if part)


def left_out(content: Mapping[str, Any]) -> list[str]:
    """Metrics that much of the data was left out of, each once; it stands beside the verdict."""
    results = [read_result(section["result"]) for section in content["sections"] if section["result"]]
    return list(dict.fromkeys(capital(text) for result in results for text in left_out_texts(result)))


def _word(content: Mapping[str, Any]) -> str:
    word = _WORDS.get(content["verdict"]["code"], "Undetermined")
    return word if content["status"] == "complete" else f"{word} (incomplete)"


def limits(content: Mapping[str, Any]) -> list[str]:
    """What a reader must not conclude."""
    asked = {section["method"] for section in content["sections"] if section["status"] == "done"}
    texts = [
        "A disparity is a difference in numbers. Whether it is discrimination, and its cause, is not settled here.",
        "No significant difference is not evidence of fairness: only a certification within a tolerance is.",
        "Outcomes and groups are taken as recorded; errors and bias in the records carry over.",
        "Only the metrics and groups below were looked at; groups with too few people are listed as not tested.",
    ]
    if not any(find_method(name).shows == "certificate" for name in asked):
        texts[1] += " This trial asked for none."
    left = not_asked(asked)
    if left:
        texts.append("Not asked or not answered: " + " ".join(left))
    return [*texts, *_not_for_strangers(content["report"])]


def _not_for_strangers(report: Mapping[str, Any]) -> list[str]:
    """What an owner must know before passing the page on."""
    if report.get("publish"):
        return []
    below = report["suppress_below"]
    if below < 2:
        return [
            "Counts of few people are shown here, by the owner's choice: whoever reads it can tell who is meant."
        ]
    text = f"Counts of fewer than {below} people are masked but can often be worked out: it is the owner's report, not "
    return [text + "made for strangers (fairtrial run --publish makes that)."]


def not_asked(asked: Collection[str]) -> list[str]:
    """The questions that were not answered, in no way."""
    answered = {find_method(name).variant_of or name for name in asked}
    return [
        method.question
        for name, method in trial_methods().items()
        if name not in answered and not method.variant_of
    ]


def _data(data: Mapping[str, Any]) -> dict[str, Any]:
    missing = [item for item in data["missing"] if item["missing"] != 0]
    rule = {
        "error": "Rows with missing values are refused.",
        "drop": "A row is left out of an answer that needs what it lacks; each answer says how many.",
        "category": "A missing group counts as a group of its own, “(missing)”.",
    }[data["missing_rule"]]
    facts = [
        ("Source", data["source"]),
        ("Rows", f"{data['rows']:,}"),
        *[(capital(name), _role(name, value)) for name, value in data["roles"].items()],
    ]
    if data["features"]:
        facts.append(("Features", ", ".join(data["features"])))
    return {
        "facts": facts,
        "missing": [{"column": item["column"], "missing": _count(item["missing"])} for item in missing],
        "missing_text": rule if missing else "No value is missing in the columns used.",
        "groups": [
            {
                "name": name,
                "levels": [
                    {"label": level["label"], "n": _count(level["n"])} for level in levels[:_LEVELS_SHOWN]
                ],
                "more": max(0, len(levels) - _LEVELS_SHOWN),
            }
            for name, levels in data["groups"].items()
        ],
    }


def _count(people: int | None) -> str:
    return "masked" if people is None else f"{people:,}"


def _role(name: str, value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _reproduce(content: Mapping[str, Any]) -> dict[str, Any]:
    versions = content["versions"]
    spec = content["spec"]
    name = spec["name"]
    facts = [
        ("Seed", str(content["seed"])),
        ("Versions", ", ".join(f"{package} {version}" for package, version in versions.items())),
        ("Data fingerprint", content["data"]["digest"]),
    ]
    if content["data"]["sha256"]:
        facts.append(("SHA-256 of the data", content["data"]["sha256"]))
    if content["run"].get("seconds") is not None:
        facts.append(
            (
                "Time taken",
                f"{content['run']['seconds']:.0f} seconds on {content['run'].get('jobs', 1)} worker(s)",
            )
        )
    seed, alpha = content["seed"], f"{content['correction']['alpha']:g}"
    if spec["text"]:
        command = f"fairtrial run {name} --seed {seed} --alpha {alpha}"
        how = f"Save the following as {name} beside the data and type: {command}."
    else:
        rows = ", data=rows" if content["data"]["source"] == "in memory" else ""
        how = (
            f"In Python: fairtrial.run(json.loads(text){rows}, seed={seed}, alpha={alpha}), where text is the following"
            f"{' and rows are the data' if rows else ''}."
        )
    return {
        "text": f"{how} The same data, versions and seed give the same numbers, with any number of workers.",
        "spec": spec["text"] or json.dumps(spec["content"], indent=2, ensure_ascii=False),
        "facts": facts,
    }
