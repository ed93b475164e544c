"""The field's own tables: every number is one that can be worked out by hand, and is worked out here another way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import StratifiedTable
from typer.testing import CliRunner

import fairtrial as ft
from fairtrial import InputError
from inside.cli import program
from inside.ground import NotApplicable
from inside.inference import TwoRates, exact_p, given_margins, odds_limits, odds_ratio, pooled
from inside.methods import find_method
from inside.tabulate import TABLES


def people(counts: dict[str, tuple[int, int]], column: str = "race") -> pd.DataFrame:
    """From (selected, all) per group."""
    rows = [(label, int(i < chosen)) for label, (chosen, everyone) in counts.items() for i in range(everyone)]
    return pd.DataFrame(rows, columns=[column, "d"])


def rows_of(result: Any, **wanted: Any) -> dict[str, dict[str, Any]]:
    return {
        row["group"]: row
        for row in result.estimates
        if all(row.get(key) == value for key, value in wanted.items())
    }


def strata(*tables: tuple[int, int, int, int]) -> TwoRates:
    return TwoRates(*(np.array(column, dtype=float) for column in zip(*tables, strict=True)))


# -- employment: the rule's own example ---------------------------------------------------------------------------
# 6 RCNY § 5-301, the example of scored applicants: people, printed scoring rate in percent, printed impact ratio.
RULE = {
    "sex": {"Male": (50, 92, 54.3, 1.00), "Female": (34, 76, 44.7, 0.82)},
    "race": {
        "Hispanic or Latino": (18, 28, 64.2, 1.00),
        "White": (15, 40, 37.5, 0.58),
        "Black or African American": (16, 32, 50.0, 0.78),
        "Native Hawaiian or Pacific Islander": (5, 8, 62.5, 0.97),
        "Asian": (10, 24, 41.7, 0.65),
    },
}


@pytest.mark.parametrize("attribute", RULE)
def test_local_law_144_as_its_rule_prints_it(attribute: str) -> None:
    """The rule prints two or three digits and cuts some (18/28 is 64.29%), so that half of the last one is open."""
    example = RULE[attribute]
    frame = people({name: (k, n) for name, (k, n, *_) in example.items()}, attribute)
    result = ft.tabulate(ft.Audit(frame, decision="d", groups=attribute), "local-law-144")
    found = rows_of(result, metric="selection_rate")
    assert set(found) == set(example)
    for name, (chosen, everyone, rate, ratio) in example.items():
        row = found[name]
        assert (row["n"], row["events"]) == (everyone, chosen)
        assert row["rate"] == pytest.approx(rate / 100, abs=0.001)
        assert row["impact_ratio"] == pytest.approx(ratio, abs=0.005)
        assert row["impact_ratio_low"] <= row["impact_ratio"] <= row["impact_ratio_high"]
    assert rows_of(result)["(unknown)"]["n"] == 0


def applicants() -> pd.DataFrame:
    """Two attributes, both unknown for one person, and one tool's score beside the decision."""
    random = np.random.default_rng(3)
    n = 800
    frame = pd.DataFrame(
        {
            "race": random.choice(["A", "B", "C"], n, p=[0.5, 0.485, 0.015]),
            "sex": random.choice(["F", "M"], n),
        }
    )
    frame["score"] = random.integers(0, 40, n)
    frame["d"] = (frame["score"] + 4 * (frame["race"] == "A") > 25).astype(int)
    frame["job"] = random.choice(["x", "y", "z"], n)
    frame.loc[:4, "race"] = None
    frame.loc[4:6, "sex"] = None
    return frame


