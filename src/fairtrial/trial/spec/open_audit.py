"""From a checked spec to the audit it describes, and the faults only the data can show."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairtrial.data.groups import check_target, find_groups
from fairtrial.errors import InputError, did_you_mean
from fairtrial.metrics.groups import find_target
from fairtrial.metrics.table import find_metrics, joined_metrics
from fairtrial.trial.spec.faults import SpecFaults
from fairtrial.trial.spec.lines import Path as Place
from fairtrial.trial.spec.sections import Section

if TYPE_CHECKING:
    from fairtrial.data.audit import Audit
    from fairtrial.trial.spec.load import Spec

ROLE_KEYS = ("outcome", "decision", "score", "threshold", "groups", "features", "positive", "bins", "missing")
PLACES: dict[str, Place] = {key: ("data", key) for key in (*ROLE_KEYS, "weight", "unit", "source")}


def open_audit(spec: Spec, data: object = None) -> Audit:
    """The audit of a spec, or of `data` in its place; every fault found in the data names its line."""
    from fairtrial.data.audit import Audit

    faults = spec.faults()
    rows = data if data is not None else _source(spec, faults)
    faults.raise_any()
    arguments: dict[str, Any] = {key: getattr(spec.data, key) for key in (*ROLE_KEYS, "weight", "unit")}
    if spec.preset == "employment":
        _employment_defaults(spec, arguments)
    try:
        if arguments["threshold"] == "median":
            arguments["threshold"] = above_median(Audit(rows, **{**arguments, "threshold": None}))
        audit = Audit(rows, **arguments)
        audit.check()
    except InputError as error:
        _extend(faults, error)
        faults.raise_any()
        raise
    return audit


def _employment_defaults(spec: Spec, arguments: dict[str, Any]) -> None:
    """Local Law 144: a score without a decision is cut at the sample's median; people of unknown category "
    "are counted."""
    if spec.data.score is not None and spec.data.decision is None and spec.data.threshold is None:
        arguments["threshold"] = "median"
    if "missing" not in spec.data.model_fields_set:
        arguments["missing"] = "category"


def _extend(faults: SpecFaults, error: InputError) -> None:
    """The audit's faults begin with an argument in quotes or with a role's name."""
    for fault in map(str, error.faults):
        first = fault.split("'")[1] if fault.startswith("'") else fault.split(" ")[0]
        key = "score" if first == "decision" and "≥" in fault else first
        text = fault.replace(
            "missing='drop' (or 'category' for groups)", 'missing = "drop" (or "category" for groups)'
        )
        faults.add(PLACES.get(key, ("data",)), _as_toml(text))


def _as_toml(text: str) -> str:
    """The cure as one writes it in the file: positive={'outcome': 'yes'} is positive = {outcome = "yes"} "
    "there."""
    start = text.find("positive={")
    if start < 0:
        return text
    inside = text[start + len("positive={") :].rstrip("}")
    role, _, label = inside.partition(": ")
    return f"{text[:start]}positive = {{{role.strip(chr(39))} = {label.replace(chr(39), chr(34))}}}"


def _source(spec: Spec, faults: SpecFaults) -> Any:
    if spec.data.dataset is not None:
        return str(files("fairtrial.datasets").joinpath(f"{spec.data.dataset}.parquet"))
    source = spec.source
    if any(mark in source for mark in "*?["):
        return source
    path = Path(source)
    if not path.exists():
        folder = path.parent
        others = sorted(file.name for file in folder.glob("*") if file.suffix in (".csv", ".parquet", ".gz"))
        hint = (
            did_you_mean(path.name, others)
            if folder.is_dir()
            else f" There is no folder {os.fspath(folder)!r}."
        )
        faults.add(
            ("data", "source"), f"there is no file {source!r}.{hint} Paths are relative to the spec's folder."
        )
    elif path.is_dir():
        faults.add(
            ("data", "source"),
            f'is a folder: name its files with a glob, such as "{spec.data.source}/*.parquet"',
        )
    return source


def above_median(audit: Audit) -> float:
    """The smallest score above the sample median, so that `score ≥ threshold` means "above the median"."""
    scores = audit.rows(roles=("score",)).roles["score"]
    scores = scores[np.isfinite(scores)]
    if not len(scores):
        raise InputError("Audit", "'threshold' cannot be the median: the score has no values")
    above = scores[scores > np.median(scores)]
    if not len(above):
        raise InputError(
            "Audit",
            "'threshold' cannot be the median: no score lies above it, more than half of the scores are the largest",
        )
    return float(above.min())


def check_sections(audit: Audit, sections: tuple[Section, ...], faults: SpecFaults) -> None:
    """Names a section uses must exist in the data, and its metrics must have their roles."""
    for section in sections:
        for key in ("metric", "metrics", "criterion", "fairness", "accuracy"):
            if key in section.arguments:
                _check_metrics(audit, section, key, faults)
        for key in ("by", "target", "features"):
            if key in section.arguments:
                _check_groups(audit, section, key, faults)


def _check_metrics(audit: Audit, section: Section, key: str, faults: SpecFaults) -> None:
    value = section.arguments[key]
    listed = value if isinstance(value, list) else [value]
    path = (*section.path, key)
    for item in listed:
        if key not in ("metric", "metrics") and joined_metrics(item) == (item,):
            continue  # the method has forms of its own for these; it checks them itself
        try:
            for metric in find_metrics(section.method, item):
                for need in sorted(metric.needs):
                    if not audit.has(need):
                        column = " (or a score with threshold =)" if need == "decision" else ""
                        faults.add(
                            path,
                            f"{metric.name!r} needs the {need}: name its column with [data] {need} ={column}",
                        )
                for column in metric.columns:
                    audit.check_column(section.method, key, column)
        except InputError as error:
            for fault in map(str, error.faults):
                faults.add(path, fault)


def _check_groups(audit: Audit, section: Section, key: str, faults: SpecFaults) -> None:
    value = section.arguments[key]
    try:
        if key == "by":
            find_groups(section.method, audit, value)
        elif key == "target":
            check_target(section.method, audit, find_target(section.method, value))
        elif isinstance(value, list) and all(isinstance(name, str) for name in value):
            for name in value:
                audit.check_column(section.method, key, name)
    except InputError as error:
        for fault in map(str, error.faults):
            faults.add((*section.path, key), fault)
