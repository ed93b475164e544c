"""From what the page's forms hold to a spec: checked as `run` checks it, and written as TOML, Python and a command."""

from __future__ import annotations

import json
import os
import secrets
import typing
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from pprint import pformat
from threading import Lock
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._errors import Fault, InputError
from fairtrial._method.declaration import Method, find_method, trial_methods
from fairtrial._options import Argument, recorded
from fairtrial._options.kinds import IN_PEOPLE
from fairtrial._trial.running import check_spec
from fairtrial._trial.spec import open_audit
from fairtrial._trial.spec.load import Spec
from fairtrial._trial.spec.sections import Section, section_keys
from fairtrial._trial.spec.speech import TOML, value_text
from fairtrial._trial.spec.tables import (
    WHERE,
    admits_groups,
    admits_metrics,
    is_attributes,
    is_criterion,
    is_metric,
)
from fairtrial._web.store import WATCH

MOST_JOBS = os.cpu_count() or 1
OWN = "state"  # the one option whose file the server keeps itself, under a name that the page gives
REFUSED = "cannot be given here: a page may not name files of this machine; leave it out"
RECENT = 20  # audits that say how quick this machine is
COMMAND = "#!/bin/sh\n# beside audit.toml and the data\nfairtrial run audit.toml --out audit-report\n"
EXPLORATORY = "Exploratory: rates of these data were shown before the questions were fixed."


def table_of(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    """One of the spec's tables; empty where it has none."""
    table = content.get(name, {})
    if not isinstance(table, Mapping):
        raise InputError("audit", Fault(name, f"must be a table [{name}]", got=str(table)[:80]))
    return dict(table)


def checked_content(content: Mapping[str, Any]) -> dict[str, Any]:
    """What a page sent as an audit's content, as far as it can be kept at all."""
    try:
        json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):  # half a character, NaN, or nested without end
        raise InputError("audit", Fault("content", "must be JSON of whole characters and numbers")) from None
    for name in ("data", "report"):
        table_of(content, name)
    return dict(content)


def with_source(content: Mapping[str, Any], place: Path, dataset: str | None) -> dict[str, Any]:
    """The spec's content with the file's own place; a page may not name another."""
    data = {name: value for name, value in table_of(content, "data").items() if name not in WHERE}
    source = {"dataset": dataset} if dataset else {"source": str(place)}
    return {**content, "data": {**source, **data}}


def confined(content: Mapping[str, Any], watches: Path) -> dict[str, Any]:
    """The spec without files that its options name; a watch's state is a name of the server's own."""
    kept = dict(content)
    run = table_of(content, "run")
    if run.get("parallel") is not None:
        cure = "run it on the command line"
        raise InputError(
            "run", Fault("parallel", "cannot be given here: nothing leaves this machine", cure=cure)
        )
    if isinstance(run.get("jobs"), int) and run["jobs"] > MOST_JOBS:
        raise InputError("run", Fault("jobs", f"must be at most {MOST_JOBS} here", got=run["jobs"]))
    for name, method in trial_methods().items():
        paths = [argument.name for argument in method.arguments if argument.option.path]
        tables = kept.get(name)
        if paths and isinstance(tables, Mapping):
            kept[name] = _inside(name, tables, paths, watches)
        elif paths and isinstance(tables, list):
            kept[name] = [_inside(name, part, paths, watches) for part in tables if isinstance(part, Mapping)]
    return kept


def page_form(method: Method) -> dict[str, Any]:
    """The form of a question without the files that a page may not name."""
    form = form_schema(method)
    refused = {argument.name for argument in method.arguments if argument.option.path} - {OWN}
    return {
        **form,
        "properties": {name: part for name, part in form["properties"].items() if name not in refused},
    }


def _inside(who: str, table: Mapping[str, Any], paths: list[str], watches: Path) -> dict[str, Any]:
    kept = dict(table)
    for option in paths:
        given = kept.get(option)
        if option == OWN and isinstance(given, str) and WATCH.fullmatch(given):
            kept[option] = str(watches / f"{given}.jsonl")
        elif given is not None:
            required = "must be a short name of letters, digits and hyphens" if option == OWN else REFUSED
            raise InputError(who, Fault(option, required, got=str(given)[:80]))
    return kept


