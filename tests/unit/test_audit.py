"""Cells, rows, designs and fingerprints of an Audit."""

from __future__ import annotations

import inspect
import re
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fairtrial import METRICS, Audit, FairtrialWarning, InputError, Metric, certify, flag, measure, role, scan
from inside.data import ROLE_NAMES
from inside.ground import arguments_of
from inside.metrics import Group

FRAME = pd.DataFrame({
    "race": ["b", "a", "c", "a", "b", "a", "c", "b"],
    "sex": ["F", "M"] * 4,
    "y": [0, 1, 1, 0, 1, 1, 0, 0],
    "d": [1, 1, 0, 0, 1, 0, 1, 0],
    "s": [0.9, 0.8, 0.1, 0.2, 0.7, 0.3, 0.6, 0.4],
    "age": [20, 30, 40, 50, 25, 35, 45, 55],
})  # fmt: skip


def audit(**arguments):
    return Audit(FRAME, **{"outcome": "y", "decision": "d", "score": "s", "groups": "race", **arguments})


def test_cells_are_sorted_and_complete():
    cells = audit().cells(("race", "sex"), [METRICS["tpr"]], roles=("outcome",))
    assert cells.attributes == ("race", "sex")
    assert cells.labels == {"race": ("a", "b", "c"), "sex": ("F", "M")}
    keys = [
        (*code, outcome) for code, outcome in zip(cells.codes.tolist(), cells.roles["outcome"], strict=True)
    ]
    assert keys == sorted(keys)
    assert cells.rows.sum() == 8
    expected = FRAME.groupby(["race", "sex", "y"]).size()
    assert cells.rows.tolist() == expected.tolist()
    assert cells.count["tpr"].sum() == (FRAME["y"] == 1).sum()
    assert cells.total["tpr"].sum() == ((FRAME["y"] == 1) & (FRAME["d"] == 1)).sum()
    assert cells.binary["tpr"]


def test_cells_of_nothing_are_one_cell():
    cells = audit().cells((), [METRICS["mean_score"]])
    assert cells.rows.tolist() == [8]
    assert cells.total["mean_score"] == pytest.approx([FRAME["s"].sum()])
    assert cells.m2["mean_score"] == pytest.approx([FRAME["s"].var(ddof=0) * 8])
    assert not cells.binary["mean_score"]


def test_masks_and_pooled_moments():
    cells = audit().cells(("race", "sex"), [METRICS["mean_score"]])
    inside = cells.mask(Group.of({"race": ["a", "c"], "sex": "M"}))
    chosen = FRAME[FRAME["race"].isin(["a", "c"]) & (FRAME["sex"] == "M")]["s"]
    n, total, m2 = cells.moments("mean_score", inside)
    assert (n, total, m2) == pytest.approx((len(chosen), chosen.sum(), chosen.var(ddof=0) * len(chosen)))
    assert cells.moments("mean_score", np.zeros(len(inside), dtype=bool)) == (0, 0.0, 0.0)
    assert not cells.mask(Group.of({"race": "nobody"})).any()


def test_rows():
    rows = audit().rows(
        attributes=["race"],
        metrics=[METRICS["tpr"], METRICS["brier"]],
        roles=["decision", "score"],
        columns=["age"],
    )
    assert rows.n == 8
    assert [rows.attributes["race"].labels[code] for code in rows.attributes["race"].codes] == FRAME[
        "race"
    ].tolist()
    assert rows.roles["decision"].tolist() == FRAME["d"].tolist()
    assert rows.roles["score"].tolist() == FRAME["s"].tolist()
    assert rows.columns["age"].tolist() == FRAME["age"].tolist()
    assert rows.given["tpr"].tolist() == (FRAME["y"] == 1).tolist()
    assert rows.values["brier"] == pytest.approx((FRAME["s"] - FRAME["y"]).to_numpy() ** 2)
    assert rows.mask(Group.of({"race": "a"})).tolist() == (FRAME["race"] == "a").tolist()


