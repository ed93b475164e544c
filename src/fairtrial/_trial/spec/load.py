"""From an audit.toml, a path or a dict to a checked Spec, with every fault in one message."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

from fairtrial._audit.schema import column_list, split_groups
from fairtrial._errors import Fault, InputError, choice_fault, did_you_mean
from fairtrial._method.declaration import trial_methods
from fairtrial._metrics.table import METRICS, find_metric
from fairtrial._trial.spec.key_lines import KeyLines, SpecFaults, read_table, unknown_key
from fairtrial._trial.spec.sections import Names, Section, read_sections
from fairtrial._trial.spec.tables import (
    PRESETS,
    TABLES,
    Bias,
    Data,
    Employment,
    Lending,
    Report,
    Run,
    Wording,
    data_keys,
    keys_of,
)
from fairtrial.datasets import DATASETS

# A spec is written by a person; what is larger is data, or meant to keep the parser busy.
MAX_BYTES = 200_000
MAX_LINE = 10_000
MAX_TABLES = 1_000
MAX_DEPTH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A checked spec: the data and its roles, the questions, how to run them, what the report says."""

    name: str
    folder: File
    preset: str | None
    data: Data
    report: Report
    run: Run
    words: Wording
    employment: Employment
    lending: Lending
    insurance: Lending
    bias: Bias
    names: Names
    sections: tuple[Section, ...]
    content: dict[str, Any]
    text: str
    lines: KeyLines | None = None

    def faults(self) -> SpecFaults:
        """A collector that knows this spec's places."""
        return SpecFaults(self.name, self.content, self.lines)

    @property
    def source(self) -> str:
        """The data file as an absolute path (relative ones are relative to the spec)."""
        return str(self.folder / os.path.expanduser(self.data.source or ""))


def load_spec(spec: str | os.PathLike[str] | Mapping[str, Any] | Spec, *, rows_at_hand: bool = False) -> Spec:
    """A Spec from a file's path, from a dict of the same shape, or as it is.

    With `rows_at_hand` it need not say where the rows are.
    """
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, Mapping):
        return _check(dict(spec), "", "the spec", File.cwd(), rows_at_hand)
    path = File(os.path.expanduser(spec))
    text = _read(path)
    return _check(_parse(text, path.name), text, path.name, path.absolute().parent, rows_at_hand)


def _parse(text: str, name: str) -> dict[str, Any]:
    lines = text.splitlines()
    longest = max((len(line) for line in lines), default=0)
    if longest > MAX_LINE:
        required = f"has a line of {longest:,} characters; {MAX_LINE:,} are the most"
        raise InputError(name, Fault("", required, cure="is it a spec? `fairtrial init` writes one"))
    tables = sum(line.lstrip().startswith("[") for line in lines)
    if tables > MAX_TABLES:
        raise InputError(
            name,
            Fault(
                "", f"has {tables:,} tables; {MAX_TABLES:,} are the most", cure="split it into several files"
            ),
        )
    try:
        return tomllib.loads(text)
    except ValueError as error:  # also of a number with thousands of digits
        cure = 'Texts need quotes, lists [ ], and each key stands once: key = "value".'
        raise InputError(name, Fault("", f"is not valid TOML: {error}", cure=cure)) from None
    except RecursionError:
        raise InputError(name, _too_deep()) from None


def _too_deep() -> Fault:
    return Fault("", f"is nested deeper than {MAX_DEPTH} levels: no question needs that")


def _depth(content: Any) -> int:
    """How deep tables and lists are nested, without going deeper than is allowed."""
    level, depth = [content], 0
    while depth <= MAX_DEPTH:
        inner: list[Any] = []
        for item in level:
            inner += (
                item.values() if isinstance(item, Mapping) else item if isinstance(item, list | tuple) else ()
            )
        if not inner:
            return depth
        level, depth = inner, depth + 1
    return depth