class Opened:
    """Audits that were opened last: a page that is filled in asks again and again about the same data."""

    def __init__(self, most: int = 8) -> None:
        self.most, self.lock = most, Lock()
        self.kept: OrderedDict[str, Audit] = OrderedDict()

    def __call__(self, spec: Spec, data: object = None) -> Audit:
        """The audit of a spec's data, which is read once as long as its file and its roles stay the same."""
        changed = Path(spec.source).stat().st_mtime if spec.data.source else None
        told = [spec.content.get(name) for name in ("data", "groups")]
        key = json.dumps([*told, changed, spec.preset == "employment"], sort_keys=True)
        with self.lock:
            found = self.kept.pop(key, None)
        found = open_audit(spec, data) if found is None else found
        with self.lock:
            self.kept[key] = found
            while len(self.kept) > self.most:
                self.kept.popitem(last=False)
        return found


def questions_of(content: Mapping[str, Any], opened: Opened) -> tuple[list[str], list[Section]]:
    """Everything that is wrong with a spec before any work is done for it, or else the questions it asks."""
    try:
        return [], list(check_spec(content, opened=opened))
    except InputError as error:
        return [line for line in error.said(TOML).splitlines() if line.strip()], []


def plain_json(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A question's settings as a page can show them."""
    told: dict[str, Any] = json.loads(json.dumps(dict(arguments), default=str))
    if isinstance(told.get(OWN), str):
        told[OWN] = Path(told[OWN]).stem  # the name that the page gave
    return told


def expected_seconds(sections: list[Section], rows: int) -> dict[str, float]:
    """About how long each question takes on one core, as its method declares."""
    return {
        section.id: find_method(section.method).cost.seconds(rows, section.arguments) for section in sections
    }


def slowness(audits: Iterable[Mapping[str, Any]]) -> float:
    """How many times longer questions took on this machine than declared, from the last audits that were run here."""
    pairs = [
        (float(took), meta["expected"][section])
        for meta in islice((meta for meta in audits if meta.get("expected")), RECENT)
        for section, took in (meta.get("seconds") or {}).items()
        if section in meta["expected"]
    ]
    expected = sum(second for _, second in pairs)
    return sum(first for first, _ in pairs) / expected if expected else 1.0


def plan_text(content: Mapping[str, Any], digest: str, sections: list[Section]) -> str:
    """What is fixed before any rate is seen, to be kept as it is: its SHA-256 is the plan's fingerprint.

    The data, the roles and every question with its settings, those of a preset too; not the words around them. The
    salt, which stays with whoever keeps the plan, is why nobody else can try which table has this fingerprint.
    """
    plan = {name: value for name, value in content.items() if name != "report"}
    asked = [{"id": one.id, "method": one.method, "arguments": plain_json(one.arguments)} for one in sections]
    told = {**plan, "data_sha256": digest, "fairtrial": version("fairtrial"), "questions": asked}
    told["salt"] = secrets.token_hex(16)
    return json.dumps(told, sort_keys=True, ensure_ascii=False, indent=1) + "\n"


def marked(content: Mapping[str, Any], meta: Mapping[str, Any]) -> dict[str, Any]:
    """The spec with how its questions came about in the report's words: fixed beforehand, or exploratory."""
    report = table_of(content, "report")
    if meta.get("exploratory"):
        note = EXPLORATORY
        report["title"] = f"Exploratory: {report.get('title') or 'Fairness audit'}"
    else:
        note = f"Groups, metrics, tolerance and scale were fixed on {meta['planned']}, before any rate of these data "
        note += f"was shown here (SHA-256 of plan.json {meta['plan']})."
    report["context"] = " ".join(part for part in (str(report.get("context", "")).strip(), note) if part)
    return {**content, "report": report}


def as_toml(content: Mapping[str, Any]) -> str:
    """The spec as `fairtrial run` reads it."""
    lines = [f"{name} = {value_text(value)}" for name, value in content.items() if not _is_table(value)]
    for name, value in content.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{name}]", *_pairs(value)]
        elif _is_table(value):
            for part in value:
                lines += ["", f"[[{name}]]", *_pairs(part)]
    return "\n".join(lines).strip() + "\n"


