"""within=…: the gap among people alike, beside the unadjusted one; who is compared, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import StratifiedTable

from fairtrial import Audit, InputError, certify, flag, measure, read_result
from inside.ground import NotApplicable

STRATA = {"x": (3, 10, 8, 20), "y": (5, 12, 9, 15), "z": (2, 8, 1, 5), "alone": (4, 6, 0, 0)}


def rows_of(strata, times=1):
    rows = []
    for job, (k1, n1, k2, n2) in strata.items():
        for group, k, n in (("a", k1, n1), ("b", k2, n2)):
            rows += [(group, job, 1)] * (k * times) + [(group, job, 0)] * ((n - k) * times)
    return pd.DataFrame(rows, columns=["g", "job", "d"])


def audit_of(strata=None, times=1, **more):
    return Audit(rows_of(strata or STRATA, times), decision="d", groups="g", **more)


def row(result, group="a"):
    return next(line for line in result.estimates if line["group"].endswith(group))


@pytest.mark.parametrize("method", [certify, flag, measure])
def test_published_numbers(method):
    """methods/gaps.md, Numbers: Strata."""
    found = row(method(audit_of(), "selection_rate", target={"g": "b"}, within="job"))
    # of the score alone -0.328227 to 0.129623 and 0.397584 to 1.380373, never sharper than its skewness allows
    expected = (-0.105729, -0.332581, 0.130930, 0.833333)
    names = ("difference", "difference_low", "difference_high", "compared")
    assert [found[name] for name in names] == pytest.approx(expected, abs=5e-7)
    plain = row(method(audit_of(), "selection_rate", target={"g": "b"}))
    beside = [found[f"unadjusted{end}"] for end in ("", "_low", "_high")]
    assert beside == pytest.approx([plain[f"difference{end}"] for end in ("", "_low", "_high")], rel=1e-12)
    assert found["heterogeneity_p"] == pytest.approx(0.773840, abs=1e-6)
    ratio = row(method(audit_of(), "selection_rate", target={"g": "b"}, within=["job"], scale="ratio"))
    expected = (0.761737, 0.384289, 1.388876)
    assert [ratio[name] for name in ("ratio", "ratio_low", "ratio_high")] == pytest.approx(expected, abs=5e-7)
    assert ratio["difference"] == pytest.approx(found["difference"], rel=1e-12)
    assert ratio["unadjusted_ratio"] == pytest.approx(14 / 36 / (18 / 40), rel=1e-12)


def test_no_gap_is_cochran_mantel_haenszel():
    usable = {name: counts for name, counts in STRATA.items() if counts[3]}
    found = row(certify(audit_of(), "selection_rate", target={"g": "b"}, within="job"))
    tables = [np.array([[a, b - a], [c, d - c]], dtype=float) for a, b, c, d in usable.values()]
    plain = StratifiedTable(tables).test_null_odds().pvalue
    assert plain <= found["p_value"] <= 1.001 * plain  # never sharper than the score's skewness allows


def test_simpsons_paradox():
    """Everywhere alike, in sum far apart: who applies where makes the gap."""
    audit = audit_of({"easy": (400, 500, 800, 1000), "hard": (200, 1000, 20, 100)})
    result = certify(audit, "selection_rate", target={"g": "b"}, within="job", tolerance=0.1)
    found = row(result)
    assert result.verdict.code == "certified"
    assert abs(found["difference"]) < 1e-9
    assert found["unadjusted"] < -0.3
    assert "alike in job" in result.verdict.text
    assert "group compared" not in result.verdict.text, "all of them are"
    assert read_result(result.to_dict()).to_dict() == result.to_dict()


def test_who_is_not_compared_is_named():
    result = certify(audit_of(times=5), "selection_rate", target={"g": "b"}, within="job")
    notes = {note.code: note.text for note in result.notes}
    assert "job: alone" in notes["one-sided-strata"]
    assert "within" in notes
    assert "83% or more of a group compared" in result.question


@pytest.mark.parametrize("times", [1, 40], ids=["nothing found", "found"])
@pytest.mark.parametrize("scale", ["difference", "ratio"])
@pytest.mark.parametrize("ask", [certify, flag, measure])
def test_the_share_compared_is_in_every_verdict(ask, scale, times):
    """30 of the 36 of a: the other six have nobody of b in their stratum."""
    result = ask(audit_of(times=times), "selection_rate", target={"g": "b"}, within="job", scale=scale)
    assert "b alike in job (83% or more of a group compared)" in result.verdict.text


def test_of_several_metrics_the_verdict_sends_to_the_table():
    """People of b in a stratum may all lack an outcome of one kind, so that shares differ."""
    data = rows_of({"x": (3, 10, 8, 20), "y": (5, 12, 9, 15)})
    data["y"] = np.where((data["g"] == "b") & (data["job"] == "y"), 1, data.index % 2)
    audit = Audit(data, decision="d", outcome="y", groups="g")
    told = measure(audit, ["tpr", "fpr"], target={"g": "b"}, within="job", minimum=2).verdict.text
    assert "no difference shown from b alike in job (shares compared: see the table)" in told


@pytest.mark.parametrize("tolerance", [None, 0.02])
def test_a_criterion_tells_the_share_of_the_rate_that_compares_the_fewest(tolerance):
    """Half of a's people with outcome 0 are in a stratum without b; of those with outcome 1 all are compared."""
    cells = {
        ("a", "x", 0): 40,
        ("a", "alone", 0): 40,
        ("a", "x", 1): 40,
        ("b", "x", 0): 40,
        ("b", "x", 1): 40,
    }
    rows = [(*cell, number % 2) for cell, many in cells.items() for number in range(many)]
    audit = Audit(pd.DataFrame(rows, columns=["g", "job", "y", "d"]), decision="d", outcome="y", groups="g")
    result = certify(audit, "separation", target={"g": "b"}, within="job", tolerance=tolerance)
    for text in (result.question, result.verdict.text, result.details["target"]):
        assert "b alike in job (50% or more of a group compared)" in text


