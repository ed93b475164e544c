"""From a checked spec to the audit it describes, and the faults only the data can show."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.files import KNOWN, split_sheet
from fairtrial._audit.groups import check_target, find_groups
from fairtrial._errors import Fault, Faults, InputError, Set, Words, did_you_mean
from fairtrial._method.declaration import find_method
from fairtrial._metrics.groups import find_target
from fairtrial._metrics.table import find_criterion, find_metrics, joined_metrics
from fairtrial._metrics.values import role
from fairtrial._options import Argument
from fairtrial._trial.spec.key_lines import SpecFaults
from fairtrial._trial.spec.load import Spec
from fairtrial._trial.spec.sections import Section
from fairtrial._trial.spec.tables import (
    admits_metrics,
    data_keys,
    is_attributes,
    is_criterion,
    is_metric,
    is_target,
    role_keys,
)
from fairtrial._trial.spec.words import FileWords


def open_audit(spec: Spec, data: object = None) -> Audit:
    """The audit of a spec, or of `data` in its place; every fault found in the data names its line."""
    faults = spec.faults()
    rows = data if data is not None else _source(spec, faults)
    faults.raise_any()
    arguments = dict(spec.data.roles)
    if spec.names.groups:
        arguments["define"] = dict(spec.names.groups)
    if spec.preset == "employment":
        _employment_defaults(arguments)
    try:
        if arguments.get("threshold") == "median":
            arguments["threshold"] = above_median(Audit(rows, **{**arguments, "threshold": None}))
        audit = Audit(rows, **arguments).with_roles(names_attributes=True)
        audit.check()
        audit = _in_words(audit, spec, faults)
    except InputError as error:
        for fault in error.faults:
            faults.add(_place(fault, spec), fault)
        faults.raise_any()
        raise
    return audit


def _in_words(audit: Audit, spec: Spec, faults: SpecFaults) -> Audit:
    """The audit that calls its groups and the rate of its decision as the file's [words] do."""
    words = FileWords.of(spec.content)
    told: dict[str, dict[str, str]] = {}
    by_name = [name for name in audit.groups if name not in {*words.groups, *audit.define, *audit.probable}]
    for name, given in [*words.groups.items(), *((name, None) for name in by_name)]:
        place = ("words", "groups", name)
        levels = _levels(audit, name, faults.add, place)
        if levels is None:
            continue
        told[name] = {label: text for label in levels if (text := words.said(name, label))}
        if given is None:
            continue
        for label in given if isinstance(given, Mapping) else ():
            if label not in levels:
                hint = f" Levels: {', '.join(map(repr, levels[:20]))}.{did_you_mean(label, levels)}"
                faults.add((*place, label), Fault("", f"{label!r} is not in the data", hint=hint))
        if not isinstance(given, Mapping) and not told[name]:
            cure = 'Name each label: { label = "words" }'
            faults.add(place, Fault("", "needs a column of yes and no, or of 1 and 0", cure=cure))
        taken = set(told[name].values()) & set(levels) - set(told[name])
        if taken:
            text = f"calls a group {min(taken)!r}, which is another label of the column"
            faults.add(place, Fault("", text, cure="choose other words"))
    faults.raise_any()
    good = words.good_rate or audit.roles.good_rate
    return audit.with_roles(words=told, rate=words.rate, good_rate=good, amount=str(audit.decision or ""))


def _levels(
    audit: Audit, name: str, add: Callable[[tuple[str, ...], Fault], None], place: tuple[str, ...]
) -> tuple[str, ...] | None:
    """The labels of an attribute that the file has words for; None where there is no such attribute."""
    try:
        audit.check_column("words", "groups", name)
        return audit.levels(name)
    except InputError as error:
        for fault in error.faults:
            add(place, fault)
        return None


def _employment_defaults(arguments: dict[str, Any]) -> None:
    """Local Law 144: a score without a decision is cut at the sample's median; unknown categories are counted."""
    if "score" in arguments and "decision" not in arguments:
        arguments.setdefault("threshold", "median")
    arguments.setdefault("missing", "category")


def _place(fault: Fault, spec: Spec) -> tuple[str, ...]:
    """Where the audit's faults are in the file; a decision that is not written there is made from the score."""
    if fault.argument == "decision" and "decision" not in spec.data.roles:
        return ("data", "score")
    if fault.argument == "define":
        named = [name for name in spec.content.get("groups", {}) if fault.subject == repr(name)]
        return (
            ("groups", named[0])
            if named
            else ("data", "define")
            if "define" in spec.data.roles
            else ("groups",)
        )
    return ("data", fault.argument) if fault.argument in data_keys() else ("data",)


