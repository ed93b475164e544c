"""What every method returns: one frozen record that all views (text, frame, chart, HTML, JSON) render."""

from __future__ import annotations

import json
import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar, Self

from fairtrial._errors import Fault, Faults, InputError, Note
from fairtrial._results.column import Column, Primary, StateKind, Tone, Verdict, scalar
from fairtrial._results.text import summary_html, summary_text

if TYPE_CHECKING:
    from altair import TopLevelMixin

    from fairtrial._results.charts import Picture
    from fairtrial._results.claims import Claim
    from fairtrial._results.column import CloseUp

SCHEMA = "fairtrial/result/2"
PARTS = ("question", "null", "verdict", "estimates", "details", "notes", "provenance")


@dataclass(frozen=True, slots=True)
class FurtherTable:
    """A table beside the estimates, such as the log of a search; the report shows it below them."""

    name: str
    title: str
    columns: tuple[Column, ...]
    estimates: tuple[dict[str, Any], ...]
    states: tuple[StateKind, ...] = ()
    confidence_level: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result:
    """The answer to one question. Holds no data frame and no Audit.

    Parameters
    ----------
    question : str
        What was asked, in words.
    null : str
        The null hypothesis, in words.
    verdict : Verdict
        A code and a sentence.
    estimates : tuple of dict
        The rows of the table; `columns` says what each key is.
    details : dict
        What charts and sentences need besides the table.
    notes : tuple of str
        What a reader must know; each has a `code` that names it for machines.
    provenance : dict
        Versions, the data's fingerprint, and the arguments.
    objects : dict
        What lives in this session only and is not saved: fitted rules, influence values.
    """

    kind: ClassVar[str] = ""
    columns: ClassVar[tuple[Column, ...]] = ()
    states: ClassVar[tuple[StateKind, ...]] = ()
    # tones of verdicts whose code is no state of a row
    verdict_tones: ClassVar[Mapping[str, Tone]] = {}
    # keys under which the details count people; masking looks for them there
    people_in_details: ClassVar[frozenset[str]] = frozenset({"n"})
    # keys of sentences in the details that tell the same numbers as the verdict; they are masked with it
    told_in_details: ClassVar[frozenset[str]] = frozenset()
    # verdicts at which a command can be told to fail; none where it cannot
    gates: ClassVar[tuple[str, ...]] = ()
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

    def __post_init__(self) -> None:
        place = {column.name: index for index, column in enumerate(self.columns)}
        ordered = (
            dict(sorted(row.items(), key=lambda cell: place.get(cell[0], len(place))))
            for row in self.estimates
        )
        object.__setattr__(self, "estimates", tuple(ordered))  # a row's cells stand as its columns do
        if "versions" not in self.provenance:
            object.__setattr__(self, "provenance", {"versions": dict(versions()), **self.provenance})

    @property
    def confidence_level(self) -> float | None:
        """The level of the intervals shown; None where there are none."""
        level: float | None = self.details.get("confidence_level")
        return level

    @property
    def tone(self) -> Tone:
        """Whether the verdict is good, bad or open."""
        states = {kind.code: kind.tone for kind in self.states}
        return {**states, **self.verdict_tones}.get(self.verdict.code, "open")

    def state_of(self, row: Mapping[str, Any], column: str = "state") -> StateKind:
        """What the row's state means."""
        return next((kind for kind in self.states if kind.code == row.get(column)), StateKind("–"))

    def reading(self) -> list[str]:
        """Plain-language sentences that say what the result shows and what it does not."""
        return [self.verdict.text]

    def primary(self) -> list[Primary]:
        """The p-values that enter the correction over a whole trial (certifications do not)."""
        return []

    def claims(self) -> list[Claim]:
        """What the result claims, one entry per group that was judged."""
        from fairtrial._results.claims import group_claims

        return group_claims(self)

    def to_publish(self) -> Self:
        """Without what is about single people and would tell of few; most results hold nothing of the kind."""
        return self

    def further_tables(self) -> list[FurtherTable]:
        """Tables besides the estimates; most methods have none."""
        return []

    def close_ups(self) -> list[CloseUp]:
        """Rows that a reader may open to see from near; most methods' tables say all."""
        return []

    def verdict_of_shown(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """The verdict's sentence from a table some numbers of which are masked; empty where nothing can be said."""
        return ""

    def pictures(self) -> list[Picture]:
        """All charts of the result, the main one first; each method's result draws its own, or none."""
        return []

    def plot(self, path: str | None = None) -> TopLevelMixin:
        """The main chart; a notebook, and the file `path` (.html, .svg or .png), show it without a network."""
        from fairtrial._results.charts.drawing import offline

        pictures = self.pictures()
        if not pictures:
            raise InputError(
                "plot",
                Fault("", f"a result of {self.kind} has no chart", hint="Print it, or take to_frame()."),
            )
        if path is not None:
            from fairtrial._results.charts.page import save_chart

            save_chart(pictures, path, title=self.question)
        return offline(pictures[0].chart)

    def summary(self, width: int | None = None) -> str:
        """The question, the table, the verdict and the notes as text; with a width, cut to that many letters."""
        return summary_text(self, width)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON scalars only; raises if a NaN or an infinity slipped in."""
        content = {
            "schema": SCHEMA,
            "kind": self.kind,
            "question": self.question,
            "null": self.null,
            "verdict": self.verdict.to_dict(),
            "claims": [claim.to_dict() for claim in self.claims()],
            "estimates": [dict(row) for row in self.estimates],
            "details": self.details,
            "notes": [note.to_dict() for note in self.notes],
            "provenance": self.provenance,
        }
        plain: dict[str, Any] = json.loads(json.dumps(content, default=_plain, allow_nan=False))
        return plain

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The result again, from `to_dict()` or from the JSON it was saved as."""
        if not cls.kind:
            raise InputError(
                "Result.from_dict",
                Fault("", "a result of any kind cannot be read from here", cure="use fairtrial.read_result"),
            )
        check_content("Result.from_dict", content, (cls.kind,))
        return cls(
            question=content["question"],
            null=content["null"],
            verdict=Verdict(**{**content["verdict"], "about": tuple(content["verdict"].get("about", ()))}),
            estimates=tuple(dict(row) for row in content["estimates"]),
            details=dict(content["details"]),
            notes=tuple(Note(**note) for note in content["notes"]),
            provenance=dict(content["provenance"]),
        )

    def to_frame(self, backend: str | None = None, *, all: bool = False) -> Any:
        """The estimates as a dataframe: the columns that apply, or every one with `all=True`.

        Parameters
        ----------
        backend : str or None
            'pandas', 'polars' or 'pyarrow'; by default the kind the data came in.
        all : bool
            Also the columns that printed tables leave out and those that are empty in every row: results of one
            method then have the same columns, whatever was asked.

        Returns
        -------
        DataFrame
            One row per estimate.
        """
        from fairtrial._audit.frames import to_native

        columns = self.columns if all else self.columns_that_apply()
        table = {column.name: [scalar(row.get(column.name)) for row in self.estimates] for column in columns}
        kinds = {column.name: column.kind for column in columns}
        return to_native(table, backend or self.provenance.get("frame", "pyarrow"), kinds)

    def columns_that_apply(self) -> list[Column]:
        """The columns of the printed table and the p-values, where some row has something in them."""
        filled = {name for row in self.estimates for name, value in row.items() if value is not None}
        return [
            column
            for column in self.columns
            if (column.shown or column.shown_with in filled or column.kind in ("p", "state"))
            and column.name in filled
        ]

    def __eq__(self, other: object) -> bool:
        """Whether both say the same, of the same data, with the same arguments and versions."""
        if not isinstance(other, Result):
            return NotImplemented
        return type(self) is type(other) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.kind, self.question, self.verdict.code, self.verdict.text))

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return summary_html(self)


