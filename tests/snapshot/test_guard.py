"""The guard itself: a new option changes no case, records are read as they were written, names go through the table."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from inspect import unwrap
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest

import fairtrial
from inside.ground import Option
from inside.methods import declaration
from snapshot import kept, record
from snapshot.case import Case
from snapshot.cases_outputs import help_page
from snapshot.compare import ABSENT, compare, differences
from snapshot.renames import TABLE, Renames, read_renames
from snapshot.take import rename


@pytest.fixture
def add_option(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Declares a method anew, from its own source, with one more option in its signature."""

    def add(method: str) -> None:
        spec = find_spec(unwrap(declaration.find_method(method).function).__module__)
        assert spec is not None
        source = Path(str(spec.origin)).read_text(encoding="utf-8")
        signature = re.compile(rf"(\ndef {method}\(\n(?: .*\n)+)(?=\) ->)")
        assert len(signature.findall(source)) == 1
        source = signature.sub(
            r'\1    novelty: Annotated[int, Option("Something new.", least=1)] = 7,\n', source
        )
        monkeypatch.setattr(declaration, "_DECLARED", dict(declaration._DECLARED))
        module = ModuleType("with_one_more_option")
        module.__dict__.update(Annotated=Annotated, Option=Option)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(source, module.__name__, "exec"), module.__dict__)
        monkeypatch.setattr(fairtrial, method, getattr(module, method))
        record._defaults.cache_clear()

    yield add
    record._defaults.cache_clear()


@pytest.mark.parametrize(
    ("method", "part"),
    [
        ("certify", "certify/"), ("improve", "improve/"), ("explain", "explain/"),
        ("explain", "compare/"), ("transport", "transport/"), ("scan", "scan/"),
        ("flag", "run/"), ("plan", "texts/"), ("measure", "faults/measure/"),
    ],
)  # fmt: skip
def test_an_option_with_a_default_changes_no_case(method, part, add_option):
    add_option(method)
    assert "novelty" in {option.name for option in declaration.find_method(method).arguments}
    assert compare(part, fast=True) == []


def test_an_option_that_is_given_is_one_place_more(add_option):
    name = "plan/fpr rate=0.2, tolerance=0.05, disparity=0.1"
    named = {"rate": 0.2, "tolerance": 0.05, "disparity": 0.1}
    add_option("plan")
    for novelty, places in ((7, []), (8, ["provenance/arguments/novelty"])):
        new = record.take(Case(name, lambda given=novelty: fairtrial.plan("fpr", **named, novelty=given)))
        assert [one.path for one in differences(name, kept.read()[name], new)] == places


def test_a_new_option_is_one_place_of_its_help_page(add_option):
    add_option("certify")
    (found,) = compare("command/certify --help")
    assert (found.path, found.old) == ("out/Question/--novelty", ABSENT)
    assert found.new == "NUMBER Something new. (a whole number of at least 1; default: 7)"


def test_a_help_page_has_no_widths():
    head = "Usage: x [OPTIONS]\n\n  Asks.\n\nData:\n"
    wide = f"{head}  --by TEXT  Cross-fitted, or\n             not.\n  -q, --quiet  No word.\n"
    narrow = f"{head}  --by TEXT\n    Cross-\n    fitted, or not.\n  -q, --quiet\n    No word.\n"
    data = {"--by": "TEXT Cross-fitted, or not.", "-q, --quiet": "No word."}
    assert help_page(wide) == help_page(narrow) == {"head": "Usage: x [OPTIONS] Asks.", "Data": data}


RECORD = {
    "kind": "scan", "rows/0/n": 5, "rows/0/rate": 0.5, "rows/1/n": 5, "rows/1/rate/reason": "too few",
    "rows/2/n": 5, "rows/2/list/0": None, "rows/2/list/1": 1e-300, "whole": 3.0, "nan": "(nothing)",
    **{f"many/{index}": index for index in range(12)}, **{f"deep/{part}/x": part * 60 for part in "ab"},
    "deep/2/0/0": "a text\nof “two” lines", "deep/2/0/1": True,
}  # fmt: skip


