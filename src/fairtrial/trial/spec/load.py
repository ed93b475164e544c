"""From an audit.toml, a path or a dict to a checked Spec, with every fault in one message."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from fairtrial.datasets import DATASETS
from fairtrial.errors import InputError, choice_fault, did_you_mean
from fairtrial.metrics.table import METRICS, find_metric
from fairtrial.trial.spec.faults import SpecFaults
from fairtrial.trial.spec.lines import Path, Places
from fairtrial.trial.spec.sections import METHODS, Section, read_sections
from fairtrial.trial.spec.tables import Data, Employment, Frame, Report, Run

if TYPE_CHECKING:
    from fairtrial.data.audit import Audit

MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Spec:
    """A checked spec: the data and its roles, the questions, how to run them, what the report says."""

    name: str
    folder: File
    preset: str | None
    data: Data
    report: Report
    run: Run
    employment: Employment
    metrics: dict[str, dict[str, Any]]
    groups: dict[str, dict[str, Any]]
    sections: tuple[Section, ...]
    content: dict[str, Any]
    text: str
    places: Places | None = None

    def faults(self) -> SpecFaults:
        """A collector that knows this spec's places."""
        return SpecFaults(self.name, self.content, self.places)

    @property
    def source(self) -> str:
        """The data file as an absolute path (relative ones are relative to the spec)."""
        return str(self.folder / os.path.expanduser(self.data.source or ""))

    def open(self, data: object = None) -> Audit:
        """The audit this spec describes; faults of the data name their place in the spec."""
        from fairtrial.trial.spec.open_audit import open_audit

        return open_audit(self, data)


def load_spec(spec: str | os.PathLike[str] | Mapping[str, Any] | Spec) -> Spec:
    """A Spec from a file's path, from a dict of the same shape, or as it is."""
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, Mapping):
        return _check(dict(spec), "", "the spec", File.cwd())
    path = File(os.path.expanduser(spec))
    text = _read(path)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        cure = 'Texts need quotes, lists [ ], and each key stands once: key = "value".'
        raise InputError(path.name, f"is not valid TOML: {_sentence(str(error))} {cure}") from None
    return _check(content, text, path.name, path.absolute().parent)


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _read(path: File) -> str:
    if not path.exists():
        others = sorted(file.name for file in path.parent.glob("*.toml")) if path.parent.is_dir() else []
        hint = did_you_mean(path.name, others) or (f" Found here: {', '.join(others)}." if others else "")
        raise InputError(str(path), f"there is no such file.{hint} `fairtrial init DATA.csv` writes one.")
    if path.is_dir():
        raise InputError(str(path), "is a folder: name the audit.toml in it")
    if path.stat().st_size > MAX_BYTES:
        raise InputError(
            str(path), "is larger than 1 MB: that is the data, not the spec? `fairtrial init` writes a spec."
        )
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(str(path), f"is not a UTF-8 text (byte {error.start}): save it as UTF-8") from None


def _check(content: dict[str, Any], text: str, name: str, folder: File) -> Spec:
    places = Places(text) if text else None
    faults = SpecFaults(name, content, places)
    frame = _frame(content, faults)
    if frame is not None:
        _check_data(frame.data, faults)
        _check_names(frame, faults)
    metrics = frame.metrics if frame else {}
    groups = frame.groups if frame else {}
    sections = read_sections(content, metrics, groups, faults)
    if frame is not None and not sections and frame.preset is None:
        faults.add((), f"asks no question: add a preset or a section [{'], ['.join(METHODS)}]")
    faults.raise_any()
    assert frame is not None
    return Spec(
        name, folder, frame.preset, frame.data, frame.report, frame.run, frame.employment,
        metrics, groups, tuple(sections), content, text, places,
    )  # fmt: skip


def _frame(content: Mapping[str, Any], faults: SpecFaults) -> Frame | None:
    rest = {key: value for key, value in content.items() if key not in METHODS}
    options: dict[Path, list[str]] = {(): [*Frame.model_fields, *METHODS]}
    for key, model in (("data", Data), ("report", Report), ("run", Run), ("employment", Employment)):
        options[key,] = list(model.model_fields)
    try:
        return Frame.model_validate(rest)
    except ValidationError as error:
        faults.add_pydantic(error.errors(), options)
        return None


def _check_data(data: Data, faults: SpecFaults) -> None:
    if (data.source is None) == (data.dataset is None):
        faults.add(
            ("data",), 'needs either source = "file.csv" (or .parquet, or a glob) or dataset = "compas"'
        )
    if data.dataset is not None:
        fault = choice_fault("dataset", data.dataset, DATASETS)
        if fault:
            faults.add(("data", "dataset"), str(fault))
    if data.decision is None and data.outcome is None and data.score is None:
        faults.add(("data",), "names no role: give at least one of decision, outcome, score")
    if data.threshold is not None and data.score is None:
        faults.add(("data", "threshold"), "needs a score: the decision is then score ≥ threshold")
    if data.threshold is not None and data.decision is not None:
        faults.add(
            ("data", "threshold"), "gives a second decision beside [data] decision: keep one of the two"
        )
    if not data.groups:
        faults.add(
            ("data", "groups"), 'is missing: name the attributes to compare, such as groups = ["sex", "race"]'
        )


def _check_names(frame: Frame, faults: SpecFaults) -> None:
    for name, table in frame.metrics.items():
        if name in METRICS:
            faults.add(("metrics", name), f"{name!r} is a metric of fairtrial's own: choose another name")
        try:
            find_metric("metrics", {"name": name, **table})
        except InputError as error:
            for fault in map(str, error.faults):
                faults.add(("metrics", name), fault)
    for name, table in frame.groups.items():
        if not table or not all(isinstance(key, str) for key in table):
            faults.add(("groups", name), 'must name attributes and values, such as race = "Caucasian"')
        if name in frame.data.groups:
            faults.add(
                ("groups", name), f"{name!r} is also a column under [data] groups: choose another name"
            )
