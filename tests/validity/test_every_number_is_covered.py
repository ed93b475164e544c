"""Every p-value and limit that a result prints, in its table or in its details, has a line of the board that names it.

What this does not see: numbers that a sentence or a note words without a column or a key of their own (they are read
off one that has it), counts people would need (`plan` is on the board as a whole), and charts, which read the tables.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fairtrial
from inside.methods import declared_methods
from inside.scan import ScanEachResult
from inside.trial import difference
from validity import whole_functions
from validity.board import cells

# A key of the details that holds a p-value or a limit of an interval.
INFERRED = re.compile(r"(^|_)p(_value|_adjusted|_split|_delta_method)?(_|$)|(^|_)(low|high)$")
# Ends of the bars of a histogram.
BARS = {
    "scan.null_histogram.low",
    "scan.null_histogram.high",
    "transport.histogram.low",
    "transport.histogram.high",
}


def named() -> set[str]:
    return {number for cell in cells() for number in cell.covers}


def kinds() -> dict[str, Any]:
    """Every kind of result, by its name."""
    return {one.kind: one for found in declared_methods().values() for one in (found.result, *found.also)}


def declared() -> set[str]:
    """'method.column' of every p-value and limit."""
    return {
        f"{name}.{column.name}"
        for name, found in [*kinds().items(), ("scan", ScanEachResult)]
        for column in found.columns
        if column.kind == "p" or column.is_low or column.is_high
    }


def test_every_printed_number_has_a_line():
    assert declared() - named() == set(), "give a new number its line (covers=)"


def _numbers(value: Any, path: str) -> Iterator[str]:
    """'method.key.key' of every p-value and limit in the details."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers(inner, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _numbers(inner, path)
    elif isinstance(value, float) and INFERRED.search(path.rsplit(".", 1)[-1]):
        yield path


@cache
def results() -> dict[str, list[Any]]:
    """Every method asked once or twice, so that all it can put into its details is there."""
    random = np.random.default_rng(0)
    people = whole_functions.audit(random, 800, ["sex", "race", "age"])
    table = whole_functions.people(random, 500)
    second = pa.array((np.asarray(table["score"]) >= 0.45).astype(np.int64))
    rules = fairtrial.Audit(
        table.append_column("other", second), outcome="outcome", score="score", threshold=0.5, groups=["sex"]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explained = whole_functions.explanations(table, 0.4, 0.6)
        groups: list[Any] = [{"race": "a"}, {"race": "b"}]
        return {
            "measure": [fairtrial.measure(people, ["fpr", "selection_rate"])],
            "certify": [
                fairtrial.certify(people, "fpr", tolerance=0.1),
                fairtrial.papers.elfa.certify(
                    people, "fpr", by=groups, target={"race": "c"}, vector=[0.0, 0.0]
                ),
            ],
            "flag": [
                fairtrial.flag(people, "fpr", direction="differs"),
                fairtrial.flag(people, "fpr", depth=3, tolerance=0.05, minimum=100),
            ],
            "scan": [
                fairtrial.scan(people, "fpr", protected={"sex": "f"}, permutations=99, jobs=1),
                fairtrial.scan(people, "fpr", protected="sex", permutations=199, jobs=1),
            ],
            "transport": [fairtrial.transport(people, "equalized_odds", by="sex")],
            "explain": explained,
            "compare": [explained[0].compare(explained[1])],
            "improve": [
                fairtrial.improve(
                    rules, "selection_rate", candidates={"fixed": "other"},
                    bootstrap=199, jobs=1,
                )
            ],
            "plan": [fairtrial.plan("fpr", rate=0.2, tolerance=0.05)],
            "tabulate": [fairtrial.tabulate(people, "adverse-impact")],
        }  # fmt: skip


def test_every_method_is_asked():
    assert set(results()) | {"watch"} == set(kinds()), "watch keeps no p-value or limit in its details"


@pytest.mark.parametrize("method", sorted(set(kinds()) - {"watch"}))
def test_every_number_in_the_details_has_a_line(method):
    found = {number for result in results()[method] for number in _numbers(result.details, method)}
    assert found - BARS - named() == set(), "give a new number its line (covers=)"


@pytest.mark.parametrize("method", sorted(set(kinds()) - {"watch"}))
def test_every_further_table_has_lines(method):
    found = {
        f"{method}.{table.name}.{column.name}"
        for result in results()[method]
        for table in result.further_tables()
        for column in table.columns
        if column.kind == "p" or column.is_low or column.is_high
    }
    assert found - named() == set()


@cache
def changed() -> set[str]:
    """'diff.key' of every p-value and limit that two audits side by side give a gap."""
    random = np.random.default_rng(0)
    spec = {
        "data": {"score": "score", "threshold": 0.5, "groups": ["sex"]},
        "measure": {"metric": "selection_rate"},
    }
    first, second = (
        fairtrial.run(spec, data=whole_functions.people(random, 300)).to_dict() for _ in range(2)
    )
    return {
        number
        for test in difference(first, second)["tests"]
        for number in _numbers(test["gap_change"], "diff")
    }


def test_every_number_of_a_change_has_a_line():
    assert changed()
    assert changed() - named() == set(), "give a new number its line (covers=)"


def test_what_lines_name_exists():
    """A line cannot name what is printed nowhere."""
    found = [*kinds().items(), ("scan", ScanEachResult)]
    columns = {f"{name}.{column.name}" for name, kind in found for column in kind.columns}
    keys = {
        number
        for method, given in results().items()
        for result in given
        for number in _numbers(result.details, method)
    }
    further = {
        f"{method}.{table.name}.{column.name}"
        for method, given in results().items()
        for result in given
        for table in result.further_tables()
        for column in table.columns
    }
    assert named() - columns - keys - further - changed() == set()