def test_heterogeneity_is_never_hidden():
    audit = audit_of({"x": (90, 100, 10, 100), "y": (10, 100, 90, 100)})
    result = certify(audit, "selection_rate", target={"g": "b"}, within="job")
    assert row(result)["heterogeneity_p"] < 1e-6
    assert "heterogeneous" in [note.code for note in result.notes]


def test_bins_and_two_columns():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({
        "g": rng.choice(["a", "b", "c"], 900), "d": rng.integers(0, 2, 900), "age": rng.uniform(18, 70, 900),
        "job": rng.choice(["x", "y"], 900),
    })  # fmt: skip
    audit = Audit(frame, decision="d", groups="g", bins={"age": [30, 50]})
    result = certify(audit, "selection_rate", within=["job", "age"])
    assert result.details["within"] == ["job", "age"]
    assert all(line["compared"] == 1 for line in result.estimates)
    assert len(flag(audit, "selection_rate", within=["job", "age"], depth=1).estimates) == 3
    with pytest.raises(InputError, match="'within' names 'age', which holds"):
        certify(Audit(frame, decision="d", groups="g"), "selection_rate", within="age")


@pytest.mark.parametrize(
    ("roles", "arguments", "message"),
    [
        ({}, {"target": 0.4}, "compares people with others who are alike"),
        ({}, {"target": "overall"}, "compares people with others who are alike"),
        ({"weight": "w"}, {"adjustment": "model"}, "by a model is not for weighted rows"),
    ],
)
def test_what_is_refused(roles, arguments, message):
    frame = rows_of(STRATA, 3).assign(w=np.arange(228) % 3 + 1.0)
    with pytest.raises(NotApplicable, match=message):
        certify(Audit(frame, decision="d", groups="g", **roles), "selection_rate", within="job", **arguments)


def test_what_is_measured_is_not_adjusted_for():
    """People alike in the decision have no gap in it, which would pass for a finding that there is none."""
    data = rows_of(STRATA).assign(y=lambda rows: rows.index % 2, s=lambda rows: rows.index % 5)
    decided = Audit(data, decision="d", outcome="y", groups="g")
    scored = Audit(data, score="s", threshold=2, outcome="y", groups="g")
    for ask in (measure, certify, flag):
        with pytest.raises(NotApplicable, match="names 'd', of which selection rate is made"):
            ask(decided, "selection_rate", within=["job", "d"])
    with pytest.raises(NotApplicable, match="names 's', of which selection rate is made"):
        certify(scored, "selection_rate", within="s", minimum=2)
    with pytest.raises(NotApplicable, match="names 'd' and 'y', of which accuracy is made"):
        certify(decided, "accuracy", within=["d", "y"], minimum=2)
    assert certify(decided, "accuracy", within="y", minimum=2).estimates, "the outcome alone decides nothing"


def test_groups_cannot_be_their_own_strata():
    with pytest.raises(InputError, match="'within' names 'g', whose groups are compared"):
        certify(audit_of(), "selection_rate", within="g")
