"""A real kernel shows charts, tables and bars, and the widget answers its sliders."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient

import fairtrial
from fairtrial.notebook import Explorer


@pytest.fixture
def explorer() -> Explorer:
    audit = fairtrial.Audit(
        fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5, groups="sex"
    )
    return Explorer(audit, "fpr", target={"sex": "Male"}, tolerance=0.05)


def test_the_sliders_move_the_verdict(explorer: Explorer) -> None:
    assert explorer.threshold_range == [1.0, 10.0, 1.0]
    assert explorer.verdict.startswith("certified: false positive rate of Female is within 5.0 points")
    explorer.tolerance = 0.005
    assert explorer.verdict.startswith("undetermined")
    explorer.tolerance = 0.05
    explorer.threshold = 8.0
    assert explorer.result.provenance["arguments"] is not None
    rate = explorer.result.estimates[0]["rate"]
    asked = explorer.audit.at(8.0)
    assert rate == fairtrial.measure(asked, "fpr", by=[{"sex": "Female"}]).estimates[0]["rate"]
    assert explorer.lines[0][0] == "Female"


def test_a_threshold_that_nobody_reaches_is_said(explorer: Explorer) -> None:
    with pytest.warns(fairtrial.FairtrialWarning, match="threshold 99 is above the largest score"):
        explorer.threshold = 99.0
    assert {row["rate"] for row in explorer.result.estimates} == {0.0}
    assert explorer.verdict == explorer.result.verdict.text


def test_a_decision_has_a_tolerance_only() -> None:
    audit = fairtrial.Audit(fairtrial.load("ricci"), decision="passed", groups="race")
    assert Explorer(audit, "selection_rate").threshold_range == []


def test_a_kernel_shows_it_all() -> None:
    code = """
import fairtrial
audit = fairtrial.Audit(fairtrial.load("ricci"), decision="passed", groups=["race"])
from fairtrial._work import notebook
notebook.BEFORE_SHOWN = notebook.BETWEEN = 0.0
display(audit)
display(fairtrial.measure(audit).plot())
_ = fairtrial.scan(audit, "selection_rate", protected="race", features=["position"], permutations=199)
from fairtrial.notebook import Explorer
display(Explorer(audit, "selection_rate"))
"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    shown = [output.data for output in notebook.cells[0].outputs if output.output_type == "display_data"]
    assert "<caption>Audit</caption>" in shown[0]["text/html"]
    assert shown[1]["image/svg+xml"].startswith("<svg")
    assert "text/html" not in shown[1]
    assert any(data.get("text/html") == "" for data in shown)  # a bar that came and went
    assert any("application/vnd.jupyter.widget-view+json" in data for data in shown)