def test_records_are_read_as_they_were_written(tmp_path):
    kept.write({"scan/b": RECORD, "scan/a": {"value": 1}, "plan/a": {"value": float("inf")}}, tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["plan.jsonl", "scan.jsonl"]
    read = kept.read(tmp_path)
    assert list(read) == ["plan/a", "scan/a", "scan/b"]
    assert {path: repr(value) for path, value in read["scan/b"].items()} == {
        path: repr(value) for path, value in RECORD.items()
    }
    lines = (tmp_path / "scan.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines[:3] == ['"scan/a"', '{"value":1}', '"scan/b"']
    assert '{"rows[0-2]/n":5}' in lines
    assert '{"rows[*]/rate":[0.5,{"reason":"too few"},null]}' in lines
    kept.write({"plan/a": {"value": 1}}, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["plan.jsonl"]
    with pytest.raises(ValueError, match="cannot be called"):
        kept.write({"x": {"rows[*]/n": 1}}, tmp_path)


OLD = {
    "transport/people/fpr strata=side": {
        "kind": "transport", "provenance/arguments/strata": "side", "estimates/0/gap": 0.5, "details/strata/0": "side",
        "details/inner/moved": 3, "primary/0/kind": "points", "primary/0/subject": "by strata=g", "metric": "fpr",
        "verdict/text": "fpr of strata", "estimates/0/state": "harmed",
    },
    "faults/transport/strata": {"faults/0": "'strata' is no column: --strata side, strata=side or strata",
                                "takes/strata": True},
    "certify/people/fpr strata=side": {"provenance/arguments/strata": "side", "notes/rule": "By strata."},
    "scan_all/people/fpr": {"kind": "scan_all", "value": 1},
}  # fmt: skip
NEW = {
    "transport/people/false_alarm within=side": {
        "kind": "transport", "provenance/arguments/within": "side", "estimates/0/difference": 0.5,
        "details/within/0": "side", "details/inner/changed": 3, "primary/0/kind": "points",
        "primary/0/subject": "by within=g", "metric": "false_alarm", "verdict/text": "fpr of strata",
        "estimates/0/state": "worse",
    },
    "faults/transport/within": {"faults/0": "'within' is no column: --within side, within=side or strata",
                                "takes/within": True},
    "certify/people/false_alarm strata=side": {"provenance/arguments/strata": "side", "notes/law": "By the rule."},
    "scan/people/false_alarm protected=each": {"kind": "scan", "value": 1},
}  # fmt: skip
WORDS = """
[cases]
"faults/transport/strata" = "faults/transport/within"
"scan_all/people/fpr" = "scan_all/people/fpr protected=each"
[methods]
scan_all = "scan"
[columns]
gap = "difference"
[metrics]
fpr = "false_alarm"
[paths]
"notes/rule" = "notes/law"
[values]
harmed = "worse"
[certify.texts]
"By strata" = "By the rule"
[transport.options]
strata = "within"
[transport.details]
strata = "within"
moved = "changed"
"""


def renamed(table: str, records: Any = OLD) -> dict[str, Any]:
    renames = Renames(tomllib.loads(table))
    return {new: renames.record(old[0], records[old[0]]) for new, old in renames.cases(records).items()}


def test_the_rename_table():
    assert renamed(WORDS) == NEW
    assert renamed("") == OLD


def test_what_is_swapped_is_swapped_once():
    assert renamed('[values]\na = "b"\nb = "a"', {"x/y": {"0": "a", "1": "b"}}) == {
        "x/y": {"0": "b", "1": "a"}
    }


def test_what_is_dropped_or_added_has_a_reason():
    rules = """
    dropped = [{cases = "transport/*", paths = "details/*", reason = "r"}, {cases = "scan_all/*", reason = "r"}]
    added = [{cases = "scan/*", paths = "details/protected", reason = "r"}, {cases = "new/*", reason = "r"}]
    """
    renames = Renames(tomllib.loads(rules))
    assert set(renames.cases(OLD)) == set(OLD) - {"scan_all/people/fpr"}
    name = "transport/people/fpr strata=side"
    assert set(OLD[name]) - set(renames.record(name, OLD[name])) == {
        "details/strata/0",
        "details/inner/moved",
    }
    places = [
        ("scan/a", "details/protected"),
        ("scan/a", "details/x"),
        ("scan/a", ""),
        ("new/a", ""),
        ("new/a", "x"),
    ]
    assert [renames.adds(*place) for place in places] == [True, False, False, True, False]
    for wrong in ('[[dropped]]\ncases = "x"', '[[added]]\ncases = "x"\npath = "y"\nreason = "z"'):
        with pytest.raises(ValueError, match="needs `cases` and a `reason`"):
            Renames(tomllib.loads(wrong))


def test_a_table_with_mistakes_is_refused():
    with pytest.raises(ValueError, match=r"\[certify\] has no 'column'"):
        Renames(tomllib.loads('[certify.column]\na = "b"'))
    with pytest.raises(ValueError, match=r"\[option\] has no 'a'"):
        Renames(tomllib.loads('[option]\na = "b"'))
    with pytest.raises(ValueError, match="the name of another place, 'b'"):
        renamed('[paths]\na = "b"', {"x/y": {"a": 1, "b": 2}})


def test_renaming_the_kept_records_empties_the_table(tmp_path):
    table, folder = tmp_path / "renames.toml", tmp_path / "kept"
    head = (
        "\n".join(line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("#"))
        + "\n"
    )
    table.write_text(f"{head}{WORDS}", encoding="utf-8")
    kept.write(OLD, folder)
    rename(folder, table)
    assert kept.read(folder) == NEW
    assert not read_renames(table)
    assert table.read_text(encoding="utf-8").startswith("# What is called otherwise")
