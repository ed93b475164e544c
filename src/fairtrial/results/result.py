"""What every method returns: one frozen record that all views (text, frame, chart, HTML, JSON) render."""

from __future__ import annotations

import html
import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from fairtrial.errors import InputError

if TYPE_CHECKING:
    from altair import TopLevelMixin

SCHEMA = "fairtrial/result/1"
Kind = Literal["text", "count", "rate", "points", "ratio", "number", "p", "flag", "verdict"]


@dataclass(frozen=True, slots=True)
class Column:
    """One fixed column of a result's estimates: its key, its heading, and how views format it."""

    name: str
    title: str
    kind: Kind
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Note:
    """Something the reader must know: an assumption, a weakening, a count of what was left out."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A code for machines and a sentence a person can quote."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Primary:
    """One primary p-value of a result, as it enters the trial-wide correction.

    What the p-value is about goes with it where it exists: the effect with its interval (`kind` says how
    views format it), what it is compared with, and how many people it rests on.
    """

    metric: str
    subject: str
    p_value: float
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    kind: Kind = "points"
    against: str = ""
    n: int | None = None


def undefined(reason: str) -> dict[str, Any]:
    """A value that does not exist, with the reason; never a bare NaN."""
    return {"value": None, "reason": reason}


def scalar(cell: Any) -> Any:
    """The plain value of an estimates cell; None where it is undefined."""
    return cell["value"] if isinstance(cell, Mapping) and "reason" in cell else cell


def reason(cell: Any) -> str | None:
    """Why an estimates cell is undefined; None where it is defined."""
    return str(cell["reason"]) if isinstance(cell, Mapping) and "reason" in cell else None


def defined_or(value: float, why: str) -> Any:
    """`value` as a float, or undefined with the reason when it is not finite."""
    return float(value) if math.isfinite(value) else undefined(why)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result:
    """The answer to one question. Holds no data frame and no Audit."""

    kind: ClassVar[str] = ""
    columns: ClassVar[tuple[Column, ...]] = ()
    method: ClassVar[str] = ""
    assumptions: ClassVar[tuple[str, ...]] = ()
    citation: ClassVar[str] = ""

    question: str
    null: str
    verdict: Verdict
    estimates: tuple[dict[str, Any], ...] = field(repr=False)
    details: dict[str, Any] = field(default_factory=dict, repr=False)
    notes: tuple[Note, ...] = field(default=(), repr=False)
    provenance: dict[str, Any] = field(default_factory=dict, repr=False)
    objects: dict[str, Any] = field(default_factory=dict, repr=False)

    def reading(self) -> list[str]:
        """Plain-language sentences that say what the result shows and what it does not."""
        return [self.verdict.text]

    def primary(self) -> list[Primary]:
        """The p-values that enter the correction over a whole trial (certifications do not)."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON scalars only; raises if a NaN or an infinity slipped in."""
        content = {
            "schema": SCHEMA,
            "kind": self.kind,
            "question": self.question,
            "null": self.null,
            "verdict": {"code": self.verdict.code, "text": self.verdict.text},
            "estimates": [dict(row) for row in self.estimates],
            "details": self.details,
            "notes": [{"code": note.code, "text": note.text} for note in self.notes],
            "provenance": self.provenance,
        }
        plain: dict[str, Any] = json.loads(json.dumps(content, default=_plain, allow_nan=False))
        return plain

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The result again, from `to_dict()` or from the JSON it was saved as."""
        if not isinstance(content, Mapping):
            raise InputError("Result.from_dict", f"the content must be a dict, got {type(content).__name__}")
        if content.get("schema") != SCHEMA:
            raise InputError(
                "Result.from_dict", f"'schema' must be {SCHEMA!r}, got {content.get('schema')!r}"
            )
        result_class = _result_class(str(content.get("kind")))
        for name in ("question", "null", "verdict", "estimates", "details", "notes", "provenance"):
            if name not in content:
                raise InputError("Result.from_dict", f"the content lacks {name!r}")
        return result_class(  # type: ignore[return-value]
            question=content["question"],
            null=content["null"],
            verdict=Verdict(**content["verdict"]),
            estimates=tuple(dict(row) for row in content["estimates"]),
            details=dict(content["details"]),
            notes=tuple(Note(**note) for note in content["notes"]),
            provenance=dict(content["provenance"]),
        )

    def summary(self) -> str:
        """The question, the table, the verdict and the notes as text."""
        from fairtrial.results.text import summary_text

        return summary_text(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """The estimates as a dataframe of the kind the data came in ('pandas', 'polars', 'pyarrow')."""
        from fairtrial.data.source import to_native

        names = [column.name for column in self.columns]
        table = {name: [scalar(row.get(name)) for row in self.estimates] for name in names}
        return to_native(table, backend or self.provenance.get("frame", "pyarrow"), self.columns)

    def plot(self) -> TopLevelMixin:
        """The main chart."""
        from fairtrial.results.charts.files import main_chart

        return main_chart(self)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from fairtrial.results.text import summary_html

        return summary_html(self)


def _result_class(kind: str) -> type[Result]:
    """The class that a method registered for this kind of result, imported on demand."""
    import importlib

    from fairtrial import RESULTS

    if kind not in RESULTS:
        raise InputError("Result.from_dict", f"'kind' must be one of {sorted(RESULTS)}, got {kind!r}")
    module, name = RESULTS[kind].split(":")
    result_class: type[Result] = getattr(importlib.import_module(module), name)
    return result_class


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays as Python ones, for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Sequence | set | frozenset):
        return list(value)
    raise TypeError(f"a result may hold JSON values only, got {type(value).__name__}")


def provenance(**facts: Any) -> dict[str, Any]:
    """Versions, plus what the method adds (data digest, seed, arguments)."""
    import numpy
    import scipy

    from fairtrial import __version__

    versions = {
        "fairtrial": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
    }
    return {"versions": versions, **facts}


def escape(text: object) -> str:
    """Text from data, safe inside HTML."""
    return html.escape(str(text), quote=True)
