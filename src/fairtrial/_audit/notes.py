"""What every reader must know about the data of an audit: assumptions, what was left out, and where they come from."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from typing import Any

from fairtrial._audit.cells import Cells, Rows, digest_of
from fairtrial._audit.columns import Columns
from fairtrial._audit.definitions import definition_words, recorded_definition
from fairtrial._audit.role_expressions import constant_note
from fairtrial._audit.roles import ROLE_NAMES
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
    notes += [Note("as-read", text) for text in columns.source.said([*columns.roles.declared, *columns.bins])]
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
    if columns.define:
        about["define"] = {name: recorded_definition(part) for name, part in columns.define.items()}
    return {**about, "favourable": columns.favourable, **facts}


def _digest_of(columns: Columns, data: Cells | Rows) -> str:
    """Counts of labels and binary values are all that there is to know of them; real values are looked at."""
    counts = data.digest if isinstance(data, Rows) else digest_of(data)
    if isinstance(data, Rows) or all(data.binary.values()) or data.hashes is not None:
        return counts
    values = columns.fingerprint(data.columns, declared=False).content
    return hashlib.sha256(f"{counts} {values}".encode()).hexdigest()[:16]