def test_unknown_people_are_counted_once_and_small_categories_are_named() -> None:
    frame = applicants()
    audit = ft.Audit(frame, decision="d", score="score", groups=["race", "sex"], missing="category")
    result = ft.tabulate(audit, "local-law-144", about={"tool": "Screener 2", "audit_date": "1 May 2026"})
    assert rows_of(result)["(unknown)"]["n"] == 7, "row 4 lacks both and is one person"
    left = {row["group"] for row in result.estimates if row["state"] == "left out"}
    sizes = {
        **{f"race: {name}": (frame["race"] == name).sum() for name in "ABC"},
        **{
            f"race: {r}, sex: {s}": ((frame["race"] == r) & (frame["sex"] == s)).sum()
            for r in "ABC"
            for s in "FM"
        },
    }
    assert left == {name for name, n in sizes.items() if n < 0.02 * len(frame)}
    assert left >= {"race: C", "race: C, sex: F"}
    note = next(note.text for note in result.notes if note.code == "small-categories")
    assert all(name in note for name in left)
    reading = result.reading()
    assert "Tool: Screener 2." in reading
    assert "Distribution date of the tool: not stated." in reading
    assert "Justification for leaving categories out: not stated." in reading


def test_scoring_rates_are_above_the_printed_median() -> None:
    frame = applicants()
    audit = ft.Audit(frame, decision="d", score="score", groups=["race"], missing="category")
    result = ft.tabulate(audit, "local-law-144")
    median = frame["score"].median()
    assert any(f"median score, {median:g}." in note.text for note in result.notes)
    above = frame.assign(above=frame["score"] > median).groupby("race")["above"].agg(["sum", "mean"])
    scoring, selection = (rows_of(result, metric=name) for name in ("scoring_rate", "selection_rate"))
    for name in "AB":
        assert scoring[name]["events"] == above.loc[name, "sum"]
        assert scoring[name]["impact_ratio"] == pytest.approx(
            above.loc[name, "mean"] / above.loc[["A", "B"], "mean"].max()
        )
        assert selection[name]["rate"] == pytest.approx(frame.loc[frame["race"] == name, "d"].mean())
    assert scoring["C"]["impact_ratio"] is None


def test_who_lacks_one_category_is_in_the_lines_of_the_other() -> None:
    """So that the line of the unknown does not say that they are in none."""
    frame = applicants()
    audit = ft.Audit(frame, decision="d", groups=["race", "sex"], missing="category")
    found = rows_of(ft.tabulate(audit, "local-law-144"))
    for name in "FM":
        assert found[f"sex: {name}"]["n"] == int((frame["sex"] == name).sum())
    whole = frame.dropna()
    assert found["race: A, sex: F"]["n"] == int(((whole["race"] == "A") & (whole["sex"] == "F")).sum())
    assert found["(unknown)"]["metric"] == "unknown category"
    assert "in no line that needs what is unknown" in found["(unknown)"]["state_reason"]


@pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")
def test_where_there_is_no_impact_ratio_the_table_says_why() -> None:
    """A law's table is made all the same: numbers and rates are asked for as well."""
    from inside.results import reason

    nobody = ft.Audit(people({"A": (0, 50), "B": (0, 60)}), decision="d", groups="race")
    alone = ft.Audit(people({"A": (9, 50)}), decision="d", groups="race")
    for audit, why in ((nobody, "the highest rate is zero"), (alone, "no other category of sufficient size")):
        result = ft.tabulate(audit, "local-law-144")
        row = rows_of(result)["A"]
        assert (row["n"], row["rate"]) in {(50, 0.0), (50, 0.18)}
        assert why in str(reason(row["impact_ratio"]))
        assert result.verdict.text == "no impact ratio: see the reasons in the table"
        assert result.pictures() == []


def test_a_tool_that_only_scores_has_its_scoring_rates() -> None:
    """By hand: scores 1 to 8, median 4.5; above it are 2 of the 4 of A, who come 2nd, 4th, 6th and 8th, and so of B."""
    frame = pd.DataFrame({"race": ["B", "A"] * 4, "score": range(1, 9)})
    result = ft.tabulate(ft.Audit(frame, score="score", groups="race"), "local-law-144")
    assert {row["metric"] for row in result.estimates} == {"scoring_rate", "unknown category"}
    for row in rows_of(result, metric="scoring_rate").values():
        assert (row["n"], row["events"], row["rate"], row["impact_ratio"]) == (4, 2, 0.5, 1.0)
    assert "median score, 4.5." in " ".join(note.text for note in result.notes)
    with pytest.raises(NotApplicable, match="needs the decision"):
        ft.tabulate(ft.Audit(frame.assign(y=1), outcome="y", groups="race"), "local-law-144")
    unfavourable = ft.Audit(frame, score="score", threshold=5, groups="race", favourable=0)
    told = " ".join(note.text for note in ft.tabulate(unfavourable, "local-law-144").notes)
    assert "a high scoring rate is a disadvantage" in told