def test_design():
    design = audit(features=("age", "race"), bins={}).design()
    assert design.names == ("age", "race=a", "race=b", "race=c")
    assert design.feature_of.tolist() == [0, 1, 1, 1]
    assert design.matrix[:, 0].tolist() == FRAME["age"].tolist()
    assert design.columns_of("race").tolist() == [1, 2, 3]
    assert (design.matrix[:, 1:].sum(axis=1) == 1).all()
    cut = audit(features=("age",), bins={"age": [30]}).design()
    assert cut.names == ("age=under 30", "age=30 and over")
    with pytest.raises(InputError, match="'features' is missing"):
        audit().design()


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_features_frame_is_of_the_callers_kind(library):
    made = Audit(library(FRAME.to_dict("list")), decision="d", features=("age", "race"))
    frame = made.features_frame()
    assert isinstance(frame, library)
    assert list(frame.columns) == ["age", "race"]
    assert list(frame["age"]) == FRAME["age"].tolist()


def test_fingerprints_know_the_data_and_not_its_order():
    first = audit().digest()
    shuffled = Audit(
        FRAME.sample(frac=1, random_state=2), outcome="y", decision="d", score="s", groups="race"
    )
    assert shuffled.digest() == first
    assert Audit(pl.DataFrame(FRAME), outcome="y", decision="d", score="s", groups="race").digest() == first
    changed = Audit(FRAME.assign(d=1 - FRAME["d"]), outcome="y", decision="d", score="s", groups="race")
    assert changed.digest() != first
    renamed = Audit(FRAME.replace({"race": {"a": "z"}}), outcome="y", decision="d", score="s", groups="race")
    assert renamed.digest() != first


def test_notes_and_provenance():
    plain = audit()
    assert [note.code for note in plain.notes()] == ["independent-rows", "not-fitted-here"]
    facts = plain.provenance(seed=3)
    assert facts["seed"] == 3
    assert facts["roles"] == {"outcome": "y", "decision": "d", "score": "s"}
    assert facts["frame"] == "pandas"
    assert "not-fitted-here" not in [note.code for note in Audit(FRAME, outcome="y").notes()]


def test_roles_by_score_and_threshold():
    made = audit(decision=None, threshold=0.6)
    assert made.has("decision")
    assert (
        made.rows(roles=["decision"]).roles["decision"].tolist() == (FRAME["s"] >= 0.6).astype(float).tolist()
    )
    assert not Audit(FRAME, score="s").has("decision")


def test_an_audit_is_frozen_and_its_copies_share_the_data():
    audit = Audit({"s": [0.1, 0.4, 0.8], "g": ["a", "b", "b"]}, score="s", threshold=0.5, groups="g")
    with pytest.raises(FrozenInstanceError):
        audit.threshold = 0.3
    lower = audit.at(0.3)
    assert (lower.threshold, audit.threshold) == (0.3, 0.5)
    assert lower.source is audit.source
    for one, decided in ((audit, [0, 1]), (lower, [0, 2]), (audit, [0, 1])):
        assert one.cells(("g",), [METRICS["selection_rate"]]).total["selection_rate"].tolist() == decided


def test_conditions_on_scores_and_score_bins():
    made = audit(bins={"score": [0.35, 0.65]})
    by_bin = Metric("m", role.outcome, {role.score_bin: ["under 0.35", "0.65 and over"]})
    by_value = Metric("v", role.outcome, {role.score: [0.9, 0.8]})
    cells = made.cells((), [by_bin, by_value])
    assert cells.count["m"][0] == ((FRAME["s"] < 0.35) | (FRAME["s"] >= 0.65)).sum()
    assert cells.count["v"][0] == 2
    assert made.score_bins() == ["under 0.35", "0.35 to under 0.65", "0.65 and over"]


def test_a_metric_of_bins_is_named_where_it_is_not_taken():
    with pytest.raises(
        InputError, match="'calibration' compares the outcome in each score bin: measure takes it"
    ):
        audit().cells(("race",), [METRICS["calibration"]], who="certify")


def test_one_message_for_all_faults_of_a_question():
    with pytest.raises(InputError) as caught:
        Audit(FRAME, outcome="y").cells(
            ("rase",), [METRICS["tpr"], Metric("m", "costs")], ("score",), who="scan"
        )
    text = str(caught.value)
    assert text.startswith("scan: 4 faults:")
    for part in ("'by' names the unknown column 'rase'", "'tpr' needs the decision", "the unknown column 'costs'",
                 "the score is needed"):  # fmt: skip
        assert part in text


