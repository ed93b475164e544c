"""Outcomes known for some: bounds over all that is possible, odds bounds, and how many labels would settle it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.oracles.unknown_outcomes import gap_range, half_count_error, imbens_manski
from typer.testing import CliRunner

import fairtrial as ft
from fairtrial import METRICS, InputError, read_result
from inside.cli import program
from inside.gaps import outcome_bounds_DEPENDS as DEPENDS
from inside.gaps import range_words
from inside.ground import NotApplicable
from inside.inference import Comparison, PartlyLabelled, TwoRateLaw, TwoRates, label_gaps
from inside.methods import declared_methods

RATES = ("fpr", "tpr", "fnr", "ppv", "for", "accuracy", "base_rate")
Counts = dict[tuple[str, int], tuple[int, int, int]]  # by group and decision: outcome 1, outcome 0, unknown
PAGE: Counts = {("a", 0): (6, 20, 14), ("a", 1): (18, 9, 3), ("b", 0): (10, 50, 10), ("b", 1): (40, 20, 0)}


def frame_of(counts: Counts) -> pd.DataFrame:
    rows = [
        {"g": group, "d": decision, "y": outcome}
        for (group, decision), sizes in counts.items()
        for outcome, size in zip((1.0, 0.0, np.nan), sizes, strict=True)
        for _ in range(size)
    ]
    return pd.DataFrame(rows)


def audit_of(frame: pd.DataFrame, unlabelled: Any = "bounds", **more: Any) -> ft.Audit:
    return ft.Audit(
        frame, **{"decision": "d", "outcome": "y", "groups": "g", "unlabelled": unlabelled, **more}
    )


def lending(n: int = 4000, seed: int = 1, bias: float = 0.0) -> pd.DataFrame:
    """The repaid are known for the approved; what the refused would have done stands in `truth`."""
    random = np.random.default_rng(seed)
    sex = random.choice(["F", "M"], n)
    able = random.normal(0, 1, n)
    truth = (random.random(n) < 1 / (1 + np.exp(-0.5 - 1.5 * able))).astype(float)
    approved = (able + random.normal(0, 0.5, n) > -0.8 + bias * (sex == "F")).astype(int)
    return pd.DataFrame(
        {"g": sex, "d": approved, "y": np.where(approved == 1, truth, np.nan), "truth": truth}
    )


# -- golden numbers of the method page -----------------------------------------------------------------------------
def page_evidence(odds: float = np.inf) -> tuple[PartlyLabelled, Comparison]:
    columns = np.array(list(PAGE.values()), dtype=float).T
    fpr = [np.array(part, dtype=float) for part in ((0, 0, 0, 0), (0, 0, 0, 0), (0, 1, 0, 1), (1, 1, 1, 1))]
    labels = PartlyLabelled(np.array([0, 0, 1, 1]), *columns, *fpr, odds)
    return labels, Comparison(np.array([[True, False]]), np.array([[False, True]]))


def test_golden_numbers_of_the_method_page() -> None:
    labels, comparison = page_evidence()
    gaps = label_gaps(labels, comparison)
    assert gaps.least.estimate[0] == pytest.approx(-0.076412, abs=1e-6)
    assert gaps.most.estimate[0] == pytest.approx(0.125, abs=1e-12)
    # the page has the plain score's limits; ours are never inside them (skewness and likelihood may be wider)
    level = 2 * stats.norm.cdf(gaps.critical(0.95)) - 1
    ends = [TwoRates(*np.array([table], dtype=float).T) for table in ((9, 43, 20, 70), (12, 32, 20, 80))]
    low = TwoRateLaw(ends[0], "difference", "score").limits(level)[0][0]
    high = TwoRateLaw(ends[1], "difference", "score").limits(level)[1][0]
    assert (low, high) == pytest.approx((-0.206556, 0.289672), abs=1e-6)
    ours = gaps.limits(0.95)
    assert ours[0][0] <= low
    assert ours[1][0] >= high
    odds, comparison = page_evidence(2.0)
    rates = [float(odds.end(comparison.member, most=most).rate[0]) for most in (False, True)]
    assert rates == pytest.approx([0.230541, 0.269142], abs=1e-6)


def test_the_same_through_the_public_functions() -> None:
    audit = audit_of(frame_of(PAGE))
    row = next(row for row in ft.certify(audit, "fpr", tolerance=0.05).estimates if row["group"] == "a")
    assert (row["difference_least"], row["difference_most"]) == pytest.approx((-0.0764120, 0.125))
    assert row["difference"]["reason"] == DEPENDS
    assert row["unknown"] == 17
    flagged = next(row for row in ft.flag(audit, "fpr").estimates if row["group"] == "a")
    measured = next(row for row in ft.measure(audit, "fpr").estimates if row["group"] == "a")
    for name in ("difference_low", "difference_high", "difference_least", "difference_most", "n", "unknown"):
        assert row[name] == flagged[name] == measured[name]
    odds = ft.measure(audit_of(frame_of(PAGE), {"odds": 2}), "fpr").estimates[0]
    assert (odds["rate_least"], odds["rate_most"]) == pytest.approx((0.230541, 0.269142), abs=1e-6)


# -- against every completion --------------------------------------------------------------------------------------
@pytest.mark.parametrize("metric", RATES)
@pytest.mark.parametrize("seed", range(4))
def test_bounds_are_those_of_every_completion(metric: str, seed: int) -> None:
    random = np.random.default_rng([seed, 7])
    counts: Counts = {
        (group, decision): (*(int(k) for k in random.integers(1, 4, 2)), int(random.integers(0, 4)))  # type: ignore[misc]
        for group in "ab"
        for decision in (0, 1)
    }
    people = [
        (int(group == "a"), decision, outcome)
        for (group, decision), sizes in counts.items()
        for outcome, size in zip((1, 0, None), sizes, strict=True)
        for _ in range(size)
    ]
    row = ft.measure(audit_of(frame_of(counts)), metric, minimum=1).estimates[0]
    expected = gap_range(metric, people)
    if row["difference_least"] is None:  # nobody's unknown outcome matters to this metric
        assert expected[0] == pytest.approx(expected[1])
        assert row["difference"] == pytest.approx(expected[0])
    else:
        assert (row["difference_least"], row["difference_most"]) == pytest.approx(expected)


def test_limits_solve_imbens_and_manskis_equation() -> None:
    gaps = label_gaps(*page_evidence())
    error = max(half_count_error([(9, 43), (20, 70)]), half_count_error([(12, 32), (20, 80)]))
    width = (0.125 + 0.0764119601) / error
    assert gaps.critical(0.95)[0] == pytest.approx(imbens_manski(width, 0.95), abs=1e-8)


def test_p_values_and_limits_agree() -> None:
    counts: Counts = {
        ("a", 0): (20, 60, 3),
        ("a", 1): (90, 70, 0),
        ("b", 0): (30, 150, 4),
        ("b", 1): (40, 20, 0),
    }
    row = ft.measure(audit_of(frame_of(counts)), "fpr").estimates[0]
    gaps = label_gaps(
        PartlyLabelled(np.array([0, 0, 1, 1]), *np.array(list(counts.values()), dtype=float).T,
                       *[np.array(part, dtype=float) for part in ((0,) * 4, (0,) * 4, (0, 1, 0, 1), (1,) * 4)]),
        Comparison(np.array([[True, False]]), np.array([[False, True]])),
    )  # fmt: skip
    low = gaps.limits(1 - row["p_value"])[0]
    assert low[0] == pytest.approx(0, abs=2e-4)
    assert row["state"] == "violated"


def test_with_every_outcome_known_nothing_changes() -> None:
    frame = lending().drop(columns="y").rename(columns={"truth": "y"})
    for metric in ("tpr", "accuracy", "selection_rate"):
        plain = ft.certify(ft.Audit(frame, decision="d", outcome="y", groups="g"), metric, tolerance=0.05)
        bounded = ft.certify(audit_of(frame), metric, tolerance=0.05)
        assert bounded.estimates == plain.estimates
        assert bounded.verdict == plain.verdict


@pytest.mark.filterwarnings("ignore:Every decision is 1")
def test_what_does_not_need_an_unknown_outcome_has_its_ordinary_answer() -> None:
    frame = lending()
    approved = frame[frame["d"] == 1]
    plain = ft.measure(ft.Audit(approved, decision="d", outcome="y", groups="g"), "ppv")
    bounded = ft.measure(audit_of(frame), "ppv")
    assert [row["difference"] for row in bounded.estimates] == [row["difference"] for row in plain.estimates]
    assert ft.certify(audit_of(frame), "selection_rate", tolerance=0.1).verdict.code == "certified"


def test_bounds_hold_the_truth_that_the_labelled_miss() -> None:
    frame = lending(bias=0.6)
    truth = frame[frame["truth"] == 1].groupby("g")["d"].mean()
    row = ft.measure(audit_of(frame), "tpr").estimates[0]
    assert row["difference_least"] < truth["F"] - truth["M"] < row["difference_most"]
    with pytest.raises(NotApplicable, match="unlabelled='bounds'"):
        ft.certify(ft.Audit(frame, decision="d", outcome="y", groups="g", missing="drop"), "tpr")


# -- verdicts --------------------------------------------------------------------------------------------------------
def test_violated_and_certified_only_over_the_whole_set() -> None:
    few: Counts = {
        ("a", 0): (10, 300, 5),
        ("a", 1): (200, 300, 0),
        ("b", 0): (10, 600, 5),
        ("b", 1): (200, 60, 0),
    }
    violated = ft.certify(audit_of(frame_of(few)), "fpr", tolerance=0.05)
    assert violated.verdict.code == "violated"
    assert "whatever the unknown outcomes are" in violated.verdict.text
    alike: Counts = {
        ("a", 0): (100, 900, 5),
        ("a", 1): (500, 500, 5),
        ("b", 0): (100, 900, 5),
        ("b", 1): (500, 500, 5),
    }
    certified = ft.certify(audit_of(frame_of(alike)), "fpr", tolerance=0.08)
    assert certified.verdict.code == "certified"
    claims = {claim.who: claim for claim in violated.claims()}
    assert claims["g: a"].direction == "above"
    assert claims["g: a"].verdict == "found"


def test_undetermined_says_why_and_how_many_labels_would_settle_it() -> None:
    result = ft.certify(audit_of(lending()), "tpr", tolerance=0.05)
    assert result.verdict.code == "undetermined"
    assert result.verdict.text.startswith(f"undetermined: {DEPENDS}: ")
    needed = result.estimates[0]["labels_needed"]
    assert f"label about {needed:,} of the" in result.verdict.text
    assert all(row["state_reason"] == DEPENDS for row in result.estimates)
    assert read_result(json.loads(json.dumps(result.to_dict()))).to_dict() == result.to_dict()


@pytest.mark.slow
def test_as_many_labels_as_are_said_settle_it() -> None:
    """The audit is asked again after as many of the refused, drawn at random, were labelled: 80% of the time certified.

    60 draws of one population without a gap: fewer than 38 certified would happen once in 1,000 at 80%.
    """
    random = np.random.default_rng(20)
    n = 6000
    frame = pd.DataFrame({"g": np.repeat(["F", "M"], n // 2)})
    frame["d"] = np.tile(np.repeat([1, 0], [1800, 1200]), 2)
    one = np.tile(np.concatenate([np.arange(1800) < 1440, np.arange(1200) < 600]), 2)
    frame["truth"] = one.astype(float)
    frame["y"] = frame["truth"].where(frame["d"] == 1)
    needed = ft.certify(audit_of(frame), "tpr", tolerance=0.05).estimates[0]["labels_needed"]
    settled = 0
    for _ in range(60):
        people = frame.sample(n, replace=True, random_state=random)
        refused = people.index[people["d"] == 0]
        followed = random.choice(np.flatnonzero(people["d"].to_numpy() == 0), needed, replace=False)
        known = people["y"].to_numpy().copy()
        known[followed] = people["truth"].to_numpy()[followed]
        assert len(refused) > needed
        asked = audit_of(people.assign(y=known), {"odds": 1})
        settled += ft.certify(asked, "tpr", tolerance=0.05).verdict.code == "certified"
    assert 38 <= settled <= 59


def test_odds_tighten_the_bounds_and_alike_people_count() -> None:
    random = np.random.default_rng(3)
    frame = lending().assign(region=random.choice(["n", "s"], 4000))
    frame["y"] = frame["y"].where(frame["y"].notna() | (random.random(4000) < 0.5), frame["truth"])
    widths = []
    for unlabelled in ("bounds", {"odds": 4}, {"odds": 2, "alike": "region"}, {"odds": 1}):
        row = ft.measure(audit_of(frame, unlabelled), "tpr").estimates[0]
        widths.append(row["difference_most"] - row["difference_least"])
    assert widths[0] > widths[1] > widths[2] > widths[3]
    assert widths[3] == pytest.approx(0, abs=1e-12)


def test_without_anybody_alike_nothing_is_assumed() -> None:
    frame = lending()
    plain, odds = (ft.measure(audit_of(frame, asked), "tpr") for asked in ("bounds", {"odds": 2}))
    for name in ("difference_least", "difference_most"):
        assert odds.estimates[0][name] == pytest.approx(plain.estimates[0][name])
    assert any("without anybody labelled alike nothing is assumed" in note.text for note in odds.notes)


def test_ratios_and_known_targets() -> None:
    audit = audit_of(frame_of(PAGE))
    row = ft.certify(audit, "fpr", scale="ratio", tolerance=0.8, target={"g": "b"}).estimates[0]
    assert (row["ratio_least"], row["ratio_most"]) == pytest.approx(
        ((9 / 43) / (20 / 70), (12 / 32) / (20 / 80))
    )
    assert row["ratio_low"] < row["ratio_least"] < row["ratio_most"] < row["ratio_high"]
    known = ft.certify(audit, "fpr", target=0.2, tolerance=0.05).estimates[0]
    assert (known["difference_least"], known["difference_most"]) == pytest.approx(
        (9 / 43 - 0.2, 12 / 32 - 0.2)
    )


def test_one_sided_and_flags() -> None:
    few: Counts = {
        ("a", 0): (10, 300, 5),
        ("a", 1): (200, 300, 0),
        ("b", 0): (10, 600, 5),
        ("b", 1): (200, 60, 0),
    }
    audit = audit_of(frame_of(few), favourable=0)
    flagged = ft.flag(audit, "fpr", tolerance=0.05, direction="above")
    assert [row["group"] for row in flagged.estimates if row["flagged"]] == ["a"]
    assert "harmed" in flagged.verdict.text
    assert ft.certify(audit, "fpr", tolerance=0.05, direction="below").estimates[0]["state"] == "certified"


# -- refusals and faults -----------------------------------------------------------------------------------------------
def refused(audit: ft.Audit, match: str, method: Any = ft.certify, **more: Any) -> None:
    with pytest.raises(NotApplicable, match=match):
        method(audit, more.pop("metric", "fpr"), **more)


def test_what_cannot_be_bounded_is_refused_by_name() -> None:
    frame = frame_of(PAGE).assign(w=1.0, k=0, s=0.5)
    audit = audit_of(frame)
    refused(audit, "'overall' contains the group itself", target="overall")
    refused(audit, "'within'", within="k")
    refused(audit, "'unlabelled'", ft.papers.elfa.certify)
    refused(audit, "'unlabelled'", ft.papers.elfa.certify, vector=[0.0, 0.0])
    refused(audit, "shares nobody", by={"g": ["a", "b"]}, target={"g": "a"})
    refused(audit_of(frame, weight="w"), "'weight'")
    refused(audit_of(frame, score="s"), "averages real values", metric="brier")
    refused(audit_of(frame.assign(y=frame["y"] * 3.5)), "real-valued", metric="base_rate")


def test_other_methods_refuse_it_by_name() -> None:
    audit = audit_of(frame_of(PAGE))
    for name, found in declared_methods().items():
        if not found.takes_audit or name in ("measure", "certify", "flag", "improve"):
            continue
        required = {
            argument.name: {"protected": {"g": "a"}, "period": "d"}.get(
                argument.name, argument.choices[0] if argument.choices else "fpr"
            )
            for argument in found.arguments
            if argument.required
        }
        with pytest.raises(InputError, match="'unlabelled' is not honoured"):
            found.function(**{"audit": audit, **required})


@pytest.mark.parametrize(
    ("unlabelled", "match"),
    [
        ("bound", "'unlabelled' must be"),
        ({"odds": 0.5}, "at least 1"),
        ({"alike": ["g"]}, "needs 'odds'"),
        ({"odds": 2, "like": "g"}, "not 'like'"),
        ({"odds": 2, "alike": ["nope"]}, "unknown column 'nope'"),
    ],
)  # fmt: skip
def test_faults_of_the_declaration(unlabelled: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        audit_of(frame_of(PAGE), unlabelled)


def test_an_outcome_is_needed() -> None:
    with pytest.raises(InputError, match="names no outcome"):
        ft.Audit(frame_of(PAGE), decision="d", groups="g", unlabelled="bounds")


def test_rows_that_lack_something_else_are_still_left_out() -> None:
    frame = frame_of(PAGE)
    frame["d"] = frame["d"].astype(float)
    frame.loc[6:25, "d"] = np.nan  # twenty with outcome 0
    with pytest.raises(InputError, match="missing"):
        ft.measure(audit_of(frame), "fpr")
    result = ft.measure(audit_of(frame, missing="drop"), "fpr")
    assert result.details["left_out"][0]["lacking"] == 20


def test_the_fingerprint_knows_which_outcomes_are_known() -> None:
    other = {**PAGE, ("a", 0): (7, 20, 13)}
    results = [ft.measure(audit_of(frame_of(counts)), "fpr") for counts in (PAGE, other)]
    assert results[0].provenance["data"] != results[1].provenance["data"]
    assert results[0].provenance["unlabelled"] == "bounds"


# -- front ends and views
def test_the_command_line(tmp_path: Any) -> None:
    path = tmp_path / "people.csv"
    frame_of(PAGE).to_csv(path, index=False)
    options = ["--metric", "fpr", "--outcome", "y", "--decision", "d", "--by", "g", "--tolerance", "0.05"]
    done = CliRunner().invoke(program, ["certify", str(path), *options, "--unlabelled", "bounds"])
    assert done.exit_code == 0, done.output
    assert DEPENDS in " ".join(done.output.split())
    done = CliRunner().invoke(program, ["certify", str(path), *options, "--unlabelled", "odds=2,alike=nope"])
    assert "--unlabelled names the unknown column 'nope'" in str(done.exception)


@pytest.mark.slow
def test_a_trial_with_its_report(tmp_path: Any) -> None:
    spec = {
        "data": {"decision": "d", "outcome": "y", "groups": ["g"], "unlabelled": {"odds": 3}},
        "measure": {"metric": ["tpr", "selection_rate"]},
        "certify": {"metric": "tpr", "tolerance": 0.05},
        "flag": {"metric": "accuracy"},
    }
    trial = ft.run(spec, data=lending(), out=tmp_path / "report")
    page = (tmp_path / "report" / "report.html").read_text()
    assert DEPENDS in page
    assert trial.verdict.code != "certified"


def test_charts_mark_both_ends() -> None:
    audit = audit_of(frame_of(PAGE))
    for result in (ft.measure(audit, "fpr"), ft.certify(audit, "fpr", tolerance=0.05), ft.flag(audit, "fpr")):
        assert "0.125" in json.dumps(result.pictures()[-1 if result.kind == "measure" else 0].chart.to_dict())


def test_words() -> None:
    assert range_words(0.031, 0.12, "B", "points") == "3.1 to 12.0 points above B"
    assert range_words(-0.12, -0.031, "B", "points") == "3.1 to 12.0 points below B"
    assert range_words(-0.02, 0.01, "B", "points") == "2.0 points below to 1.0 points above B"
    assert range_words(0.5, 1.2, "B", "ratio") == "0.50 to 1.20 times that of B"
    assert all(metric in METRICS for metric in RATES)


@pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")
def test_improve_takes_what_the_audit_says() -> None:
    frame = lending(n=600).assign(rule=lambda people: 1 - people["d"])
    asked = {
        "keep": "accuracy",
        "metric": "selection_rate",
        "candidates": {"fixed": "rule"},
    }
    plain = ft.improve(audit_of(frame, None, missing="drop"), **asked, reject_inference="bounds")
    told = ft.improve(audit_of(frame), **asked)
    assert told.details["unlabelled"]["unknown"] == int(frame["y"].isna().sum())
    assert told.estimates == plain.estimates
