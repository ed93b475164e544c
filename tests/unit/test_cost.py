"""The cost model finds the constants that times were made from, and its check fails where a prediction is off."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "scripts")]

import cost  # noqa: E402
import make_rows  # noqa: E402
from cost_model import TEXTS, fit  # noqa: E402
from cost_page import sections  # noqa: E402
from cost_work import QUESTIONS  # noqa: E402

SCAN, TEXT, NUMBER, VALUE, FIXED, DRAW, READ = 4e-9, 6e-9, 3e-9, 2e-8, 0.2, 1e-4, 1e-5
ROWS = 10_000_000


def row(keys: Any, moments: bool) -> float:
    texts = sum(key in TEXTS for key in keys)
    return SCAN + texts * TEXT + (len(keys) - texts) * NUMBER + moments * VALUE


def asked(name: str, rows: int, draws: int) -> dict[str, float]:
    question = QUESTIONS[name]
    moments = bool(question.values)
    read = READ if name in cost.READ and rows <= 1_000_000 else 0.0
    seconds = FIXED + draws * DRAW + rows * (row(question.keys, moments) + read)
    return {"ours": seconds, "bare": seconds / 1.5, "peak_mb": 300.0}


def measured() -> dict[str, Any]:
    bare = [
        {"keys": list(keys), "moments": moments, "seconds": ROWS * row(keys, moments)}
        for keys, moments in cost.CALIBRATION
    ]
    return {
        "machine": "a machine",
        "small": cost.SMALL,
        "fewest": cost.FEWEST,
        "fewer_rows": {name: asked(name, cost.FEWEST, 0) for name in cost.READ},
        "middle": ROWS,
        "bare": bare,
        "fixed": {name: asked(name, cost.SMALL, QUESTIONS[name].draws) for name in QUESTIONS},
        "fewer_draws": asked("scan", cost.SMALL, 99),
        "cells": {"flag": [{"groups": 10, "seconds": 1.0}, {"groups": 20, "seconds": 1.5}]},
        "growth": {name: {str(ROWS): asked(name, ROWS, QUESTIONS[name].draws)} for name in QUESTIONS},
        "spark": {"rows": ROWS, "bare": 3.0, "ours": 4.0, "cores": 2},
    }


def test_the_constants_are_found_again() -> None:
    found = fit(measured())
    assert (found.scan, found.text, found.number, found.value) == pytest.approx((SCAN, TEXT, NUMBER, VALUE))
    assert found.draw == pytest.approx(DRAW)
    assert found.read == {name: pytest.approx(READ) for name in cost.READ}
    assert found.group == {"flag": pytest.approx(0.05)}
    assert found.seconds("watch", ROWS) == pytest.approx(asked("watch", ROWS, 0)["ours"])


def test_a_prediction_that_is_off_and_too_much_memory_fail(capsys: pytest.CaptureFixture[str]) -> None:
    content = measured()
    assert cost.check(content, fit(content)) == 0
    content["growth"]["flag"][str(ROWS)]["ours"] *= 2.5
    content["growth"]["scan"][str(ROWS)]["peak_mb"] = 1600.0
    assert cost.check(content, fit(content)) == 1
    said = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in said] == ["cost: flag", "cost: scan"]


def test_the_tables_replace_what_stood_there(tmp_path: Path) -> None:
    content = measured()
    page = tmp_path / "cost.md"
    page.write_text(
        "before\n<!-- measured: make cost -->\nold\n<!-- end of measured -->\nafter\n", encoding="utf-8"
    )
    cost.rewrite(page, sections(content, fit(content)))
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| `watch` | 10,000,000 |" in text
    # 1e9 rows × 400 ns of a core × 1.5 on 32 cores, and three jobs of ten seconds
    assert "| 1e9 | 4 machines × 8 cores | 49 s |" in text


def test_a_smaller_file_holds_the_first_rows_of_a_larger_one(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    few, more = tmp_path / "few.parquet", tmp_path / "more.parquet"
    make_rows.write(few, 1_000, 3)
    make_rows.write(more, 2_500, 3)
    assert pq.read_table(more).slice(0, 1_000).equals(pq.read_table(few))
    assert not pq.read_table(more)["score"].equals(make_rows.part(0, 2_500, 4)["score"])
