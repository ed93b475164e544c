"""Decisions with an order: every cut is the audit of "this label or above", corrected over all of them at once."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fairtrial import Audit, InputError, certify, flag, measure, scan
from fairtrial.papers import elfa
from inside.cli import program
from inside.trial import run

RNG = np.random.default_rng(20262)
N = 3000
BANDS = ["reject", "refer", "accept"]
GROUP = RNG.choice(list("ABC"), N, p=[0.5, 0.3, 0.2])
PLACE = np.digitize(RNG.normal(size=N) - 0.4 * (GROUP == "C"), [-0.3, 0.6])
FRAME = pd.DataFrame(
    {
        "g": GROUP,
        "band": np.array(BANDS)[PLACE],
        "place": PLACE,
        "half": PLACE / 2,
        "y": RNG.integers(0, 2, N),
    }
)
CUTS = {"refer or above": ["refer", "accept"], "accept": ["accept"]}


def ordered(**given) -> Audit:
    return Audit(FRAME, **{"decision": "band", "order": BANDS, "outcome": "y", "groups": "g", **given})


def at(labels: list[str]) -> Audit:
    """The audit of one cut, said by its labels."""
    return Audit(FRAME, decision="band", positive={"decision": labels}, outcome="y", groups="g")


def holm_by_hand(p: list[float]) -> list[float]:
    order, adjusted, largest = sorted(range(len(p)), key=p.__getitem__), [0.0] * len(p), 0.0
    for step, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - step) * p[place]))
        adjusted[place] = largest
    return adjusted


def message(call) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("metric", ["selection_rate", "tpr", "ppv", "accuracy"])
def test_measure_is_every_cut_with_one_correction(metric):
    rows = measure(ordered(), metric).estimates
    alone = [
        {**row, "metric": f"{metric} [{name}]"}
        for name, labels in CUTS.items()
        for row in measure(at(labels), metric).estimates
    ]
    same = (
        "metric",
        "group",
        "n",
        "rate",
        "rate_low",
        "difference",
        "difference_low",
        "difference_high",
        "p_value",
    )
    assert [[row[name] for name in same] for row in rows] == [[row[name] for name in same] for row in alone]
    corrected = holm_by_hand([row["p_value"] for row in alone])
    np.testing.assert_allclose([row["p_adjusted"] for row in rows], corrected, rtol=1e-12)


def test_metrics_without_the_decision_are_asked_once():
    rows = measure(ordered(), ["selection_rate", "base_rate"]).estimates
    assert [row["metric"] for row in rows].count("base_rate") == 3
    assert len(rows) == 9


def test_certify_needs_every_cut():
    wide = certify(ordered(), "selection_rate", by={"g": "B"}, tolerance=0.1)
    assert [row["cut"] for row in wide.estimates] == list(CUTS)
    assert wide.verdict.code == "certified"
    assert "at every cut (refer or above, accept)" in wide.verdict.text
    for row, labels in zip(wide.estimates, CUTS.values(), strict=True):
        (alone,) = certify(at(labels), "selection_rate", by={"g": "B"}, tolerance=0.1).estimates
        for name in (
            "difference",
            "difference_low",
            "certificate_low",
            "certificate_high",
            "p_value",
            "state",
        ):
            assert row[name] == alone[name]
        assert row["together_low"] < alone["together_low"], "what holds at once holds over the cuts as well"
    one = certify(at(["accept"]), "selection_rate", tolerance=0.1)
    rows = certify(ordered(), "selection_rate", tolerance=0.1).estimates
    p = [row["p_value"] for row in rows]
    np.testing.assert_allclose([row["p_adjusted"] for row in rows], holm_by_hand(p), rtol=1e-12)
    assert {row["group"] for row in rows} == {row["group"] for row in one.estimates}


def test_certify_without_tolerance_corrects_the_joint_test():
    joint = certify(ordered(), "selection_rate").details["joint"]
    alone = [certify(at(labels), "selection_rate").details["joint"]["p_value"] for labels in CUTS.values()]
    assert joint["p_value"] == pytest.approx(min(1.0, 2 * min(alone)))
    assert joint["cuts"] == 2


def test_flag_corrects_over_the_cuts():
    found = flag(ordered(favourable="accept"), "selection_rate", correction="holm")
    rows = found.estimates
    assert found.details["tested"] == len(rows) == 6
    p = [row["p_value"] for row in rows]
    np.testing.assert_allclose([row["p_adjusted"] for row in rows], holm_by_hand(p), rtol=1e-12)
    assert {(row["group"], row["cut"]) for row in rows if row["flagged"]} == {("C", name) for name in CUTS}
    assert "comparisons (groups at cuts) flagged" in found.verdict.text
    assert {row["effect"] for row in rows if row["flagged"]} == {"harmed"}


def test_numbers_and_ends():
    for column, order in (("place", [0, 1, 2]), ("half", [0, 0.5, 1])):
        rows = measure(ordered(decision=column, order=order)).estimates
        assert [row["events"] for row in rows] == [row["events"] for row in measure(ordered()).estimates]
    assert (ordered(favourable="accept").favourable, ordered(favourable="reject").favourable) == (1, 0)
    longer = ordered(order=["unseen", "reject", "refer", "between", "accept"])
    assert [name for name, _ in longer.cuts()] == list(CUTS), "labels that nobody has part nobody"


def test_views_and_saved_results():
    for result in (
        measure(ordered()),
        certify(ordered(), "selection_rate", tolerance=0.1),
        flag(ordered(), "selection_rate"),
    ):
        assert type(result).from_dict(result.to_dict()).to_dict() == result.to_dict()
        assert "refer or above" in str(result)
        assert result.reading()
        for picture in result.pictures():
            shown = json.dumps(picture.chart.to_dict())
            assert "refer or above" in shown or "refer_or_above" in shown
        assert any(note.code == "ordered-decision" for note in result.notes)
        assert result.provenance["order"] == BANDS


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: measure(ordered(order=["reject", "accept"])),
            "'order' lacks labels of decision 'band': 'refer'",
        ),
        (
            lambda: measure(ordered(favourable="refer")),
            "an end of the order: 'reject' or 'accept', got 'refer'",
        ),
        (lambda: ordered(order=["reject", "reject"]), "two or more labels of the decision, each once"),
        (lambda: ordered(positive="accept"), "both say which decisions count"),
        (lambda: Audit(FRAME, score="half", threshold=1, order=BANDS), "'order' needs a column of decisions"),
        (lambda: scan(ordered(features="g"), "fpr", protected={"g": "C"}), "'order' is not honoured by scan"),
        (lambda: elfa.certify(ordered(), "selection_rate"), "'order' is not honoured by certify"),
    ],
)
def test_faults(call, said):
    assert said in message(call)


def test_on_the_command_line_and_in_the_file(tmp_path):
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    words = [
        "certify",
        str(tmp_path / "people.csv"),
        "--decision",
        "band",
        "--by",
        "g",
        "--metric",
        "selection_rate",
    ]
    words += [word for label in BANDS for word in ("--order", label)]
    words += ["--tolerance", "0.1", "--json", "-"]
    done = CliRunner().invoke(program, words)
    assert done.exit_code == 0, done.output
    expected = certify(ordered(), "selection_rate", tolerance=0.1)
    assert json.loads(done.output)["verdict"]["text"] == expected.verdict.text
    (tmp_path / "audit.toml").write_text(
        '[data]\nsource = "people.csv"\ndecision = "band"\norder = ["reject", "refer", "accept"]\ngroups = ["g"]\n'
        'favourable = "accept"\n[measure]\n[certify]\nmetric = "selection_rate"\ntolerance = 0.1\n'
    )
    trial = run(tmp_path / "audit.toml", out=tmp_path / "out")
    assert len(trial.results["certify"].estimates) == 6
    report = (tmp_path / "out" / "report.html").read_text()
    assert "refer or above" in report