def test_the_law_is_cited_with_its_date_and_nothing_claims_compliance() -> None:
    notes = " ".join(note.text for note in ft.tabulate(ricci(), "local-law-144").notes)
    assert "2023" in notes
    assert "rule of thumb" in notes
    assert "does not contain" in notes
    for table in TABLES.values():
        for text in table.law:
            assert "complies with" not in text
            assert "is compliant" not in text


# -- employment: practice -----------------------------------------------------------------------------------------
def ricci() -> ft.Audit:
    return ft.Audit(ft.load("ricci"), decision="passed", groups=["race"])


def test_questions_and_answers_21() -> None:
    """44 FR 11996 (1979), no. 21: 16 of 80 and 2 of 20 hired; with one person exchanged 15% and 18.75%.

    By hand: expected 20·18/100 = 3.6, so 1.6 fewer; variance 20·80·18·82/(100²·99) = 2.3854, hence −1.0359.
    """
    audit = ft.Audit(people({"White": (16, 80), "Black": (2, 20)}), decision="d", groups="race")
    row = rows_of(ft.tabulate(audit, "adverse-impact", target={"race": "White"}))["Black"]
    assert (row["n"], row["events"], row["target_n"]) == (20, 2, 80)
    assert row["ratio"] == pytest.approx(0.5)
    assert row["shortfall"] == pytest.approx(1.6)
    assert row["standard_deviations"] == pytest.approx(-1.6 / np.sqrt(20 * 80 * 18 * 82 / (100**2 * 99)))
    assert row["fisher_p"] == pytest.approx(stats.fisher_exact([[2, 18], [16, 64]])[1])
    assert row["exchanged_ratio"] == pytest.approx(0.15 / 0.1875)
    assert row["reverses"] is False


def test_one_person_reverses_it() -> None:
    audit = ft.Audit(people({"White": (10, 20), "Black": (2, 5)}), decision="d", groups="race")
    row = rows_of(ft.tabulate(audit, "adverse-impact"))["Black"]
    assert row["exchanged_ratio"] == pytest.approx((3 / 5) / (9 / 20))
    assert row["reverses"] is True


def test_selections_are_pooled_over_requisitions() -> None:
    """Standard deviations squared are Cochran, Mantel and Haenszel's statistic without correction."""
    frame = applicants().dropna()
    audit = ft.Audit(frame, decision="d", groups=["sex"])
    row = rows_of(ft.tabulate(audit, "adverse-impact", target={"sex": "M"}, within="job"))["F"]
    tables = [
        pd.crosstab(part["sex"], part["d"]).loc[["F", "M"], [1, 0]].to_numpy()
        for _, part in frame.groupby("job")
    ]
    oracle = StratifiedTable([table.T for table in tables]).test_null_odds(correction=False)
    assert row["standard_deviations"] ** 2 == pytest.approx(oracle.statistic, rel=1e-9)
    expected = sum(table[0].sum() * table[:, 0].sum() / table.sum() for table in tables)
    assert row["shortfall"] == pytest.approx(expected - sum(table[0, 0] for table in tables))
    assert row["reverses"] is None