def _read(path: File) -> str:
    if not path.exists():
        others = sorted(file.name for file in path.parent.glob("*.toml")) if path.parent.is_dir() else []
        hint = did_you_mean(path.name, others) or (f" Found here: {', '.join(others)}." if others else "")
        raise InputError(
            str(path),
            Fault("", "there is no such file", hint=f"{hint} `fairtrial init DATA.csv` writes one."),
        )
    if path.is_dir():
        raise InputError(str(path), Fault("", "is a folder", cure="name the audit.toml in it"))
    if path.stat().st_size > MAX_BYTES:
        text = f"is larger than {MAX_BYTES // 1000} KB: that is the data, not the spec? `fairtrial init` writes a spec."
        raise InputError(str(path), Fault("", text))
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        fault = Fault("", f"is not a UTF-8 text (byte {error.start})", cure="save it as UTF-8")
        raise InputError(str(path), fault) from None


def _check(content: dict[str, Any], text: str, name: str, folder: File, rows_at_hand: bool = False) -> Spec:
    if _depth(content) > MAX_DEPTH:
        raise InputError(name, _too_deep())
    lines = KeyLines(text) if text else None
    faults = SpecFaults(name, content, lines)
    _check_top(content, faults)
    data = _read_data(content, faults, rows_at_hand)
    names = _read_names(content, data, faults)
    report = Report(**_own_table(content, "report", Report, faults))
    run = Run(**_own_table(content, "run", Run, faults))
    words = Wording(**_own_table(content, "words", Wording, faults))
    _check_words(words, faults)
    employment = Employment(**_own_table(content, "employment", Employment, faults))
    lending = Lending(**_own_table(content, "lending", Lending, faults))
    insurance = Lending(**_own_table(content, "insurance", Lending, faults))
    bias = Bias(**_own_table(content, "bias", Bias, faults))
    sections = read_sections(content, names, faults)
    if not sections and content.get("preset") is None and "data" in content and "papers" not in content:
        faults.add(
            (), Fault("", f"asks no question: add a preset or a section [{'], ['.join(trial_methods())}]")
        )
    faults.raise_any()
    return Spec(
        name=name, folder=folder, preset=content.get("preset"), data=data, report=report, run=run,
        words=words, employment=employment, lending=lending, insurance=insurance, bias=bias, names=names,
        sections=tuple(sections), content=content, text=text, lines=lines,
    )  # fmt: skip


def _own_table(content: Mapping[str, Any], name: str, table: type, faults: SpecFaults) -> dict[str, Any]:
    """The keys of one of the file's own tables."""
    return read_table((name,), content.get(name, {}), keys_of(table), faults)


def _check_words(words: Wording, faults: SpecFaults) -> None:
    """Each attribute has a text, or one for each label, and no two groups share one."""
    seen: set[str] = set()
    for name, told in (words.groups or {}).items():
        texts = told if isinstance(told, Mapping) else {"": told}
        for label, text in texts.items():
            place = ("words", "groups", name, *([label] if label else []))
            if not isinstance(text, str) or not text.strip():
                faults.add(place, Fault("", 'must be a text, or a table { label = "words" }', got=text))
            elif text in seen:
                text = f"calls two groups {text!r}"
                faults.add(place, Fault("", text, cure="give every group words of its own"))
            seen.add(str(text))


def _check_top(content: Mapping[str, Any], faults: SpecFaults) -> None:
    """The names of the tables, and the preset."""
    known = ["preset", "data", "metrics", "groups", *TABLES, *trial_methods(), "papers"]
    for key in content:
        if key not in known:
            faults.add((key,), unknown_key(key, known))
    if "preset" in content:
        fault = choice_fault("preset", content["preset"], PRESETS)
        if fault:
            faults.add(("preset",), fault)


def _read_data(content: Mapping[str, Any], faults: SpecFaults, rows_at_hand: bool) -> Data:
    if "data" not in content:
        cure = "it names the data file and its roles; `fairtrial init DATA.csv` writes such a file"
        faults.add(("data",), Fault("", "is missing", cure=cure))
        return Data()
    known = len(faults.found)
    data = Data.of(read_table(("data",), content["data"], data_keys(), faults))
    if len(faults.found) == known:  # a key that is misspelt is not missing as well
        _check_rows(data, faults, rows_at_hand)
        _check_roles(data.roles, faults)
    _check_columns(data.roles, faults)
    return data