@pytest.mark.parametrize(
    ("roles", "text"),
    [
        ({"threshold": 5}, "Every decision is 0: threshold 5 is above the largest score 0.9."),
        ({"threshold": 0.1}, "Every decision is 1: threshold 0.1 is at or below the smallest score 0.1."),
        ({"decision": "never"}, "Every decision is 0: 'never' does not vary."),
    ],
)
def test_a_decision_that_never_varies_is_said(roles, text):
    data = pd.concat([FRAME.assign(never=0)] * 10)
    made = Audit(data, outcome="y", score="s", groups="sex", **roles)
    asked = (
        lambda: measure(made, "selection_rate"),
        lambda: certify(made, "selection_rate", tolerance=0.1),
        lambda: flag(made, "selection_rate"),
    )
    for ask in asked:
        with pytest.warns(FairtrialWarning, match=re.escape(text)):
            result = ask()
        assert [note.text for note in result.notes if note.code == "constant-decision"] == [text]
    varied = measure(Audit(data, score="s", threshold=0.5, groups="sex"), "selection_rate")
    assert not [note for note in varied.notes if note.code == "constant-decision"]


def test_every_argument_is_declared():
    """What the command line, the file and the docs derive from; the docstring says the same words."""
    declared = {argument.name: argument for argument in arguments_of(Audit.__init__)}
    assert list(declared) == list(inspect.signature(Audit).parameters)
    assert set(ROLE_NAMES) <= set(declared)
    assert declared["missing"].choices == ("error", "drop", "category")
    assert {name: declared[name].flag for name in ("groups", "features")} == {
        "groups": "by",
        "features": "feature",
    }
    text = inspect.getdoc(Audit)
    parameters = re.findall(r"^(\w+) : [^\n]+\n    ([^\n]+)$", text.split("Examples")[0], re.MULTILINE)
    assert parameters == [(name, argument.option.help) for name, argument in declared.items()]


def test_labels_as_the_command_line_gives_them():
    read = {argument.name: argument.read for argument in arguments_of(Audit.__init__)}
    people = FRAME.assign(d=FRAME["d"].map({0: "no", 1: "yes"}))
    for texts in (["yes"], ["decision=yes"]):
        made = Audit(people, decision="d", positive=[read["positive"](text) for text in texts])
        assert made.positive == {"decision": "yes"}
    both = Audit(people, decision="d", outcome="y", positive=[("decision", "yes"), ("outcome", 1)])
    assert both.positive == {"decision": "yes", "outcome": 1}
    assert Audit(people, decision="d", positive=["yes", "no"]).positive == {"decision": ["yes", "no"]}
    with pytest.raises(InputError, match="'positive' must be labels that count as 1"):
        Audit(people, decision="d", positive=["yes", ("outcome", 1)])
    assert read["bins"]("s=0.3,0.6") == ("s", [0.3, 0.6])


def test_numpy_numbers_are_as_good_as_pythons():
    assert audit(decision=None, threshold=np.float64(0.6)).threshold == 0.6
    with pytest.raises(InputError, match="'threshold' must be a number, got True"):
        audit(decision=None, threshold=np.bool_(True))


@pytest.mark.parametrize(
    ("ask", "argument"),
    [
        (lambda: Audit(FRAME, outcome="z"), "outcome"),
        (lambda: Audit(FRAME, bins={"s": 1}), "bins"),
        (lambda: Audit("nowhere.csv"), "data"),
        (lambda: Audit(FRAME.assign(y="x"), outcome="y").check(), "outcome"),
        (lambda: Audit(FRAME.assign(s=np.nan), score="s", threshold=1).check(), "score"),
        (lambda: Audit(FRAME.assign(race=None), groups="race").check(), "groups"),
        (lambda: measure(Audit(FRAME, outcome="y"), "tpr", by="race"), "decision"),
        (lambda: measure(audit(), "tpr", by="rase"), "by"),
        (lambda: scan(audit(), "tpr", protected={"race": "zzz"}), "protected"),
    ],
)
def test_a_fault_knows_its_argument(ask, argument):
    with pytest.raises(InputError) as caught:
        ask()
    assert {fault.argument for fault in caught.value.faults} == {argument}