def check_content(who: str, content: Any, kinds: Collection[str]) -> None:
    """Raise unless the content is that of a saved result of one of these kinds."""
    if not isinstance(content, Mapping):
        raise InputError(who, Fault("", f"the content must be a dict, got {type(content).__name__}"))
    if content.get("schema") != SCHEMA:
        raise InputError(who, Fault("schema", f"must be {SCHEMA!r}", got=content.get("schema")))
    if content.get("kind") not in kinds:
        raise InputError(who, Fault("kind", f"must be one of {sorted(kinds)}", got=content.get("kind")))
    faults = Faults(who)
    for name in PARTS:
        if name not in content:
            faults.add(Fault("", f"the content lacks {name!r}", cure="give what to_dict() made, whole"))
    faults.raise_any()


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays as Python ones, for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Sequence | set | frozenset):
        return list(value)
    raise TypeError(f"a result may hold JSON values only, got {type(value).__name__}")


@cache
def versions() -> Mapping[str, str]:
    """What numbers depend on besides the data."""
    numbers = ("numpy", "scipy", "scikit-learn", "numba", "narwhals", "duckdb")
    named = {name: version(name) for name in ("fairtrial", *numbers)}
    return {"fairtrial": named.pop("fairtrial"), "python": platform.python_version(), **named}