def _check_rows(data: Data, faults: SpecFaults, rows_at_hand: bool) -> None:
    """Where the rows are."""
    spark = data.engine == "spark"
    if spark and sum(part is not None for part in (data.source, data.table, data.sql)) != 1:
        text = 'with engine = "spark" needs one of table, source (a path) and sql'
        faults.add(("data",), Fault("", text))
    both = (data.source is None) == (data.dataset is None)
    if not spark and both and not (rows_at_hand and data.source is None):
        text = 'needs either source = "file.csv" (or .parquet, or a glob) or dataset = "compas"'
        faults.add(("data",), Fault("", text))
    for key, found, where in (
        ("table", data.table, True),
        ("sql", data.sql, True),
        ("dataset", data.dataset, False),
    ):
        if found is not None and spark is not where:
            text = 'needs engine = "spark"' if where else 'is for engine = "duckdb"; leave one of the two out'
            faults.add(("data", key), Fault("", text))
    if not spark and isinstance(data.source, str) and "://" in data.source:
        text = f"must be a file of this machine, got the address {data.source!r}"
        faults.add(("data", "source"), Fault("", text, cure="download it first"))
    unknown = None if data.dataset is None else choice_fault("dataset", data.dataset, DATASETS)
    if unknown:
        faults.add(("data", "dataset"), unknown)


def _check_roles(roles: Mapping[str, Any], faults: SpecFaults) -> None:
    """What a trial needs of the roles; the Audit finds the other faults when the data are opened."""
    if not {"decision", "outcome", "score"} & set(roles):
        faults.add(("data",), Fault("", "names no role: give at least one of decision, outcome, score"))
    if "threshold" in roles and "score" not in roles:
        faults.add(("data", "threshold"), Fault("", "needs a score: the decision is then score ≥ threshold"))
    if "threshold" in roles and "decision" in roles:
        text = "gives a second decision beside [data] decision: keep one of the two"
        faults.add(("data", "threshold"), Fault("", text))
    if not roles.get("groups"):
        text = 'is missing: name the attributes to compare, such as groups = ["sex", "race"]'
        faults.add(("data", "groups"), Fault("", text))


def _check_columns(roles: Mapping[str, Any], faults: SpecFaults) -> None:
    """Lists of columns, each named once."""
    for key in ("groups", "features"):
        try:
            listed = column_list(key, split_groups(roles.get(key, ()))[0])
        except InputError as error:
            faults.extend(("data", key), error.faults)
            continue
        for name in sorted({name for name in listed if listed.count(name) > 1}, key=str):
            faults.add(("data", key), Fault("", f"names {name!r} twice", cure="name it once"))


def _read_names(content: Mapping[str, Any], data: Data, faults: SpecFaults) -> Names:
    """The metrics and groups the file defines for its sections."""
    metrics, groups = (_tables_of(content, key, faults) for key in ("metrics", "groups"))
    for name, table in metrics.items():
        if name in METRICS:
            text = f"{name!r} is a metric of fairtrial's own: choose another name"
            faults.add(("metrics", name), Fault("", text))
        try:
            find_metric("metrics", {"name": name, **table})
        except InputError as error:
            faults.extend(("metrics", name), error.faults)
    for name, table in groups.items():
        if not table:
            text = 'must name attributes and values, such as race = "Caucasian"'
            faults.add(("groups", name), Fault("", text))
    own = data.roles.get("define")
    return Names(metrics, {**(own if isinstance(own, Mapping) else {}), **groups})


def _tables_of(content: Mapping[str, Any], key: str, faults: SpecFaults) -> dict[str, dict[str, Any]]:
    """A table of tables, [metrics.late] or [groups.black_men]."""
    found = content.get(key, {})
    if not isinstance(found, Mapping):
        faults.add((key,), Fault("", "must be a table", got=found))
        return {}
    for name, table in found.items():
        if not isinstance(table, Mapping):
            faults.add((key, name), Fault("", "must be a table { key = value }", got=table))
    return {str(name): dict(table) for name, table in found.items() if isinstance(table, Mapping)}