def as_code(content: Mapping[str, Any], meta: Mapping[str, Any]) -> dict[str, str]:
    """The audit as a file, as Python and as a command; what is exploratory stays so when it is run elsewhere."""
    own = marked(content, meta) if meta.get("exploratory") else content
    note = f"# {EXPLORATORY}\n" if meta.get("exploratory") else ""
    shell, command = COMMAND.split("\n", 1)
    return {
        "audit.toml": note + as_toml(own),
        "audit.py": note + as_python(own),
        "audit.sh": f"{shell}\n{note}{command}",
    }


def as_python(content: Mapping[str, Any]) -> str:
    """The same as a call."""
    text = pformat(dict(content), sort_dicts=False, width=100)
    return f'import fairtrial\n\ntrial = fairtrial.run({text}, out="audit-report")\nprint(trial.summary())\n'


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list) and bool(value) and all(isinstance(part, Mapping) for part in value)
    )


def _pairs(table: Mapping[str, Any]) -> list[str]:
    return [f"{key(name)} = {value_text(value)}" for name, value in table.items() if value is not None]


def key(name: str) -> str:
    """A key of TOML, quoted where it must be."""
    plain = name.replace("_", "").replace("-", "")
    return name if plain.isascii() and plain.isalnum() else json.dumps(name)


# -- What a form for one question looks like, as a JSON schema: for pages, and for programs that write specs.
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
_BOUNDS = {"least": "minimum", "most": "maximum", "above": "exclusiveMinimum", "below": "exclusiveMaximum"}


def form_schema(method: Method) -> dict[str, Any]:
    """The JSON schema of a section that asks one question.

    Parameters
    ----------
    method : Method
        A declared method.

    Returns
    -------
    dict
        A schema (draft 2020-12) with one property for each key of the section.

    Examples
    --------
    >>> from fairtrial._method.declaration import find_method
    >>> form_schema(find_method("certify"))["properties"]["confidence_level"]
    {'type': 'number', 'exclusiveMinimum': 0.5, 'exclusiveMaximum': 1, 'description': 'Of the intervals.', \
'default': 0.95}
    """
    keys = section_keys(method)
    title = {"type": "string", "description": "A heading of its own."}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": method.question,
        "description": method.help,
        "type": "object",
        "additionalProperties": False,
        "required": [name for name, argument in keys.items() if argument.required],
        "properties": {"title": title, **{name: property_schema(part) for name, part in keys.items()}},
    }


def property_schema(argument: Argument) -> dict[str, Any]:
    """What one key may hold: types, choices, bounds, default and help."""
    bounds = {
        word: getattr(argument.option, bound)
        for bound, word in _BOUNDS.items()
        if getattr(argument.option, bound) is not None
    }
    default = {} if argument.required else {"default": recorded(argument.default)}
    people = {"pattern": f"^{IN_PEOPLE}$"} if argument.option.shares else {}
    return {
        **_values(argument),
        **people,
        **_about(argument),
        **bounds,
        "description": argument.option.help,
        **default,
    }


def _about(argument: Argument) -> dict[str, Any]:
    """What its texts name, so that a page can offer them: metrics, groups or columns."""
    if is_metric(argument) or is_criterion(argument) or admits_metrics(argument):
        return {"format": "metric"}
    if is_attributes(argument):
        return {"format": "columns"}
    return {"format": "group"} if admits_groups(argument) else {}


def _values(argument: Argument) -> dict[str, Any]:
    """Types and choices; nothing where the method alone can tell."""
    if any(kind in (object, Any) for kind in argument.kinds):
        return {}
    kinds = (*argument.kinds, *((str,) if argument.option.shares else ()))
    types = list(dict.fromkeys(word for kind in kinds if (word := json_type(kind))))
    choices = list(argument.choices)
    if not choices:
        return {"type": types[0] if len(types) == 1 else types} if types else {}
    if set(types) <= {"null"}:
        return {"enum": [*choices, *([None] if types else [])]}
    return {"anyOf": [{"type": types}, {"enum": choices}]}


def json_type(kind: Any) -> str | None:
    """The JSON type of a value of this kind; None for choices and for what JSON cannot hold."""
    if kind in _TYPES:
        return _TYPES[kind]
    origin = typing.get_origin(kind) or kind
    if not isinstance(origin, type):
        return None
    return "object" if issubclass(origin, Mapping) else "array" if issubclass(origin, Sequence) else None
