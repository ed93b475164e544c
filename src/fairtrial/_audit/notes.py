"""What every reader must know about the data of an audit: assumptions, what was left out, and where they come from."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from typing import Any

from fairtrial._audit.cells import Cells, Rows, digest_of
from fairtrial._audit.columns import Columns
from fairtrial._audit.definitions import definition_words, recorded_definition
from fairtrial._audit.direction import direction_note
from fairtrial._audit.role_expressions import constant_note
from fairtrial._audit.roles import ROLE_NAMES
from fairtrial._audit.totals import whole_numbers
from fairtrial._errors import FairtrialWarning, Note


def data_notes(columns: Columns, *, complete: bool) -> tuple[Note, ...]:
    """Assumptions, and what was left out; `complete` where only rows without any missing value were used."""
    notes: list[Note] = []
    counted = columns.count or columns.total
    if columns.pair is not None:
        text = "People are taken as independent of each other; each person's answers are compared with one another."
        notes.append(Note("independent-pairs", text))
    elif columns.unit is None and counted is None:
        text = "Rows are taken as independent people; a unit names repeated ones."
        notes.append(Note("independent-rows", text))
    elif columns.unit is not None:
        text = "Units are taken as independent of each other; the rows of one unit need not be."
        notes.append(Note("independent-units", text))
    if counted is not None:
        notes.append(_counted_note(columns, counted))
    elif columns.weight is not None:
        notes += _question_of_weights(columns)
    if columns.has("decision") or columns.has("score"):
        notes.append(Note("not-fitted-here", "The model is taken as not fitted on these rows."))
    constant = constant_note(columns)
    if constant is not None:
        notes.append(constant)
        warnings.warn(constant.text, FairtrialWarning, stacklevel=4)
    direction = direction_note(columns)
    notes += [direction] if direction is not None else []
    if columns.roles.drawn_by is not None:
        all_rows, read = columns.count_rows(), columns.count_read()
        text = f"Of {all_rows:,} rows a random sample of {read:,} was fitted to and tested on"
        notes.append(Note("sampled-rows", text + "; intervals and p-values are of these."))
    if columns.define:
        said = "; ".join(f"{name}: {definition_words(part)}" for name, part in columns.define.items())
        notes.append(Note("defined-groups", f"Groups defined for this audit: {said}."))
    notes += [Note("as-read", text) for text in columns.source.said([*columns.roles.declared, *columns.bins])]
    for name, merged in columns.roles.merge.items():
        notes.append(
            Note("merged-labels", f"Labels of {name!r} that mean the same: {_merged_words(merged)}.")
        )
    for name, labels in columns.source.alike.items():
        if labels:
            shown = ", ".join(repr(label) for label in labels[:6])
            text = f"{name!r} has the labels {shown}, which differ only by case or blanks: if they mean the same, "
            note = Note("alike-labels", text + "say so with `merge`.")
            notes.append(note)
            warnings.warn(note.text, FairtrialWarning, stacklevel=4)
    dropped, total = columns.count_dropped() if complete else (0, 0)
    if dropped:
        text = f"{dropped:,} of {total:,} rows had missing values and were dropped."
        notes.append(Note("dropped-missing", text, dropped))
    return tuple(notes)


def _counted_note(columns: Columns, counted: str) -> Note:
    """How many people the rows stand for."""
    people, lines = columns.count_rows(), columns.source.count_lines()
    text = f"{counted!r} says how many people each row stands for: {people:,} people in {lines:,} rows"
    read = columns.source.found.get(("totals",))
    text += "" if read is None else f"; {read}"
    alone = "" if columns.unit is not None else " We treat each of them as a different person."
    return Note("counted-people", f"{text}.{alone}")


def _question_of_weights(columns: Columns) -> list[Note]:
    """Whole weights of few rows are most often the people of a table of counts; nobody keeps that on a cluster."""
    if columns.source.on_cluster:
        return []
    rows, name = columns.count_rows(), str(columns.weight)
    found = columns.source.once(("whole weights", name), lambda: whole_numbers(columns.source, name, rows))
    if found is None:
        return []
    low, high, people = found
    text = (
        f"Weight {name!r} holds whole numbers from {low:,.0f} to {high:,.0f}. If each row stands for that many people, "
        f"make it the count instead: then {people:,.0f} people are compared, not {rows:,} rows."
    )
    return [Note("weight-or-count", text)]


def _merged_words(merged: Mapping[str, str]) -> str:
    """'m' and 'Male' count as 'M'."""
    said = []
    for label in dict.fromkeys(merged.values()):
        same = [repr(other) for other, stands in merged.items() if stands == label and other != label]
        if same:
            listed = f"{', '.join(same[:-1])} and {same[-1]} count" if len(same) > 1 else f"{same[0]} counts"
            said.append(f"{listed} as {label!r}")
    return "; ".join(said) or "none"


def digest(columns: Columns) -> str:
    """A fingerprint of every value of the columns that the audit names."""
    return columns.fingerprint([name for name in columns.bins if name in columns.source.columns]).content


def provenance(columns: Columns, data: Cells | Rows | None, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The fingerprint of what the numbers were made from, the roles and rules, and the facts a method adds."""
    roles = {name: getattr(columns, name) for name in (*ROLE_NAMES, "threshold")}
    about: dict[str, Any] = {
        "data": digest(columns) if data is None else _digest_of(columns, data),
        "roles": {name: value for name, value in roles.items() if value is not None},
        "missing": columns.missing,
        "frame": columns.frame,
    }
    if columns.probable:
        about["probable"] = columns.probable
    if columns.unlabelled is not None:
        about["unlabelled"] = columns.unlabelled.to_dict()
    if columns.order is not None:
        about["order"] = list(columns.order)
    if columns.roles.merge:
        about["merge"] = {name: dict(merged) for name, merged in columns.roles.merge.items()}
    if columns.define:
        about["define"] = {name: recorded_definition(part) for name, part in columns.define.items()}
    if columns.roles.score_favours is not None:
        about["score_favours"] = columns.roles.score_favours
    return {**about, "favourable": columns.favourable, **facts}


def _digest_of(columns: Columns, data: Cells | Rows) -> str:
    """Counts of labels and binary values are all that there is to know of them; real values are looked at."""
    counts = data.digest if isinstance(data, Rows) else digest_of(data)
    if isinstance(data, Rows) or all(data.binary.values()) or data.hashes is not None:
        return counts
    values = columns.fingerprint(data.columns, declared=False).content
    return hashlib.sha256(f"{counts} {values}".encode()).hexdigest()[:16]
