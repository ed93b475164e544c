"""A place that cannot be written to is one message with exit code 2, before any work starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairtrial import InputError
from inside.results import check_output_file, make_output_folder

# No data file is there: whoever complains of the output has not looked at the data yet.
DATA = ["none.csv", "--by", "race"]
ASKING = {
    "measure": DATA,
    "certify": [*DATA, "--metric", "fpr"],
    "flag": [*DATA, "--metric", "fpr"],
    "scan": [*DATA, "--metric", "fpr", "--protected", "race=A"],
    "transport": [*DATA, "--metric", "fpr"],
    "explain": [*DATA, "--metric", "fpr", "--feature", "age"],
    "improve": DATA,
    "plan": ["--metric", "fpr", "--rate", "0.2", "--disparity", "0.1"],
}


@pytest.mark.parametrize("command", ASKING)
@pytest.mark.parametrize(("option", "name"), [("--json", "x.json"), ("--csv", "x.csv"), ("--chart", "x.svg")])
def test_every_question_looks_before_it_works(run, tmp_path, monkeypatch, command, option, name):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(command, *ASKING[command], option, f"no/such/{name}")
    assert (code, out) == (2, "")
    cure = "Mend that, or choose another place\n"
    assert err == f"output: cannot write 'no/such/{name}': the folder 'no/such' does not exist. {cure}"
    (tmp_path / name).mkdir()
    code, out, err = run(command, *ASKING[command], option, name)
    assert (code, out, err) == (
        2,
        "",
        f"output: cannot write {name!r}: it is a folder. Mend that, or choose another place\n",
    )


def test_a_table_does_not_go_to_the_terminal(run):
    code, out, err = run("measure", *DATA, "--csv", "-")
    assert (code, out) == (2, "")
    assert "only --json writes to the terminal" in err


def test_what_may_not_be_written(tmp_path, monkeypatch):
    old = tmp_path / "old.json"
    old.write_text("kept", encoding="utf-8")
    assert check_output_file("output", old) == old
    assert check_output_file("output", tmp_path / "new.json") == tmp_path / "new.json"
    assert [path.name for path in tmp_path.iterdir()] == ["old.json"]
    with pytest.raises(InputError, match="is not a folder"):
        check_output_file("output", old / "x.json")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write to what is read-only
    with pytest.raises(InputError, match=r"old\.json': it may not be written over"):
        check_output_file("output", old)
    with pytest.raises(InputError, match=r"new\.json': the folder .* may not be written to"):
        check_output_file("output", tmp_path / "new.json")
    with pytest.raises(InputError, match="run: 'out' must be a folder one can write to, .*: it may not"):
        make_output_folder("run", "out", tmp_path)
    assert old.read_text(encoding="utf-8") == "kept"


SPEC = """[data]
dataset = "compas"
outcome = "two_year_recid"
score = "decile_score"
threshold = 5
groups = ["sex"]
[measure]
metric = ["fpr"]
"""


@pytest.mark.parametrize("inside", ["tables", "results.json"])
def test_a_run_that_cannot_be_saved_does_not_start(run, tmp_path, monkeypatch, inside):
    monkeypatch.chdir(tmp_path)
    Path("audit.toml").write_text(SPEC, encoding="utf-8")
    Path("out").mkdir()
    if inside == "tables":
        Path("out/tables").write_text("a file", encoding="utf-8")
    else:
        Path("out/results.json").mkdir()
    code, out, err = run("run", "--out", "out")
    assert (code, out) == (2, "")
    assert err.startswith("run: ")
    assert len(err.splitlines()) == 1
    assert not Path("out/.unfinished").exists()
    code, _, err = run("run", "--out", "audit.toml")
    assert code == 2
    assert "--out must be a folder one can write to, got 'audit.toml'" in err


def test_folders_and_pages_of_the_other_commands(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("", encoding="utf-8")
    code, out, err = run("demo", "--out", "file")
    assert (code, out) == (2, "")
    assert err.startswith("demo: --out must be a folder one can write to, got 'file'")
    code, _, err = run("init", "none.csv", "--yes", "--out", "no/audit.toml")
    assert (code, err) == (
        2,
        "init: cannot write 'no/audit.toml': the folder 'no' does not exist. Mend that, or choose another place\n",
    )
