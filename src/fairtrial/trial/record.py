"""A finished trial: answers, the correction over all of them, the verdict, and the forms it is saved in."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fairtrial.errors import InputError
from fairtrial.results.column import Verdict
from fairtrial.results.masking import mask_entry, mask_groups, mask_result
from fairtrial.results.result import Result
from fairtrial.trial.family import Entry, conclude, correct
from fairtrial.trial.spec import METHODS, Section

if TYPE_CHECKING:
    from fairtrial.trial.spec import Spec

SCHEMA = "fairtrial/trial/1"
Status = Literal["done", "failed", "stopped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of one section."""

    section: Section
    status: Status
    result: Result | None = None
    error: str = ""
    unexpected: str = field(default="", repr=False)
    seconds: float = 0.0
    kept: bool = False


class Trial:
    """All answers of one audit.

    `results` maps a section's id to its Result, `verdict` is the verdict after correction over the whole trial,
    `family` every corrected p-value, `report(path)` writes the page, `save(folder)` everything.
    """

    def __init__(
        self,
        *,
        spec: Spec,
        answers: tuple[Answer, ...],
        data: Mapping[str, Any],
        notes: tuple[str, ...],
        seed: int,
        versions: Mapping[str, str],
        run: Mapping[str, Any],
    ) -> None:
        self.spec = spec
        self.answers = answers
        self.data = dict(data)
        self.notes = notes
        self.seed = seed
        self.versions = dict(versions)
        self.run = dict(run)

    @cached_property
    def results(self) -> dict[str, Result]:
        return {answer.section.id: answer.result for answer in self.answers if answer.result is not None}

    @cached_property
    def family(self) -> tuple[Entry, ...]:
        return tuple(correct(self.results.items(), self.spec.run.alpha))

    @cached_property
    def verdict(self) -> Verdict:
        unanswered = sum(answer.status != "done" for answer in self.answers)
        return conclude(self.family, list(self.results.items()), self.spec.run.alpha, unanswered)

    @property
    def complete(self) -> bool:
        """Whether every question was answered."""
        return all(answer.status == "done" for answer in self.answers)

    @property
    def stopped(self) -> bool:
        return any(answer.status == "stopped" for answer in self.answers)

    def to_dict(self) -> dict[str, Any]:
        """What results.json holds; numbers about fewer than `suppress_below` people are masked."""
        below = self.spec.report.suppress_below
        content = {
            "schema": SCHEMA,
            "report": self.spec.report.model_dump(mode="json"),
            "preset": self.spec.preset,
            "status": "complete" if self.complete else "incomplete",
            "verdict": {"code": self.verdict.code, "text": self.verdict.text},
            "correction": {"method": "holm", "alpha": self.spec.run.alpha, "tests": len(self.family)},
            "family": [mask_entry(entry.to_dict(), below) for entry in self.family],
            "sections": [_section(answer, below) for answer in self.answers],
            "notes": list(self.notes),
            "data": {**self.data, "groups": mask_groups(self.data["groups"], below)},
            "seed": self.seed,
            "versions": self.versions,
            "spec": {"name": self.spec.name, "text": self.spec.text, "content": self.spec.content},
            "run": self.run,
        }
        plain: dict[str, Any] = json.loads(json.dumps(content, allow_nan=False, default=str))
        return plain

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report, one self-contained HTML file, and return its path."""
        return Path(_page_module().write_report(self.to_dict(), path))

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write results.json, report.html, tables and charts into `folder`; results.json comes last."""
        return Path(_page_module().write_all(self.to_dict(), folder))

    def summary(self) -> str:
        """The verdict and one line per question, as text."""
        lines = [self.verdict.text, ""]
        for answer in self.answers:
            title = answer.section.title or METHODS[answer.section.method].question
            lines.append(f"{title}  {answer.result.verdict.text if answer.result else answer.error}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"Trial({self.verdict.code}: {len(self.results)} of {len(self.answers)} questions answered)"


def _page_module() -> Any:
    """The page lies above the trial and is only reached for when someone asks for it."""
    return importlib.import_module("fairtrial.trial.report")


def _section(answer: Answer, below: int) -> dict[str, Any]:
    return {
        **answer.section.to_dict(),
        "status": answer.status,
        "error": answer.error,
        "result": mask_result(answer.result, below) if answer.result is not None else None,
    }


def check_schema(content: Mapping[str, Any]) -> None:
    """Raise unless the content keeps to the published JSON schema, which names the place of the first fault."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    schema = json.loads(files("fairtrial.trial").joinpath("results.schema.json").read_text(encoding="utf-8"))
    fault = best_match(Draft202012Validator(schema).iter_errors(content))
    if fault is not None:
        place = "/".join(str(part) for part in fault.absolute_path)
        raise InputError(
            "results.json", f"does not keep to its schema at {place or 'the top'}: {fault.message[:300]}"
        )


def load_results(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A results.json read again, checked for its schema."""
    file = Path(path)
    who = file.name or str(path)
    if file.is_dir():
        file = file / "results.json"
    try:
        content: Any = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            who, f"there is no file {str(path)!r}; `fairtrial run` writes results.json"
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(
            who, f"cannot be read as JSON: {error}. Name the results.json that `fairtrial run` wrote"
        ) from None
    found = content.get("schema") if isinstance(content, dict) else None
    if not isinstance(content, dict) or found != SCHEMA:
        raise InputError(
            who, f"is not a result of `fairtrial run`: 'schema' must be {SCHEMA!r}, got {found!r}"
        )
    return content
