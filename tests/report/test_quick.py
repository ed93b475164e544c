"""A saved trial of every question is rendered without the libraries that computed it: they take most of its time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import altair as alt
import pytest

from inside.results import inline, layered

COMPUTING = ("sklearn", "scipy.stats", "pandas", "numba", "duckdb", "pyarrow")


@pytest.mark.slow
def test_rendering_a_saved_trial_loads_nothing_that_computes(folder: Path, tmp_path: Path) -> None:
    code = f"""
import sys
from fairtrial._trial import load_results
from fairtrial._report import write_report
write_report(load_results({str(folder)!r}), {str(tmp_path / "page.html")!r})
print([name for name in {COMPUTING!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_layers_that_are_not_copied_are_the_same_chart() -> None:
    base = alt.Chart(inline([{"a": 1, "b": 2}])).encode(x=alt.X("a:Q", scale=alt.Scale(zero=False)), y="b:Q")
    parts = base.mark_point(), base.mark_rule().transform_filter("datum.a > 0")
    with alt.utils.schemapi.debug_mode(False):
        copied = alt.vconcat(alt.layer(*parts), alt.layer(*parts)).to_dict()
        shared = alt.vconcat(layered(*parts), layered(*parts)).to_dict()
    assert shared == copied
