"""Charts are drawn by a process of their own, from texts it can draw: no label and no crash costs a number."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairtrial
from inside.results import ChartFailed, cleaned, drawing, svg

HOSTILE = ["a\x00b", "c\x01", "d\x0b\x0c", "e\x1f", "f\ufffe", "h\uffff", "i\u2028j", "\x7f\x9f"]
SPEC = {
    "data": {"source": "people.csv", "decision": "hired", "groups": ["team"]},
    "measure": {"metric": "selection_rate"},
}


def people(labels: list[str]) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    return pd.DataFrame({"team": np.repeat(labels, 60), "hired": generator.integers(0, 2, 60 * len(labels))})


def bars(label: str) -> dict[str, object]:
    return {
        "data": {"values": [{"a": label, "b": 1}]},
        "mark": "bar",
        "encoding": {"x": {"field": "a", "type": "nominal"}, "y": {"field": "b", "type": "quantitative"}},
    }


@pytest.mark.parametrize("label", HOSTILE)
def test_any_label_is_drawn(label: str) -> None:
    assert "<svg" in svg(bars(label))


def test_what_can_be_drawn_is_left_alone() -> None:
    text = "Ünïcode 中文 🙂 tab\tline\n"
    assert cleaned({"a": [text, {"b": text}], "n": 1.5}) == {"a": [text, {"b": text}], "n": 1.5}


def test_a_dead_process_costs_one_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "<svg" in svg(bars("before"))
    process = drawing._child.process
    assert process is not None
    process.kill()
    process.wait()
    assert "<svg" in svg(bars("after")), "the next chart starts another process"
    monkeypatch.setattr(drawing, "SECONDS_FOR_ONE", 0.0)
    with pytest.raises(ChartFailed, match="ended or took too long"):
        svg(bars("too slow"))


def test_what_the_renderer_refuses_is_told() -> None:
    with pytest.raises(ChartFailed, match="could not be drawn"):
        svg({"mark": "nothing of the kind"})


def test_the_script_is_kept_and_a_changed_one_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made: list[object] = []

    def make(request: object) -> bytes:
        made.append(request)
        return b"window.x = 1;"

    monkeypatch.setattr(drawing._child, "ask", make)
    assert drawing.bundle("5.1") == drawing.bundle("5.1") == "window.x = 1;"
    assert len(made) == 1
    kept = next(tmp_path.rglob("*.js"))
    kept.write_text(kept.read_text().replace("1;", "2;"))
    assert drawing.bundle("5.1") == "window.x = 1;"
    assert len(made) == 2
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
    assert drawing.bundle("5.1") == "window.x = 1;", "without a cache folder it is made each time"


@pytest.mark.slow
def test_hostile_labels_leave_a_whole_folder(tmp_path: Path) -> None:
    trial = fairtrial.run(SPEC, data=people(HOSTILE), out=tmp_path / "out")
    assert trial.complete
    names = {path.name for path in (tmp_path / "out").rglob("*.*")}
    assert {"results.json", "report.html", "measure.csv", "measure.rates.svg"} <= names
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert not drawing.NOT_DRAWN.search(page.split("<script>")[0])


LITTLE_MEMORY = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3_000_000_000, 3_000_000_000))
import numpy as np, pandas as pd, fairtrial
generator = np.random.default_rng(0)
people = pd.DataFrame({"team": np.repeat(["a", "b"], 200), "hired": generator.integers(0, 2, 400)})
fairtrial.run({"data": {"source": "people.csv", "decision": "hired", "groups": ["team"]},
               "measure": {"metric": "selection_rate"}}, data=people, out=sys.argv[1])
"""


@pytest.mark.slow
def test_little_memory_costs_the_charts_alone(tmp_path: Path) -> None:
    """The renderer reserves more address space than this and aborts; the numbers and the page are there."""
    done = subprocess.run([sys.executable, "-c", LITTLE_MEMORY, str(tmp_path / "out")], check=False)
    assert done.returncode == 0
    content = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert content["sections"][0]["status"] == "done"
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    drawn = list((tmp_path / "out" / "charts").glob("*.svg"))
    assert drawn or "could not be drawn" in page, "a chart that is missing is named"
