"""Of more rows than are compared one by one, methods that fit models take a random sample, and say so."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import fairtrial as ft
from fairtrial import Audit, FairtrialWarning
from inside.data import Query

MOST = 600
# that a tree of one feature is another system than these decisions is not what is tested
pytestmark = pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")


def people(n: int = 1500) -> pd.DataFrame:
    random = np.random.default_rng(3)
    group, level = random.choice(["A", "B"], n), random.integers(0, 4, n)
    good = (random.random(n) < 0.2 + 0.15 * level).astype(int)
    hired = (random.random(n) < 0.2 + 0.2 * (level > 1) + 0.2 * (group == "A")).astype(int)
    return pd.DataFrame({"g": group, "level": level, "y": good, "d": hired, "d2": (level > 1).astype(int)})


@pytest.fixture
def audit(monkeypatch: pytest.MonkeyPatch) -> Audit:
    monkeypatch.setattr("fairtrial._audit.columns.MOST_ROWS", MOST)
    return Audit(people(), decision="d", outcome="y", groups="g", features="level")


def test_explain_takes_a_sample_and_counts_everyone(audit: Audit) -> None:
    found = ft.explain(audit, "selection_rate", by="g", model="tree", test=0.5)
    said = [note.text for note in found.notes if note.code == "sampled-rows"]
    assert said == [
        "Of 1,500 rows a random sample of 600 was fitted to and tested on; intervals and p-values are of these."
    ]
    assert found.provenance["rows"] == MOST / 2
    again = ft.explain(audit, "selection_rate", by="g", model="tree", test=0.5)
    assert again.to_dict()["estimates"] == found.to_dict()["estimates"]
    other = ft.explain(audit, "selection_rate", by="g", model="tree", test=0.5, seed=1)
    assert other.to_dict()["estimates"] != found.to_dict()["estimates"]


def test_decisions_given_row_by_row_are_of_all_rows(audit: Audit) -> None:
    decided = people()["d"].to_numpy()
    found = ft.explain(
        audit,
        "selection_rate",
        by="g",
        features="level",
        sensitive="absent",
        coalitions=np.column_stack([decided * 0, decided]),
    )
    assert "sampled-rows" not in [note.code for note in found.notes]


def test_improve_takes_a_sample(audit: Audit) -> None:
    found = ft.improve(audit, by="g", candidates=ft.Fixed("d2"), bootstrap=100)
    assert "sampled-rows" in [note.code for note in found.notes]
    assert audit.sampled(0).rows(roles=["decision"]).n == MOST
    assert len(audit.sampled(0).features_frame()) == MOST


def test_rows_or_sums_is_decided_by_the_audit_and_not_by_the_question(audit: Audit) -> None:
    """Every method that compares means goes over to sums at the same number of rows, whatever a question leaves in."""
    frame = people().assign(
        s=lambda rows: np.round(rows["level"] / 3 + rows["d"] / 7, 3), week=lambda rows: rows.index
    )
    many = Audit(frame, decision="d", outcome="y", score="s", groups="g")
    for question in (ft.measure, ft.certify, ft.flag):
        for metric in ("mean_score", "balance_positive"):
            found = question(many, metric, tolerance=0.1)
            assert "from-moments" in [note.code for note in found.notes], (question.__name__, metric)
    few = Audit(frame.head(MOST), decision="d", outcome="y", score="s", groups="g")
    with warnings.catch_warnings():
        warnings.simplefilter("error", FairtrialWarning)
        for question in (ft.measure, ft.certify, ft.flag):
            found = question(few, "mean_score", tolerance=0.1)
            assert "from-moments" not in [note.code for note in found.notes]


def test_real_values_are_hashed_where_the_rows_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest sees a value that moves to another group, and not the order of the rows."""
    monkeypatch.setattr("fairtrial._audit.columns.MOST_ROWS", MOST)
    frame = people().assign(cost=lambda rows: np.sqrt(rows.index.to_numpy(dtype=float)))

    def digest(data: pd.DataFrame) -> str:
        found = ft.measure(Audit(data, decision="d", groups="g"), ft.Metric("cost", value="cost"))
        return str(found.provenance["data"])

    swapped = frame.copy()
    first, second = (int(frame.index[frame["g"] == group][0]) for group in ("A", "B"))
    swapped.loc[[first, second], "cost"] = frame.loc[[second, first], "cost"].to_numpy()
    assert digest(frame) == digest(frame.sample(frac=1.0, random_state=1))
    assert digest(frame) != digest(swapped)


def test_the_fingerprint_of_very_many_rows_sees_values_and_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairtrial._audit.columns.MOST_ROWS", MOST)
    frame = people()
    turned, changed = (
        frame.iloc[::-1].reset_index(drop=True),
        frame.assign(level=frame["level"] + (frame.index == 7)),
    )
    found = [
        Audit(data, decision="d", groups="g").fingerprint(["level"]) for data in (frame, turned, changed)
    ]
    assert found[0].content == found[1].content != found[2].content
    assert found[0].order != found[1].order
    assert found[0] == Audit(frame, decision="d", groups="g").fingerprint(["level"])


def test_checking_an_audit_reads_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults of features are found by grouping: a file of a hundred million rows is not read to be checked."""
    monkeypatch.setattr(Query, "plain", lambda *_, **__: pytest.fail("rows were read"))
    frame = people().assign(
        s=1.5, t="x", age=lambda rows: rows.index % 60, h=lambda rows: np.where(rows.index == 7, np.inf, 1.0)
    )
    roles = {"decision": "d", "groups": "g", "bins": {"age": [25]}}
    Audit(frame, **roles, features=["level", "s", "t", "age"]).check()
    gaps = frame.assign(
        s=lambda rows: rows["s"].where(rows.index != 3), t=lambda rows: rows["t"].where(rows.index > 1)
    )
    with pytest.raises(ft.InputError) as caught:
        Audit(gaps, **roles, features=["level", "s", "t", "h"]).check()
    said = str(caught.value)
    assert all(
        part in said for part in ("'s' is missing in 1 rows", "'t' is missing in 2 rows", "'h' has infinite")
    )
