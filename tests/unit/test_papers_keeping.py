"""Parts of the papers are computed once, and their time is told with or without computing them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import fairtrial

SCRIPT = Path(fairtrial.__file__).parent / "papers" / "_studies" / "parts" / "keeping.py"


@pytest.fixture
def keeping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("keeping", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    return module


def test_a_part_is_computed_once(keeping: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    calls = []

    def compute() -> list[int]:
        calls.append(sum(range(200_000)))
        return [1, 2]

    assert keeping.kept("part", {"repeats": 3}, compute) == [1, 2]
    before = keeping.ELSEWHERE["kept"]
    assert keeping.kept("part", {"repeats": 3}, compute) == [1, 2]
    assert len(calls) == 1
    assert keeping.ELSEWHERE["kept"] > before
    keeping.kept("part", {"repeats": 4}, compute)
    assert len(calls) == 2
    assert capsys.readouterr().out.count("part:") == 2


def test_a_page_tells_its_time(keeping: ModuleType) -> None:
    keeping.ELSEWHERE["workers"] += 600
    assert keeping.spent().endswith("minutes of processor time")
    assert float(keeping.spent().split()[0]) >= 10
