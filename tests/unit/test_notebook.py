"""What a notebook shows, without one: charts without a network, audits and trials as tables, bars of long loops.

integrations/test_notebook.py has the same in a real kernel, and the widget.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

import fairtrial
from fairtrial import _work as work
from inside.ground import notebook

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def audit():
    return fairtrial.Audit(
        fairtrial.load("ricci"), score="combined", threshold=70, groups=["race"], favourable=1, missing="drop"
    )


def test_a_chart_needs_no_network(audit):
    chart = fairtrial.measure(audit).plot()
    shown = chart._repr_mimebundle_()
    assert sorted(kind.split("/")[0] for kind in shown) == ["application", "image", "text"]
    assert shown["image/svg+xml"].startswith("<svg")
    assert "text/html" not in shown  # Altair's loads its scripts from elsewhere
    assert "<image" not in shown["image/svg+xml"]
    drawn = next(value for kind, value in shown.items() if kind.startswith("application/vnd.vegalite"))
    assert drawn["$schema"].startswith("https://vega.github.io/schema/")
    assert chart.to_dict() == fairtrial.measure(audit).pictures()[0].chart.to_dict()


def test_a_chart_stays_a_chart(audit):
    chart = fairtrial.measure(audit).plot()
    assert type(chart).__name__ == type(fairtrial.measure(audit).pictures()[0].chart).__name__
    assert type(chart.properties(title="mine")).__mro__[1] is type(
        fairtrial.measure(audit).pictures()[0].chart
    )


def test_an_audit_says_who_plays_which_part(audit):
    assert repr(audit) == "Audit(score: combined (1 from 70 on), favourable: 1, groups: race, missing: drop)"
    assert "<th scope='row'>score</th><td>combined (1 from 70 on)</td>" in audit._repr_html_()


def test_names_from_data_are_no_markup():
    data = {"d": [0, 1] * 40, EVIL: ["a"] * 40 + ["b"] * 40}
    named = fairtrial.Audit(data, decision="d", groups=[EVIL])
    assert EVIL not in named._repr_html_()
    assert "&lt;script&gt;" in named._repr_html_()
    spec = {
        "data": {"decision": "d", "groups": [EVIL]},
        "measure": {"metric": "selection_rate", "title": EVIL},
    }
    shown = fairtrial.run(spec, data=data)._repr_html_()
    assert EVIL not in shown
    assert "&lt;script&gt;" in shown


def test_a_trial_is_a_table_of_questions_and_answers():
    trial = fairtrial.run(
        {
            "data": {"dataset": "ricci", "decision": "passed", "groups": ["race"]},
            "measure": {"metric": "selection_rate"},
        }
    )
    shown = trial._repr_html_()
    assert "<td>What are the rates?</td>" in shown
    assert trial.verdict.text in shown


def test_an_audit_at_another_threshold(audit):
    other = audit.at(80)
    rates = [row["rate"] for row in fairtrial.measure(other).estimates]
    by_hand = fairtrial.Audit(
        fairtrial.load("ricci"), score="combined", threshold=80, groups=["race"], favourable=1
    )
    assert rates == [row["rate"] for row in fairtrial.measure(by_hand).estimates]
    assert audit.threshold == 70
    with pytest.raises(fairtrial.InputError, match="needs a score that is cut"):
        fairtrial.Audit(fairtrial.load("ricci"), decision="passed").at(3)


@pytest.fixture
def kernel(monkeypatch):
    """A stand-in for a notebook's kernel: what it displays, in order."""
    shown = []
    handle = SimpleNamespace(update=lambda html: shown.append(html))
    display = SimpleNamespace(HTML=str, display=lambda html, display_id: shown.append(html) or handle)
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_long_loops_have_a_bar_that_goes_when_they_end(kernel, monkeypatch):
    monkeypatch.setattr(notebook, "BEFORE_SHOWN", 0.0)
    monkeypatch.setattr(notebook, "BETWEEN", 0.0)
    draw = lambda part, random: {"x": random.normal(size=len(part))}  # noqa: E731
    work.map_batches(draw, 4, name="draws <b>", seed=0, batch_size=1)
    assert kernel[0].startswith("<progress value='0' max='4'></progress> draws &lt;b&gt;: 0 of 4")
    assert "3 of 4, about " in kernel[3]
    assert kernel[-1] == ""


def test_short_loops_have_none(kernel):
    draw = lambda part, random: {"x": random.normal(size=len(part))}  # noqa: E731
    work.map_batches(draw, 4, name="draws", seed=0, batch_size=1)
    assert kernel == []


def test_outside_of_a_notebook_there_is_no_bar(monkeypatch):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert notebook.notebook_bar() is None


def test_without_the_extra_the_widget_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "fairtrial.notebook", raising=False)
    with pytest.raises(ImportError, match=r'install "anywidget>='):
        import fairtrial.notebook  # noqa: F401