def test_exact_numbers_of_small_strata() -> None:
    """Against scipy for one stratum, and against the sum over all tables with these margins for several."""
    for k1, n1, k2, n2 in [(2, 20, 16, 80), (0, 10, 5, 12), (30, 100, 45, 120), (7, 7, 2, 9)]:
        table = [[k1, n1 - k1], [k2, n2 - k2]]
        one = strata((k1, n1, k2, n2))
        assert exact_p(one) == pytest.approx(stats.fisher_exact(table)[1], rel=1e-9)
        oracle = stats.contingency.odds_ratio(table).confidence_interval(0.95)
        assert odds_limits(one, 0.95) == pytest.approx(tuple(oracle), rel=1e-5)
    several = strata((1, 4, 3, 5), (0, 3, 2, 6), (2, 5, 3, 4))
    probability: dict[int, float] = {}
    laws = [
        stats.hypergeom(int(n1 + n2), int(k1 + k2), int(n1)) for k1, n1, k2, n2 in zip(*several, strict=True)
    ]
    for a in range(5):
        for b in range(4):
            for c in range(6):
                weight = float(np.prod([law.pmf(x) for law, x in zip(laws, (a, b, c), strict=True)]))
                probability[a + b + c] = probability.get(a + b + c, 0.0) + weight
    law = given_margins(several)
    for count, chance in zip(range(law.first, 99), law.probability, strict=False):
        assert chance == pytest.approx(probability[count], rel=1e-9)
    seen = probability[3]
    assert exact_p(several) == pytest.approx(sum(p for p in probability.values() if p <= seen * (1 + 1e-9)))
    above = sum(k1 * (n2 - k2) / (n1 + n2) for k1, n1, k2, n2 in zip(*several, strict=True))
    below = sum(k2 * (n1 - k1) / (n1 + n2) for k1, n1, k2, n2 in zip(*several, strict=True))
    assert odds_ratio(several) == pytest.approx(above / below)
    assert np.isnan(pooled(strata((3, 3, 5, 5))).deviations)


# -- lending and insurance ----------------------------------------------------------------------------------------
def loans() -> pd.DataFrame:
    random = np.random.default_rng(5)
    n = 600
    frame = pd.DataFrame({"race": random.choice(["W", "B"], n), "band": random.choice(["low", "high"], n)})
    frame["score"] = random.normal(600 + 30 * (frame["race"] == "W"), 50).round()
    frame["ok"] = (frame["score"] + 20 * (frame["band"] == "high") > 610).astype(int)
    frame["apr"] = (5 + 0.4 * (frame["race"] == "B") + random.normal(0, 0.8, n)).round(3)
    return frame


def loan_audit(**more: Any) -> ft.Audit:
    return ft.Audit(loans(), decision="ok", score="score", groups=["race"], **more)


def test_denial_odds_ratio_and_adverse_impact_ratio() -> None:
    frame = loans()
    row = rows_of(ft.tabulate(loan_audit(), "credit-decisions", target={"race": "W"}))["B"]
    counts = pd.crosstab(frame["race"], frame["ok"])
    denied, approved = counts[0], counts[1]
    assert row["odds_ratio"] == pytest.approx(denied["B"] * approved["W"] / (approved["B"] * denied["W"]))
    limits = stats.contingency.odds_ratio([[denied["B"], approved["B"]], [denied["W"], approved["W"]]])
    found = (row["odds_ratio_low"], row["odds_ratio_high"])
    assert found == pytest.approx(tuple(limits.confidence_interval(0.95)), rel=1e-6)
    rates = frame.groupby("race")["ok"].mean()
    assert row["ratio"] == pytest.approx(rates["B"] / rates["W"])
    assert row["difference"] == pytest.approx(rates["B"] - rates["W"])
    beside = next(
        item for item in ft.measure(loan_audit(), "selection_rate", target={"race": "W"}).estimates
        if item["group"] == "B"
    )  # fmt: skip
    for name in ("ratio_low", "ratio_high", "difference_low", "difference_high"):
        assert row[name] == pytest.approx(beside[name]), "one gap, one answer"


def test_the_adjusted_gap_stands_beside_the_unadjusted_one() -> None:
    audit = loan_audit()
    row = rows_of(ft.tabulate(audit, "credit-decisions", target={"race": "W"}, within="band"))["B"]
    adjusted = ft.flag(audit, "selection_rate", target={"race": "W"}, within="band", scale="ratio").estimates[
        0
    ]
    for name in ("ratio", "ratio_low", "ratio_high", "unadjusted_ratio", "compared"):
        assert row[name] == pytest.approx(adjusted[name])


