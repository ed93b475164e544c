"""From a table's lines to the answer of tabulate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairtrial.data.groups import check_target
from fairtrial.errors import Fault, InputError, Note
from fairtrial.methods.declaration import find_method
from fairtrial.methods.tabulate.asked import WHO, Asked
from fairtrial.methods.tabulate.result import TabulateResult
from fairtrial.methods.tabulate.tables import TABLES
from fairtrial.metrics.groups import find_target
from fairtrial.results.column import Verdict


def refuse_others(table: str, given: Mapping[str, Any]) -> None:
    """Options that another table takes and this one would ignore."""
    usual = {argument.name: argument.default for argument in find_method(WHO).arguments}
    faults = [
        Fault(name, f"is not for the table {table!r}", cure=f"Leave it out; it is for {_who_takes(name)}")
        for name, value in given.items()
        if name not in TABLES[table].takes and value != usual[name]
    ]
    if faults:
        raise InputError(WHO, faults)


def _who_takes(option: str) -> str:
    return ", ".join(repr(name) for name, table in TABLES.items() if option in table.takes)


def answer(table: str, asked: Asked) -> TabulateResult:
    """The table, with its field's texts."""
    declared = TABLES[table]
    check_target(WHO, asked.audit, find_target(WHO, asked.target))
    built = declared.build(asked)
    names = dict.fromkeys(name for row in built.rows for name in row)  # every line has every number, or none
    texts = [*[("law", text) for text in declared.law], *built.notes]
    return TabulateResult(
        question=declared.question,
        null="No hypothesis: the table describes; where a p-value stands, it is that the decision does not depend on "
        "the group.",
        verdict=Verdict(built.verdict, built.sentence),
        estimates=tuple({**dict.fromkeys(names), **row} for row in built.rows),
        details={
            "table": table,
            "stated": built.stated,
            "places": built.places,
            "confidence_level": asked.level,
        },
        notes=(*asked.audit.notes(complete=False), *(Note(code, text) for code, text in texts)),
        provenance=asked.audit.provenance(),
    )
