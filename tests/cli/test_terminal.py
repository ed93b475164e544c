"""What a terminal shows: tables that fit, verdicts that need no colour, time left, quiet, completion."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

import fairtrial
from fairtrial import _work as work
from inside.cli import live, printing
from inside.results import fit_table, shown_columns, table


@pytest.fixture(scope="module")
def rates():
    people = fairtrial.load("compas")
    audit = fairtrial.Audit(
        people, outcome="two_year_recid", score="decile_score", threshold=5, groups="race"
    )
    return fairtrial.measure(audit, ["fpr", "tpr"], target={"race": "Caucasian"})


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("width", [60, 80, 100, 132])
def test_nothing_is_wider_than_the_terminal(rates, width):
    text = rates.summary(width)
    assert max(len(line) for line in text.split("\n")) <= width


def test_at_80_columns_group_gap_and_finding_are_there_and_what_had_no_room_is_named(rates):
    text = rates.summary(80)
    header = next(line for line in text.split("\n") if line.startswith("metric"))
    assert {"metric", "group", "difference", "finding"} <= set(header.split())
    assert "No room for: " in text
    assert "African-American" in text
    assert "+21.4" in text


def test_without_a_width_everything_is_there(rates):
    assert rates.summary() == str(rates)
    headings, lines = table(rates)
    columns = [column for column in shown_columns(rates) if not column.is_high]
    shown, left = fit_table(columns, headings, lines, 500)
    assert left == []
    assert all(heading in shown for heading in headings)


def shown_on_terminal(result, monkeypatch, **environment):
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("NO_COLOR",):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return printing.on_terminal(result)


def test_the_verdict_is_marked_by_a_sign_and_a_word_with_and_without_colours(rates, monkeypatch):
    coloured = shown_on_terminal(rates, monkeypatch)
    plain = shown_on_terminal(rates, monkeypatch, NO_COLOR="1")
    assert "\x1b[" in coloured
    assert "\x1b[" not in plain
    assert "\nVerdict ✗ differs: " in plain


def test_time_left():
    assert work.Progress("draws", 250, 1000, 10.0).left == "about 30 s left"
    assert work.Progress("draws", 0, 1000, 10.0).left == ""
    assert work.time_left(10, 100, 60.0) == "about 9 min left"


def test_logs_have_a_sign_of_life_with_the_time_left(monkeypatch, capsys):
    lines = live._PlainLines()
    event = SimpleNamespace(
        section="scan", status="running", text="draws", done=250, total=1000, seconds=10.0
    )
    lines.take(event)
    assert capsys.readouterr().err == ""
    lines.told -= live.BETWEEN_SIGNS + 1
    lines.take(event)
    assert "250 of 1,000  about 30 s left" in capsys.readouterr().err


def test_compiling_is_announced_once_to_whoever_shows_progress():
    from inside.ground import _Compiling

    def ours():
        pass

    def event(module):
        ours.__module__ = module
        return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=ours)})

    told = []
    listener = _Compiling()
    with work.session(progress=told.append):
        listener.on_start(event("another.package"))
        listener.on_start(event("fairtrial.papers.conditional_bias_scan._score"))
        listener.on_start(event("fairtrial.papers.conditional_bias_scan._score"))
    assert [progress.name for progress in told] == [work.COMPILING]


def test_a_scan_compiles_nothing(tmp_path):
    """The first scan of a new user starts at once: with an empty cache nothing is left in it."""
    code = (
        "import fairtrial\n"
        "audit = fairtrial.Audit(fairtrial.load('ricci'), decision='passed', groups=['race', 'position'])\n"
        "fairtrial.scan(audit, 'selection_rate', protected={'race': 'H'}, permutations=19)\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, env=environment)
    assert not list(tmp_path.rglob("*.nbi"))


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    fairtrial.load("ricci", backend="pandas").to_csv(path, index=False)
    return str(path)


def test_quiet_prints_the_verdict_alone(people, monkeypatch, capsys):
    from inside.cli import program

    program(
        ["measure", people, "--decision", "passed", "--by", "race", "--quiet"],
        standalone_mode=False, prog_name="fairtrial",
    )  # fmt: skip
    out, err = capsys.readouterr()
    assert err == ""
    assert out.count("\n") == 1
    assert out.startswith("differs: selection rate of W")


def test_shells_complete_commands_and_options():
    environment = {**os.environ, "_FAIRTRIAL_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    run = [
        sys.executable,
        "-c",
        "import sys; sys.argv[0] = 'fairtrial'; from fairtrial.cli import main; main()",
    ]
    found = subprocess.run(
        run, env={**environment, "COMP_WORDS": "fairtrial mea"}, capture_output=True, text=True
    )
    assert found.stdout.split() == ["measure"], found.stderr
    found = subprocess.run(
        run, env={**environment, "COMP_WORDS": "fairtrial certify --tol", "COMP_CWORD": "2"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert found.stdout.split() == ["--tolerance"], found.stderr
    found = subprocess.run(
        run, env={**environment, "COMP_WORDS": "fairtrial flag --metric fp", "COMP_CWORD": "3"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert found.stdout.split() == ["fpr"], found.stderr
    found = subprocess.run(
        run, env={**environment, "COMP_WORDS": "fairtrial certify --scale ", "COMP_CWORD": "3"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert found.stdout.split() == ["difference", "ratio"], found.stderr


def test_help_fits_80_columns_and_cuts_no_name(monkeypatch, capsys):
    """On a terminal that shows colours, too."""
    from typer.main import get_command

    from inside.cli import command_help, program

    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")
    group = get_command(program)
    context = group.make_context("fairtrial", [], resilient_parsing=True)
    for name in command_help():
        program([name, "--help"], standalone_mode=False, prog_name="fairtrial")
        text = capsys.readouterr().out
        assert max(map(len, text.splitlines())) <= 80, name
        assert "\x1b" not in text, name
        options = [option for part in group.get_command(context, name).params for option in part.opts]
        assert [option for option in options if option.startswith("--") and option not in text] == [], name
