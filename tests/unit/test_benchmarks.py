"""The benchmark harness reports what it measured: no test here asserts a time."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


harness = load("harness")


def test_callables_take_turns_after_one_warm_up_each() -> None:
    calls: list[str] = []
    times = harness.interleaved(
        {
            "a": lambda: calls.append("a"),
            "b": lambda: calls.append("b"),
            "slow": lambda: calls.append("slow"),
        },
        repeats=2,
        once=["slow"],
    )
    assert calls == ["a", "b", "a", "b", "slow", "a", "b"]
    assert set(times) == {"a", "b", "slow"}


def test_ratio_and_goal() -> None:
    ahead = harness.row("work", 1.0, "peer", 30.0, goal=20.0)
    assert (ahead.ratio, ahead.met, ahead.goal_text) == (30.0, True, "≥ 20×")
    behind = harness.row("work", 4.0, "floor", 1.0, goal=harness.within(3))
    assert (behind.ratio, behind.met, behind.goal_text) == (0.25, False, "within 3× of it")
    assert harness.limit("memory", 700, 600, unit="MB").met is False


def test_a_row_without_a_goal_says_so_and_has_its_own_floor() -> None:
    shown = harness.row("work", 4.0, "peer", 1.0, None)
    assert (shown.ratio, shown.met, shown.goal_text, shown.floor) == (0.25, None, "–", None)
    guarded = harness.row("work", 4.0, "peer", 1.0, None, least=0.5)
    run = load("run")
    assert run.check([shown]) == 0
    assert run.check([shown, guarded]) == 1
    assert run.check([harness.alone("work", 2.0, most=3.0)]) == 0
    assert run.check([harness.alone("work", 4.0, most=3.0)]) == 1


def test_limits_are_told_as_what_they_are() -> None:
    assert harness.limit("work", 0.004, 0.010).goal_text == "≤ 10 ms"
    assert harness.limit("work", 700, 600, unit="MB").goal_text == "≤ 600 MB"


def test_the_page_counts_goals_and_names_those_missed(tmp_path: Path) -> None:
    run = load("run")
    rows = {
        "measure": [
            harness.row("rates", 1.0, "fairlearn", 30.0, 20.0),
            harness.row("rates", 1.0, "bare grouping", 0.2, harness.within(3)),
            harness.row("rates", 1.0, "aequitas", 2.0, None),
        ],
        "explain": [harness.limit("inference", 0.004, 0.010)],
        "memory": [],
    }
    growths = [
        harness.Growth(name="sort", axis="rows", sizes=(10, 100, 1000), seconds=(0.1, 0.1, 1.0)),
        harness.Growth(name="read", axis="rows", sizes=(10, 100), seconds=(90.0, 100.0), unit="MB"),
    ]
    run.write(rows, growths, tmp_path)
    page = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert "**2 of 3 goals are met.** Missed:" in page
    assert "- rates, within 3× of bare grouping: 0.2×" in page
    assert (
        "| group metrics with intervals (`measure`) | 1 of 2 | ≥ 20× fairlearn; within 3× of bare grouping "
        "| rates, within 3× of bare grouping |"
    ) in page
    assert "| inference for explanations (`explain`) | 1 of 1 | ≤ 10 ms | none |" in page
    assert "| rates | 1.00 s | aequitas | 2.00 s | 2× | – | – |  |" in page
    assert "## memory" not in page
    assert "| sort | rows | 0.50 | 1.00 | 10: 100 ms, 100: 100 ms, 1,000: 1.00 s |" in page
    chart = (tmp_path / "benchmarks-growth.svg").read_text(encoding="utf-8")
    assert all(
        told in chart for told in ("Time by rows", "Peak memory by rows", "slope 0.50, last step 1.00")
    )


def test_a_peers_own_warnings_are_not_printed(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    (tmp_path / "chatty_peer.py").write_text("import logging\nlogging.warning('optional part missing')\n")
    sys.path.insert(0, str(tmp_path))
    try:
        assert harness.peer("chatty_peer") is not None
    finally:
        sys.path.remove(str(tmp_path))
    assert caplog.records == []
    harness.logging.warning("still heard")
    assert len(caplog.records) == 1


def test_a_missing_peer_is_reported() -> None:
    (row,) = harness.compare("work", lambda: None, {"no-such-peer": (None, 20.0)}, repeats=1)
    assert (row.peer_seconds, row.ratio, row.met) == (None, None, None)
    assert row.note == "no-such-peer does not install here"
    assert harness.peer("no_such_module_anywhere") is None


def test_check_fails_below_half_of_a_goal(capsys: pytest.CaptureFixture[str]) -> None:
    run = load("run")
    fine = harness.row("work", 1.0, "peer", 11.0, goal=20.0)
    slow = harness.row("work", 1.0, "peer", 9.0, goal=20.0)
    assert run.check([fine]) == 0
    assert run.check([fine, slow]) == 1
    assert "too slow: work against peer: 9×, floor 10×" in capsys.readouterr().out


def test_slope_of_growth() -> None:
    growth = harness.Growth(name="sort", axis="rows", sizes=(10, 100, 1000), seconds=(1.0, 100.0, 10_000.0))
    assert growth.slope == pytest.approx(2.0)


def test_memory_of_a_process_is_its_own() -> None:
    code = "def prepare():\n    pass\ndef work():\n    return len(bytes(bytearray(200_000_000)))"
    report = harness.in_subprocess(code)
    assert report["result"] == 200_000_000
    assert report["peak_mb"] - report["baseline_mb"] > 180
    assert report["baseline_mb"] < 60