@pytest.mark.parametrize("denominator", ["groups", "everyone", "target"])
def test_standardized_differences_state_their_denominator(denominator: str) -> None:
    frame = loans()
    result = ft.tabulate(loan_audit(), "score-and-price", target={"race": "W"}, denominator=denominator)
    black, white = (frame.loc[frame["race"] == name, "score"] for name in "BW")
    spread = {
        "groups": np.sqrt((black.var() + white.var()) / 2),
        "everyone": frame["score"].std(),
        "target": white.std(),
    }[denominator]
    row = rows_of(result, metric="mean_score")["B"]
    assert row["standardized"] == pytest.approx((black.mean() - white.mean()) / spread)
    assert len(result.details["stated"]) == 1


@pytest.mark.parametrize(("unit", "factor"), [("percent", 100), ("fraction", 10_000)])
def test_prices_are_in_basis_points(unit: str, factor: int) -> None:
    frame = loans()
    result = ft.tabulate(loan_audit(), "score-and-price", target={"race": "W"}, price="apr", price_unit=unit)
    row = rows_of(result, metric="mean apr")["B"]
    means = frame.groupby("race")["apr"].mean()
    assert row["basis_points"] == pytest.approx(factor * (means["B"] - means["W"]))
    for end in ("_low", "_high"):
        assert row[f"basis_points{end}"] == pytest.approx(factor * row[f"difference{end}"])


def test_ratios_by_score_quantile() -> None:
    frame = loans()
    result = ft.tabulate(loan_audit(), "score-quantiles", target={"race": "W"}, quantiles=4)
    for row, part in zip(result.estimates, (0.25, 0.5, 0.75), strict=True):
        cutoff = frame["score"].quantile(1 - part)
        shares = (frame["score"] >= cutoff).groupby(frame["race"]).mean()
        assert row["cutoff"] == cutoff
        assert row["ratio"] == pytest.approx(shares["B"] / shares["W"])
        assert row["ratio_low"] < row["ratio"] < row["ratio_high"]
    harmful = ft.tabulate(
        loan_audit(score_favours="low"), "score-quantiles", target={"race": "W"}, quantiles=4
    )
    lowest = (frame["score"] <= frame["score"].quantile(0.25)).groupby(frame["race"]).mean()
    assert harmful.estimates[0]["rate"] == pytest.approx(lowest["B"]), "low scores are best"


# -- the bias record ----------------------------------------------------------------------------------------------
RECORDS = [
    {"group": {"race": "B"}, "hazard": "fewer loans", "threshold": 0.05, "mitigation": "second reader",
     "review": "each quarter, or when the gap passes 5 points"},
    {"group": {"race": "B"}, "measure": "mean_score", "threshold": [-100, 100]},
    {"group": {"race": "W"}, "scale": "ratio", "threshold": 0.5},
    {"group": {"race": "B"}, "target": {"race": "W"}},
]  # fmt: skip


def test_a_record_says_what_certify_says() -> None:
    result = ft.tabulate(loan_audit(), "bias-record", records=RECORDS)
    rows = result.estimates
    certified = ft.certify(loan_audit(), "selection_rate", tolerance=0.05)
    own = next(row for row in certified.estimates if row["group"] == "B")
    for name in ("difference", "difference_low", "difference_high", "p_value"):
        assert rows[0][name] == pytest.approx(own[name])
    assert [row["state"] for row in rows] == ["beyond", "within", "within", "no threshold"]
    # Holm over the three that state a threshold
    p = [row["p_value"] for row in rows[:3]]
    assert rows[0]["p_adjusted"] == pytest.approx(min(1.0, 3 * min(p)))
    assert rows[0]["mitigation"] == "second reader"
    assert rows[1]["hazard"] == "not stated"
    assert rows[0]["threshold"] == "5.0 points"
    assert result.verdict.code == "beyond"
    assert [entry.subject for entry in result.primary()] == ["B", "B", "W"]
    shifted = ft.tabulate(
        loan_audit(favourable=1), "bias-record", records=[{"group": {"race": "W"}, "threshold": 0.05}]
    )
    assert shifted.estimates[0]["state"] == "favoured"


