"""Groups known with a probability: bounds first, two answers with their assumptions, never a threshold."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.oracles.probable_groups import dual_gap, gap_ends, weighted_gap
from typer.testing import CliRunner

import fairtrial as ft
from fairtrial import InputError, read_result
from inside.cli import program
from inside.gaps import DEPENDS, DUAL, WEIGHTED
from inside.ground import NotApplicable
from inside.inference import ProbableRows, halves, proxy_cells
from inside.methods import declared_methods

RACE = {"White": "p_white", "Black": "p_black", "Other": "p_other"}
WHITE = {"race": "White"}


def applicants(n: int = 3000, seed: int = 2, sure: float = 0.5) -> pd.DataFrame:
    """Selection depends on the group: 60% of White, 30% of Black, 45% of others."""
    random = np.random.default_rng(seed)
    weights = random.dirichlet([sure] * 3, n)
    group = (random.random(n)[:, None] > np.cumsum(weights, axis=1)).sum(axis=1).clip(0, 2)
    selected = random.random(n) < np.array([0.6, 0.3, 0.45])[group]
    columns = dict(zip(RACE.values(), weights.T, strict=True))
    return pd.DataFrame({"d": selected.astype(int), **columns, "sex": random.choice(["F", "M"], n)})


def audit_of(frame: pd.DataFrame, **more: Any) -> ft.Audit:
    return ft.Audit(frame, **{"decision": "d", "groups": {"race": RACE}, "favourable": 1, **more})


def rows_of(frame: pd.DataFrame) -> ProbableRows:
    return ProbableRows(frame["d"].to_numpy(float), frame[list(RACE.values())].to_numpy(), halves(len(frame)))


# -- numbers
def test_golden_numbers_of_the_method_page() -> None:
    p = np.array([0.9, 0.8, 0.7, 0.4, 0.3, 0.2, 0.1, 0.1])
    value = np.array([1.0, 0, 1, 1, 0, 0, 1, 0])
    cell = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    rows = ProbableRows(value, np.c_[p, 1 - p], np.ones(8, dtype=bool))
    first, second = np.array([True, False]), np.array([False, True])
    assert rows.weighted(first).minus(rows.weighted(second)).value == pytest.approx(0.177778, abs=1e-6)
    one, other = rows.dual(first), rows.dual(second)
    assert one is not None
    assert other is not None
    assert one.minus(other).value == pytest.approx(0.486957, abs=1e-6)
    least = rows.end(p, cell, most=False).minus(rows.end(1 - p, cell, most=True)).value
    most = rows.end(p, cell, most=True).minus(rows.end(1 - p, cell, most=False)).value
    assert (least, most) == pytest.approx((-0.177778, 0.685714), abs=1e-6)
    assert gap_ends(np.c_[p, 1 - p], value, cell, 0, 1) == pytest.approx((least, most))


@pytest.mark.parametrize("seed", range(5))
def test_bounds_are_those_of_a_linear_programme(seed: int) -> None:
    frame = applicants(200, seed)
    rows = rows_of(frame)
    everyone = ProbableRows(rows.value, rows.weights, np.ones(200, dtype=bool))
    cell = proxy_cells(rows.weights[:, 1], rows.weights[:, 0])
    own, other = rows.weights[:, 1], rows.weights[:, 0]
    least = everyone.end(own, cell, most=False).minus(everyone.end(other, cell, most=True)).value
    most = everyone.end(own, cell, most=True).minus(everyone.end(other, cell, most=False)).value
    assert (least, most) == pytest.approx(gap_ends(rows.weights, rows.value, cell, 1, 0))


def test_weighted_and_dual_are_averages_and_least_squares() -> None:
    frame = applicants()
    rows = rows_of(frame)
    row = ft.certify(audit_of(frame), "selection_rate", target=WHITE, tolerance=0.05).estimates[0]
    assert row["group"] == "Black"
    assert row["weighted"] == pytest.approx(weighted_gap(rows.weights, rows.value, 1, 0))
    assert row["dual"] == pytest.approx(dual_gap(rows.weights, rows.value, 1, 0))
    assert row["weighted_low"] < row["weighted"] < row["weighted_high"]
    assert row["dual_low"] < -0.3 < row["dual_high"]  # selection depends on the group alone: dual is right
    assert not row["weighted_low"] < -0.3 < row["weighted_high"]
    assert row["difference_low"] < row["difference_least"] < -0.3 < row["difference_most"]


def test_errors_are_those_of_repeats() -> None:
    """Standard errors against the spread over 200 draws, within a fifth."""
    found: dict[str, list[tuple[float, float]]] = {"weighted": [], "dual": [], "most": []}
    group, target = np.array([False, True, False]), np.array([True, False, False])
    for seed in range(200):
        rows = rows_of(applicants(400, seed))
        duals = rows.dual(group), rows.dual(target)
        assert duals[0] is not None
        assert duals[1] is not None
        answers = {
            "weighted": rows.weighted(group).minus(rows.weighted(target)),
            "dual": duals[0].minus(duals[1]),
            "most": rows.ends(group, target)[1],
        }
        for name, answer in answers.items():
            found[name].append((answer.value, answer.error))
    for name, pairs in found.items():
        values, errors = np.array(pairs).T
        assert errors.mean() / values.std() == pytest.approx(1.0, abs=0.2), name


def test_sure_probabilities_are_labels() -> None:
    frame = applicants(sure=0.001)
    labels = frame[list(RACE.values())].to_numpy().argmax(axis=1)
    sure = frame.assign(**{column: (labels == i) * 1.0 for i, column in enumerate(RACE.values())})
    row = ft.measure(audit_of(sure), target=WHITE).estimates[1]
    known = frame.groupby(labels)["d"].mean()
    assert row["weighted"] == pytest.approx(row["dual"]) == pytest.approx(known[1] - known[0])
    assert (
        ft.certify(audit_of(sure), "selection_rate", target=WHITE, tolerance=0.05).verdict.code == "violated"
    )


# -- verdicts and words
def test_bounds_lead_and_every_answer_says_what_it_assumes() -> None:
    result = ft.certify(audit_of(applicants()), "selection_rate", target=WHITE, tolerance=0.05)
    text = result.verdict.text
    assert text.startswith(f"undetermined: {DEPENDS}: ")
    assert text.index("whoever belongs to the groups") < text.index(WEIGHTED) < text.index(DUAL)
    assert "truth need not lie between" in " ".join(note.text for note in result.notes)
    assert all(row["difference"]["reason"] == DEPENDS for row in result.estimates)
    assert read_result(json.loads(json.dumps(result.to_dict()))).to_dict() == result.to_dict()
    assert [claim.verdict for claim in result.claims()] == ["undetermined", "undetermined"]


def test_targets() -> None:
    audit = audit_of(applicants())
    for target in ("rest", "overall", 0.5, WHITE, {"race": ["White", "Other"]}):
        asked = {"by": {"race": "Black"}} if isinstance(target, dict) else {}
        rows = ft.measure(audit, target=target, **asked).estimates
        tested = [row for row in rows if row["difference_least"] is not None]
        assert tested
        for row in tested:
            assert row["difference_least"] <= row["difference_most"]
            assert row["difference_low"] <= row["difference_least"]


def test_metrics_with_conditions_and_left_out_rows() -> None:
    frame = applicants().assign(y=lambda people: 1 - people["d"])
    frame.loc[frame.index % 7 == 0, "y"] = 1
    frame.loc[:59, "p_black"] = np.nan
    with pytest.raises(InputError, match="'p_black' is missing in 60 rows"):
        ft.measure(audit_of(frame, outcome="y"), "tpr")
    result = ft.measure(audit_of(frame, outcome="y", missing="drop"), ["tpr", "selection_rate"])
    assert {entry["metric"]: entry["ungrouped"] for entry in result.details["left_out"]} == {
        "tpr": 60, "selection_rate": 60,
    }  # fmt: skip


def test_probabilities_that_nearly_sum_to_one_are_divided_and_said() -> None:
    frame = applicants()
    near = frame.assign(p_other=0.995 * frame["p_other"])
    notes = {note.code for note in ft.measure(audit_of(near)).notes}
    assert "divided" in notes


# -- faults and refusals
@pytest.mark.parametrize(
    ("groups", "match"),
    [
        ({"race": {"White": "p_white"}}, "two groups or more"),
        ({"race": {"White": "p_white", "Black": "nope"}}, "unknown column 'nope'"),
        ({"race": {"White": "p_white", "Black": "p_white"}}, "name a column twice"),
        ({"sex": {"White": "p_white", "Black": "p_black"}}, "'sex' is also a column"),
        ({"race": "p_white"}, "must pair an attribute"),
    ],
)  # fmt: skip
def test_faults_of_the_declaration(groups: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        audit_of(applicants(50), groups=groups)


def test_faults_of_the_probabilities_come_before_any_work() -> None:
    frame = applicants(100)
    for change, match in (
        ({"p_black": frame["p_black"] - 1}, "'p_black' must hold probabilities between 0 and 1"),
        ({"p_black": frame["p_black"] / 2}, "must sum to 1 in every row"),
        ({"p_black": "high"}, "must hold numbers"),
    ):
        with pytest.raises(InputError, match=match):
            audit_of(frame.assign(**change)).check()


def refused(match: str, method: Any = ft.certify, audit: ft.Audit | None = None, **asked: Any) -> None:
    with pytest.raises(NotApplicable, match=match):
        method(audit or audit_of(applicants(200)), asked.pop("metric", "selection_rate"), **asked)


def test_what_cannot_be_said_is_refused_by_name() -> None:
    refused("compared alone", by=["race", "sex"])
    refused("'scale'", scale="ratio")
    refused("'within'", within="sex")
    refused("known only with a probability|'probable'|each person's group", method=ft.papers.elfa.certify)
    refused("shares nobody", target={"race": ["White", "Black"]})
    frame = applicants(200).assign(w=1.0, s=0.3)
    refused("'weight'", audit=audit_of(frame, weight="w"))
    refused("averages real values", audit=audit_of(frame, score="s"), metric="mean_score")
    with pytest.raises(InputError, match="known with a probability yet"):
        audit_of(frame.assign(y=1), outcome="y", unlabelled="bounds")


def test_other_methods_refuse_them_by_name() -> None:
    audit = audit_of(applicants(200))
    for name, found in declared_methods().items():
        if not found.takes_audit or name in ("measure", "certify", "flag"):
            continue
        required = {
            argument.name: {"protected": {"race": "Black"}, "period": "d"}.get(
                argument.name, argument.choices[0] if argument.choices else "selection_rate"
            )
            for argument in found.arguments
            if argument.required
        }
        with pytest.raises(InputError, match="known with a probability are not honoured"):
            found.function(**{"audit": audit, **required})


# -- front ends
def test_the_command_line(tmp_path: Any) -> None:
    path = tmp_path / "people.csv"
    applicants().to_csv(path, index=False)
    asked = ["certify", str(path), "--decision", "d", "--metric", "selection_rate", "--tolerance", "0.05"]
    by = ["--by", "race: White=p_white, Black=p_black, Other=p_other", "--target", "race=White"]
    done = CliRunner().invoke(program, [*asked, *by])
    assert done.exit_code == 0, done.output
    assert DEPENDS in " ".join(done.output.split())


@pytest.mark.slow
def test_the_audit_file_with_its_report(tmp_path: Any) -> None:
    applicants().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "audit.toml").write_text(
        """
[data]
source = "people.csv"
decision = "d"
[data.groups.race]
White = "p_white"
Black = "p_black"
Other = "p_other"
[measure]
metric = ["selection_rate"]
[certify]
metric = "selection_rate"
target = { race = "White" }
tolerance = 0.05
[flag]
metric = "selection_rate"
""",
        encoding="utf-8",
    )
    trial = ft.run(tmp_path / "audit.toml", out=tmp_path / "report")
    assert trial.complete
    assert DEPENDS in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")


def test_provenance_and_fingerprint() -> None:
    frame = applicants()
    one, other = (
        ft.measure(audit_of(people)) for people in (frame, frame.assign(p_white=frame["p_white"].round(3)))
    )
    assert one.provenance["probable"] == {"race": RACE}
    assert one.provenance["data"] != other.provenance["data"]
