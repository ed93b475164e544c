"""The questions of a trial: one section per question, its arguments are the method's own."""

from __future__ import annotations

import importlib
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from fairtrial.errors import InputError, did_you_mean
from fairtrial.metrics.table import find_metric, find_metrics
from fairtrial.trial.spec.faults import SpecFaults
from fairtrial.trial.spec.lines import Path

# what the trial itself decides, so a section may not
_RESERVED = ("seed", "jobs", "progress")
_METRIC_ARGUMENTS = ("metric", "metrics", "accuracy", "fairness")
_GROUP_ARGUMENTS = ("by", "target", "protected", "reference", "against")


@dataclass(frozen=True, slots=True)
class Method:
    """One question a trial can ask."""

    name: str
    question: str
    short: str

    @property
    def call(self) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(
            importlib.import_module(f"fairtrial.methods.{self.module}.method"), self.name
        )
        return function

    @property
    def module(self) -> str:
        return "scan" if self.name == "scan_all" else self.name


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("measure", "What are the rates?", "Rates"),
        Method("certify", "Is it fair?", "Certification"),
        Method("flag", "Which known groups are harmed?", "Flags"),
        Method("scan", "Which unknown subgroups are harmed?", "Subgroups"),
        Method("scan_all", "Which unknown subgroups are harmed, in any group?", "All subgroups"),
        Method("transport", "How little would have to change?", "Smallest change"),
        Method("explain", "Which features carry it?", "Drivers"),
        Method("improve", "Was there a fairer way, just as good?", "Alternatives"),
    )
}


@dataclass(frozen=True, slots=True)
class Section:
    """One question with its arguments, names already replaced by what they stand for."""

    id: str
    method: str
    arguments: dict[str, Any]
    title: str = ""
    path: Path = field(default=(), compare=False)

    def to_dict(self) -> dict[str, Any]:
        return {"id": self.id, "method": self.method, "title": self.title, "arguments": self.arguments}


@cache
def arguments_of(method: str) -> Mapping[str, inspect.Parameter]:
    """The arguments a section may set, without the audit; `scan_all` passes on those of `scan`."""
    parameters = list(inspect.signature(METHODS[method].call).parameters.values())[1:]
    named = {
        parameter.name: parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD
    }
    if len(named) < len(parameters):
        passed_on = {
            name: parameter for name, parameter in arguments_of("scan").items() if name != "protected"
        }
        named = {**passed_on, **named}
    return {name: parameter for name, parameter in named.items() if name not in _RESERVED}


def read_sections(
    content: Mapping[str, Any],
    metrics: Mapping[str, Mapping[str, Any]],
    groups: Mapping[str, Mapping[str, Any]],
    faults: SpecFaults,
) -> list[Section]:
    """Every section of the file in the order of a trial; faults are collected, not raised."""
    sections: list[Section] = []
    for name in METHODS:
        if name not in content:
            continue
        single = isinstance(content[name], Mapping)
        tables = [content[name]] if single else content[name]
        if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
            faults.add((name,), f"must be a table [{name}] or several [[{name}]], got {content[name]!r}")
            continue
        for index, table in enumerate(tables):
            path: Path = (name,) if single else (name, index)
            identity = name if len(tables) == 1 else f"{name}-{index + 1}"
            sections.append(read_section(identity, name, table, path, metrics, groups, faults))
    return sections


def read_section(
    identity: str,
    method: str,
    table: Mapping[str, Any],
    path: Path,
    metrics: Mapping[str, Mapping[str, Any]],
    groups: Mapping[str, Mapping[str, Any]],
    faults: SpecFaults,
) -> Section:
    """One section: its arguments checked against the method's signature, its names replaced."""
    allowed = arguments_of(method)
    arguments: dict[str, Any] = {}
    title = table.get("title", "")
    if not isinstance(title, str):
        faults.add((*path, "title"), f"must be a text in quotes, got {title!r}")
    for key, value in table.items():
        if key == "title":
            continue
        if key in _RESERVED:
            faults.add((*path, key), f"is set for the whole trial: write it under [run], not in [{method}]")
        elif key not in allowed:
            known = ["title", *allowed]
            faults.add(
                (*path, key),
                f"{method} takes no argument {key!r}.{did_you_mean(key, known)} It takes: {', '.join(known)}.",
            )
        else:
            arguments[key] = _resolve(key, value, metrics, groups)
            _check_value(method, key, arguments[key], allowed[key], (*path, key), faults)
    for key, parameter in allowed.items():
        if (
            parameter.default is parameter.empty
            and key not in table
            and parameter.kind is not parameter.VAR_KEYWORD
        ):
            faults.add((*path, key), f"is missing: {method} needs it")
    return Section(identity, method, arguments, str(title), path)


def _resolve(
    key: str, value: Any, metrics: Mapping[str, Mapping[str, Any]], groups: Mapping[str, Mapping[str, Any]]
) -> Any:
    """Metrics and groups are named once, under [metrics] and [groups]; here a name becomes what it stands "
    "for."""
    if isinstance(value, list):
        return [_resolve(key, item, metrics, groups) for item in value]
    if isinstance(value, str) and key in _METRIC_ARGUMENTS and value in metrics:
        return {"name": value, **metrics[value]}
    if isinstance(value, str) and key in _GROUP_ARGUMENTS and value in groups:
        return dict(groups[value])
    return value


def _check_value(
    method: str, key: str, value: Any, parameter: inspect.Parameter, path: Path, faults: SpecFaults
) -> None:
    """What can be told without the data: metric names, fixed choices, numbers where numbers are needed."""
    if key in ("metric", "metrics"):
        try:
            find_metrics(method, value) if key == "metrics" else find_metric(method, value)
        except InputError as error:
            for fault in map(str, error.faults):
                faults.add(path, fault)
        return
    hint = _hints(method).get(key, Any)
    expected = _mismatch(value, hint)
    if expected:
        options = _choices(hint)
        hint_text = did_you_mean(value, options) if isinstance(value, str) else ""
        faults.add(path, f"must be {expected}, got {value!r}.{hint_text}")


@cache
def _hints(method: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(METHODS[method].call)
    except (NameError, TypeError):  # a name that only type checkers import
        return {}


_SIMPLE: dict[Any, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    str: ((str,), "a text in quotes"),
}


def _mismatch(value: Any, hint: Any) -> str:
    """What the hint requires in words when the value does not fit it; empty when it fits or cannot be "
    "told."""
    options = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    words: list[str] = []
    for option in options:
        if option is type(None):
            continue
        if typing.get_origin(option) is Literal:
            if value in typing.get_args(option):
                return ""
            words.append("one of " + ", ".join(repr(choice) for choice in typing.get_args(option)))
        elif option in _SIMPLE:
            kinds, text = _SIMPLE[option]
            if isinstance(value, kinds) and (option is bool or not isinstance(value, bool)):
                return ""
            words.append(text)
        else:
            return ""
    return " or ".join(words)


def _choices(hint: Any) -> list[str]:
    if typing.get_origin(hint) is Literal:
        return [str(choice) for choice in typing.get_args(hint)]
    return [choice for part in typing.get_args(hint) for choice in _choices(part)]