def test_a_record_is_refused_with_all_that_is_wrong_with_it() -> None:
    wrong: list[Any] = [{"hazard": "x"}, {"group": {"race": "B"}, "treshold": 1, "review": 3}]
    with pytest.raises(InputError) as caught:
        ft.tabulate(loan_audit(), "bias-record", records=wrong)
    assert len(caught.value.faults) == 3
    with pytest.raises(InputError, match="threshold of a rate is a share"):
        ft.tabulate(loan_audit(), "bias-record", records=[{"group": {"race": "B"}, "threshold": 5}])
    with pytest.raises(InputError, match="scale must be difference or ratio"):
        ft.tabulate(loan_audit(), "bias-record", records=[{"group": {"race": "B"}, "scale": "odds"}])


# -- all tables ---------------------------------------------------------------------------------------------------
def test_the_names_are_those_that_are_declared() -> None:
    argument = next(item for item in find_method("tabulate").arguments if item.name == "table")
    assert argument.choices == tuple(TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_results_go_through_json_and_groups_may_be_masked(table: str) -> None:
    from inside.results import mask_result

    frame = loans()
    frame.loc[:6, "race"] = "few"
    audit = ft.Audit(frame, decision="ok", score="score", groups=["race"])
    result = ft.tabulate(audit, table)
    content = result.to_dict()
    assert ft.read_result(json.loads(json.dumps(content))).to_dict() == content
    masked = mask_result(result, 10)
    few = [row for row in masked["estimates"] if row["group"] == "few"]
    assert few
    for row in few:
        numbers = [
            value for value in row.values() if isinstance(value, float | int) and not isinstance(value, bool)
        ]
        assert numbers == [], "a group of seven is masked whole"


@pytest.mark.parametrize("role", ["weight", "unit"])
@pytest.mark.parametrize("table", sorted(set(TABLES) - {"bias-record"}))
def test_tables_count_people(table: str, role: str) -> None:
    frame = loans().assign(w=1.5, u=range(600))
    audit = ft.Audit(
        frame, decision="ok", score="score", groups=["race"], **{role: "w" if role == "weight" else "u"}
    )
    with pytest.raises(NotApplicable, match="is not honoured by tabulate"):
        ft.tabulate(audit, table)


def test_options_of_another_table_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"'quantiles' is not for the table 'bias-record'.*'score-quantiles'"
    ):
        ft.tabulate(loan_audit(), "bias-record", quantiles=4)
    with pytest.raises(NotApplicable, match="needs the score"):
        ft.tabulate(ricci(), "score-quantiles")
    with pytest.raises(NotApplicable, match="must be people that no compared group shares"):
        ft.tabulate(loan_audit(), "adverse-impact", target="overall")


def test_on_the_command_line_and_in_a_file(tmp_path: Path) -> None:
    loans().to_csv(tmp_path / "loans.csv", index=False)
    data = ["--decision", "ok", "--score", "score", "--by", "race"]
    record = '{"group": {"race": "B"}, "threshold": 0.05}'
    file = str(tmp_path / "loans.csv")
    done = CliRunner().invoke(
        program, ["tabulate", file, *data, "--table", "bias-record", "--record", record]
    )
    assert done.exit_code == 0, done.output
    assert "beyond the threshold" in done.output
    (tmp_path / "audit.toml").write_text(
        'preset = "insurance"\n[data]\nsource = "loans.csv"\ndecision = "ok"\nscore = "score"\ngroups = ["race"]\n'
        '[insurance]\nreferences = { race = "W" }\nprice = "apr"\nwithin = "band"\n'
        '[[bias.records]]\ngroup = { race = "B" }\nhazard = "dearer"\nthreshold = 0.05\n'
    )
    trial = ft.run(tmp_path / "audit.toml", out=tmp_path / "out")
    assert trial.complete, [answer.error for answer in trial.answers]
    tables = {
        result.details["table"]: result for result in trial.results.values() if result.kind == "tabulate"
    }
    assert set(tables) == {"credit-decisions", "score-and-price", "score-quantiles", "bias-record"}
    assert tables["bias-record"].estimates[0]["hazard"] == "dearer"
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "dearer" in page
    assert "odds ratio of the unfavourable decision" in page
    assert any(entry.method == "tabulate" for entry in trial.family)
