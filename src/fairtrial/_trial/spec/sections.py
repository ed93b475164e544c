"""The questions of a trial: one section per question, its keys are the declared arguments of the method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairtrial._errors import Fault, InputError, did_you_mean
from fairtrial._method.declaration import Method, paper_methods, trial_methods
from fairtrial._metrics.table import CRITERIA, find_metric, find_metrics
from fairtrial._options import Argument
from fairtrial._trial.spec.argument_kinds import (
    admits_groups,
    admits_metrics,
    is_attributes,
    is_criterion,
    is_metric,
)
from fairtrial._trial.spec.faults import SpecFaults, unknown_key
from fairtrial._trial.spec.key_lines import Path
from fairtrial._trial.spec.tables import run_keys


@dataclass(frozen=True, slots=True)
class Section:
    """One question with its arguments, names already replaced by what they stand for."""

    id: str
    method: str
    arguments: dict[str, Any]
    title: str = ""
    path: Path = field(default=(), compare=False)

    def to_dict(self) -> dict[str, Any]:
        """As results.json records it."""
        return {"id": self.id, "method": self.method, "title": self.title, "arguments": self.arguments}


@dataclass(frozen=True, slots=True)
class Names:
    """Metrics and groups that the file defines once, for all its sections."""

    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def resolve(self, argument: Argument, value: Any, compared: Any = ()) -> Any:
        """The value with each name replaced by what it stands for; `compared` are the groups of the section."""
        if isinstance(value, list):
            return [self.resolve(argument, item, compared) for item in value]
        if isinstance(value, str) and value in self.metrics and admits_metrics(argument):
            return {"name": value, **self.metrics[value]}
        if isinstance(value, str) and value in self.groups and admits_groups(argument):
            # Among the groups compared it is one of its own, which the audit knows by its name; whom they are compared
            # with is a group of the attributes it is made of, where labels alone make it. One of the groups compared
            # that another argument picks, such as explain's reference, is that very one.
            own = is_attributes(argument) or not _of_labels(self.groups[value])
            own |= isinstance(compared, list) and value in compared and str not in argument.kinds
            return {value: value} if own else dict(self.groups[value])
        return value


def _of_labels(definition: Any) -> bool:
    """Whether a group is defined by labels of columns, rather than by bounds."""
    return isinstance(definition, Mapping) and not any(
        isinstance(part, Mapping) for part in definition.values()
    )


def section_keys(method: Method) -> dict[str, Argument]:
    """The keys a section may have besides its title."""
    return {
        argument.name: argument
        for argument in method.arguments
        if not (argument.option.python_only or argument.option.whole_trial)
    }


def read_sections(content: Mapping[str, Any], names: Names, faults: SpecFaults) -> list[Section]:
    """Every section of the file in the order of a trial; faults are collected, not raised."""
    sections: list[Section] = []
    for name, method in trial_methods().items():
        if name in content:
            sections += _sections_of(method, content[name], (name,), names, faults)
    papers = content.get("papers", {})
    if not isinstance(papers, Mapping):
        faults.add(("papers",), Fault("", "must be tables such as [papers.elfa]", got=papers))
        return sections
    for paper, table in papers.items():
        sections += _sections_of_paper(paper, table, names, faults)
    return sections


def _sections_of_paper(paper: str, table: Any, names: Names, faults: SpecFaults) -> list[Section]:
    """The sections [papers.elfa.certify], or [papers.elfa] where that paper has but one method."""
    known = paper_methods()
    if paper not in known:
        faults.add(("papers", paper), unknown_key(paper, list(known)))
        return []
    methods = known[paper]
    if len(methods) == 1 and not (isinstance(table, Mapping) and set(table) == set(methods)):
        (method,) = methods.values()
        return _sections_of(method, table, ("papers", paper), names, faults)
    if not isinstance(table, Mapping):
        listed = " or ".join(f"[papers.{paper}.{name}]" for name in methods)
        faults.add(("papers", paper), Fault("", f"must be a table {listed}", got=table))
        return []
    for name in table:
        if name not in methods:
            faults.add(("papers", paper, name), unknown_key(name, list(methods)))
    return [
        section
        for name, method in methods.items()
        if name in table
        for section in _sections_of(method, table[name], ("papers", paper, name), names, faults)
    ]


def _sections_of(method: Method, found: Any, place: Path, names: Names, faults: SpecFaults) -> list[Section]:
    """One question's tables: a single one, or several of them."""
    single = isinstance(found, Mapping)
    tables = [found] if single else found
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        name = ".".join(map(str, place))
        faults.add(place, Fault("", f"must be a table [{name}] or several [[{name}]]", got=found))
        return []
    sections = []
    for index, table in enumerate(tables):
        path: Path = place if single else (*place, index)
        stem = method.name.replace(".", "_")
        identity = stem if len(tables) == 1 else f"{stem}-{index + 1}"
        arguments = _read_arguments(method, table, path, names, faults)
        sections.append(Section(identity, method.name, arguments, _title(table, path, faults), path))
    return sections


def _title(table: Mapping[str, Any], path: Path, faults: SpecFaults) -> str:
    title = table.get("title", "")
    if not isinstance(title, str):
        faults.add((*path, "title"), Fault("title", "must be a text", got=title))
    return str(title)


def _read_arguments(
    method: Method, table: Mapping[str, Any], path: Path, names: Names, faults: SpecFaults
) -> dict[str, Any]:
    """The arguments of one section, checked as the method declares them, their names replaced."""
    keys = section_keys(method)
    arguments: dict[str, Any] = {}
    compared = next((table.get(key) for key, argument in keys.items() if is_attributes(argument)), ())
    for key, value in table.items():
        if key in keys:
            arguments[key] = names.resolve(keys[key], value, compared)
            faults.extend((*path, key), value_faults(method, keys[key], arguments[key]))
        elif key != "title":
            faults.add((*path, key), _refused(method, key, keys))
    for key, argument in keys.items():
        if argument.required and key not in table:
            faults.add((*path, key), Fault(key, f"is missing: {method.name} needs it"))
    return arguments


def _refused(method: Method, key: str, keys: Mapping[str, Argument]) -> Fault:
    """Why a section may not have the key."""
    declared = {argument.name: argument for argument in method.arguments}
    if key in declared and declared[key].option.python_only:
        return Fault(
            key,
            f"is for Python only: {declared[key].option.python_only}",
            cure="Leave it out, or run the audit from Python",
        )
    if key in declared or key in run_keys():
        return Fault(key, f"is set for the whole trial: write it under [run], not in [{method.name}]")
    known = ["title", *keys]
    hint = f"{did_you_mean(key, known)} It takes: {', '.join(known)}."
    return Fault(key, f"{method.name} takes no argument {key!r}", hint=hint)


def value_faults(method: Method, argument: Argument, value: Any) -> list[Fault]:
    """What can be told without the data: metric names, fixed choices, numbers and their bounds."""
    if is_criterion(argument) and isinstance(value, str) and value in CRITERIA:
        return []
    if not (is_metric(argument) or is_criterion(argument)):
        fault = argument.fault(value)
        return [] if fault is None else [fault]
    find = find_metrics if argument.option.many else find_metric
    try:
        find(method.name, value, argument.name)
    except InputError as error:
        return list(error.faults)
    return []
