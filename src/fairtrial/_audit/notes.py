"""What every reader must know about the data of an audit."""

from __future__ import annotations

import warnings

from fairtrial._audit.columns import Columns
from fairtrial._audit.definitions import definition_words
from fairtrial._audit.role_expressions import constant_note
from fairtrial._errors import FairtrialWarning, Note


def data_notes(columns: Columns, *, complete: bool) -> tuple[Note, ...]:
    """Assumptions, and what was left out; `complete` where only rows without any missing value were used."""
    notes: list[Note] = []
    if columns.pair is not None:
        text = "People are taken as independent of each other; each person's answers are compared with one another."
        notes.append(Note("independent-pairs", text))
    elif columns.unit is None:
        text = "Rows are taken as independent people; a unit names repeated ones."
        notes.append(Note("independent-rows", text))
    else:
        text = "Units are taken as independent of each other; the rows of one unit need not be."
        notes.append(Note("independent-units", text))
    if columns.has("decision") or columns.has("score"):
        notes.append(Note("not-fitted-here", "The model is taken as not fitted on these rows."))
    constant = constant_note(columns)
    if constant is not None:
        notes.append(constant)
        warnings.warn(constant.text, FairtrialWarning, stacklevel=4)
    if columns.roles.drawn_by is not None:
        all_rows, read = columns.count_rows(), columns.count_read()
        text = f"Of {all_rows:,} rows a random sample of {read:,} was fitted to and tested on"
        notes.append(Note("sampled-rows", text + "; intervals and p-values are of these."))
    if columns.define:
        said = "; ".join(f"{name}: {definition_words(part)}" for name, part in columns.define.items())
        notes.append(Note("defined-groups", f"Groups defined for this audit: {said}."))
    for name, labels in columns.source.alike.items():
        if labels:
            shown = ", ".join(repr(label) for label in labels[:6])
            text = f"{name!r} has the labels {shown}, which differ only by case or blanks: if they mean the same, "
            note = Note("alike-labels", text + "write them alike in the data.")
            notes.append(note)
            warnings.warn(note.text, FairtrialWarning, stacklevel=4)
    dropped, total = columns.count_dropped() if complete else (0, 0)
    if dropped:
        text = f"{dropped:,} of {total:,} rows had missing values and were dropped."
        notes.append(Note("dropped-missing", text, dropped))
    return tuple(notes)