def _source(spec: Spec, faults: SpecFaults) -> Any:
    if spec.data.engine == "spark":
        return _of_spark(spec, faults)
    if spec.data.dataset is not None:
        return str(files("fairtrial.datasets").joinpath(f"{spec.data.dataset}.parquet"))
    source = spec.source
    if any(mark in source for mark in "*?["):
        return source
    path = Path(split_sheet(source)[0])
    if not path.exists():
        folder = path.parent
        others = sorted(file.name for file in folder.glob("*") if file.suffix in (*KNOWN, ".gz"))
        hint = (
            did_you_mean(path.name, others)
            if folder.is_dir()
            else f" There is no folder {os.fspath(folder)!r}."
        )
        hint += " Paths are relative to the spec's folder."
        faults.add(("data", "source"), Fault("", f"there is no file {source!r}", hint=hint))
    elif path.is_dir():
        text = f'is a folder: name its files with a glob, such as "{spec.data.source}/*.parquet"'
        faults.add(("data", "source"), Fault("", text))
    return source


def _of_spark(spec: Spec, faults: SpecFaults) -> Any:
    from fairtrial._audit.engine import spark_frame

    data = spec.data
    path = data.source if data.source is None or "://" in data.source else spec.source
    try:
        return spark_frame("Audit", table=data.table, path=path, sql=data.sql)
    except InputError as error:
        for fault in error.faults:
            faults.add(("data", fault.argument), fault)
    return None


def above_median(audit: Audit) -> float:
    """The smallest score above the sample median, so that `score ≥ threshold` means "above the median"."""
    scores = audit.rows(roles=("score",)).roles["score"]
    scores = scores[np.isfinite(scores)]
    if not len(scores):
        raise InputError(
            "Audit",
            Fault(
                "threshold",
                "cannot be the median: the score has no values",
                cure="name another column as the score",
            ),
        )
    above = scores[scores > np.median(scores)]
    if not len(above):
        text = "cannot be the median: no score lies above it, more than half of the scores are the largest"
        raise InputError("Audit", Fault("threshold", text, cure="State a number"))
    return float(above.min())


def check_sections(audit: Audit, sections: tuple[Section, ...], faults: SpecFaults) -> None:
    """Names a section uses must exist in the data, and its metrics must have their roles."""
    for section in sections:
        for argument in find_method(section.method).arguments:
            if argument.name in section.arguments:
                value = section.arguments[argument.name]
                found = data_faults(audit, section.method, argument, value, _made(section))
                faults.extend((*section.path, argument.name), found)


def _made(section: Section) -> frozenset[str]:
    """Roles that a question makes itself: over all thresholds the decision is made from the score."""
    return frozenset({"decision"} if section.arguments.get("thresholds") else ())


def data_faults(
    audit: Audit, method: str, argument: Argument, value: Any, made: frozenset[str] = frozenset()
) -> list[Fault]:
    """What the data show to be wrong with an argument, before the method is called; roles that are `made` are there."""
    try:
        if admits_metrics(argument):
            _check_metrics(audit, method, argument, value, made)
        elif is_attributes(argument):
            find_groups(method, audit, value)
        elif is_target(argument):
            check_target(method, audit, find_target(method, value))
        elif argument.name in role_keys():
            _check_columns(audit, method, argument, value)
    except InputError as error:
        return list(error.faults)
    return []


def _check_metrics(
    audit: Audit, method: str, argument: Argument, value: Any, made: frozenset[str] = frozenset()
) -> None:
    faults = Faults(method)
    for item in value if isinstance(value, list) else [value]:
        if is_criterion(argument):
            metrics = find_criterion(method, item, within=True)[1]
        elif not is_metric(argument) and joined_metrics(item) == (item,):
            continue  # the method has forms of its own for these; it checks them itself
        else:
            metrics = find_metrics(method, item, argument.name)
        for metric in metrics:
            for need in sorted(metric.needs - made):
                if not audit.has(need):
                    faults.add(_lacks(metric.name, need, argument.name))
            if "decision" in metric.needs - made and role.amount != metric.value and audit.decision_is_real:
                faults.add(_is_amount(audit, metric.name, argument.name))
            for column in metric.columns:
                audit.check_column(method, argument.name, column)
    faults.raise_any()


def _lacks(metric: str, need: str, argument: str) -> Fault:
    """The fault of a metric whose role the audit has not."""
    cure = Words("name its column with {}", Set(need, of="Audit"))
    if need == "decision":
        cure = Words(
            "name its column with {} (or a score with {})",
            Set(need, of="Audit"),
            Set("threshold", of="Audit"),
        )
    return Fault(argument, f"needs the {need}", cure=cure, subject=repr(metric))


def _is_amount(audit: Audit, metric: str, argument: str) -> Fault:
    """The fault of a metric of decisions that are 0 or 1, where a number was decided."""
    cure = Words("ask for {} or the table 'pay'", Set(argument, "mean_decision"))
    return Fault(
        argument, f"is about a yes or no, but {audit.decision!r} is a number", cure=cure, subject=repr(metric)
    )


def _check_columns(audit: Audit, method: str, argument: Argument, value: Any) -> None:
    for name in value if isinstance(value, list) else [value]:
        if isinstance(name, str):
            audit.check_column(method, argument.name, name)
