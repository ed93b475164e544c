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
