"""Who moves where, tolerances and prices by group, texts behind an encoder, and how sure the size of a change is."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri, stdtrit
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

import fairtrial
from fairtrial import InputError
from inside.cli import program
from inside.ground import NotApplicable
from inside.papers import fairness_test
from inside.transport import band, change_bootstrap, disjoint_families, project

of_the_paper = partial(fairness_test, calibration="pooled")
FEATURES = ["age", "income", "debts"]


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    group = rng.choice(["a", "b"], 600, p=[0.6, 0.4])
    table = pd.DataFrame({
        "group": group,
        "age": rng.integers(18, 70, 600).astype(float),
        "income": rng.gamma(2, 10, 600) + 8 * (group == "a"),
        "debts": rng.integers(0, 3, 600).astype(float),
        "town": rng.choice(["north", "south", "west"], 600),
    })  # fmt: skip
    odds = 0.05 * (table.income - 25) + 0.4 * table.debts + 0.5 * (table.town == "north")
    return table.assign(outcome=(rng.random(600) < 1 / (1 + np.exp(-odds))).astype(int))


def _audit(people: pd.DataFrame, decision: np.ndarray, features: list[str]) -> fairtrial.Audit:
    table = people.assign(decision=decision)
    return fairtrial.Audit(table, outcome="outcome", decision="decision", groups="group", features=features)


MODELS = {
    "linear": LogisticRegression(),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": RandomForestClassifier(10, max_depth=4, random_state=0),
}
MOVES = [
    ("linear", {}), ("linear", {"norm": "l1"}), ("linear", {"norm": "linf", "units": "standard"}),
    ("linear", {"immutable": "age"}), ("linear", {"discrete": "debts", "step_cost": 0.5}),
    ("scaled", {}), ("scaled", {"discrete": "debts", "step_cost": 0.1, "immutable": "age"}),
    ("tree", {}), ("tree", {"immutable": "income", "norm": "l1"}), ("forest", {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "options", "turned"), [(*case, place % 2 == 1) for place, case in enumerate(MOVES)]
)
def test_where_people_move_to_is_decided_otherwise(people, name, options, turned):
    """The model itself, asked a hair beyond the point it was moved to; also where its second class is the audit's 0."""
    outcome = 1 - people.outcome if turned else people.outcome
    model = MODELS[name].fit(people[FEATURES], outcome)
    answer = model.predict(people[FEATURES])
    audit = _audit(people, 1 - answer if turned else answer, FEATURES)
    result = of_the_paper(audit, "statistical_parity", distance=model, **options)
    moved = result.moved()
    assert moved.share.sum() == pytest.approx(result.people_moved)
    assert (moved.share * moved.distance).sum() == pytest.approx(result.statistic)
    start = people[FEATURES].iloc[moved.row].reset_index(drop=True)
    end = start.copy()
    for feature in FEATURES:
        if feature in moved:
            assert np.allclose(moved[feature], start[feature])
            end[feature] = moved[f"{feature} after"]
        differs = np.abs(end[feature] - start[feature]) > 1e-9 * np.maximum(1.0, np.abs(start[feature]))
        assert (moved.changes.str.contains(feature) == differs).all()
    assert list(people.group.iloc[moved.row]) == list(moved.group)
    there = model.predict(start + (end - start) * (1 + 1e-6))
    assert ((1 - there if turned else there) == moved.decision_after).all()
    if "immutable" in options:
        assert options["immutable"] not in moved


def test_the_fair_distribution_meets_the_criterion(people):
    model = MODELS["linear"].fit(people[FEATURES], people.outcome)
    audit = _audit(people, model.predict(people[FEATURES]), FEATURES)
    result = fairtrial.transport(audit, "equal_opportunity", distance=model)
    there = result.fair_distribution()
    rates = there.assign(one=there.weight * there.decision).groupby("group")[["one", "weight"]].sum()
    assert list(rates.one / rates.weight) == pytest.approx([result.estimates[0]["rate_after"]] * 2)
    assert there.weight.sum() == pytest.approx(int((people.outcome == 1).sum()))
    assert there.weight[there.moved].sum() == pytest.approx(result.people_moved)
    assert there[~there.moved]["age after"].isna().all()
    again = fairtrial.read_result(result.to_dict())
    with pytest.raises(InputError, match="run transport again"):
        again.moved()
    assert "after" not in str(result.to_publish().to_dict()["details"]["bands"])


def test_scores_move_to_their_threshold_and_kernels_tell_no_features(people):
    table = people.assign(points=np.round(people.income / 5))
    audit = fairtrial.Audit(table, outcome="outcome", score="points", threshold=5, groups="group")
    moved = fairtrial.transport(audit, "statistical_parity").moved()
    assert set(moved["points after"]) <= {4.0, 5.0}
    assert ((moved["points after"] >= 5) == (moved.decision_after == 1)).all()
    distances = fairtrial.Audit(
        table.assign(decision=(table.points >= 5).astype(int), far=abs(table.points - 4.5)),
        outcome="outcome", decision="decision", groups="group",
    )  # fmt: skip
    assert "changes" in fairtrial.transport(distances, "statistical_parity", distance="far").moved()


def test_texts_move_behind_the_pipelines_encoder(people):
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["town"]), (StandardScaler(), ["income", "debts"])
    )
    names = ["town", "income", "debts"]
    forest = RandomForestClassifier(10, max_depth=4, random_state=0)
    model = make_pipeline(encoder, forest).fit(people[names], people.outcome)
    audit = _audit(people, model.predict(people[names]), names)
    result = fairtrial.transport(audit, "statistical_parity", distance=model)
    assert result.details["distance"]["movable"] == names
    moved = result.moved()
    seen = model[:-1].transform(people[names].iloc[moved.row])
    columns = [str(name) for name in model[:-1].get_feature_names_out()]
    end = pd.DataFrame(seen, columns=columns)
    for column in columns:
        if column in moved:
            end[column] = moved[f"{column} after"]
    assert (model[-1].predict(seen + (end.to_numpy() - seen) * (1 + 1e-6)) == moved.decision_after).all()
    fixed = fairtrial.transport(audit, "statistical_parity", distance=model, immutable="town")
    assert not [name for name in fixed.moved() if "town" in name]
    with pytest.raises(NotApplicable, match="pipeline whose first steps encode"):
        fairtrial.transport(audit, "statistical_parity", distance=lambda table: np.zeros(len(table)))


# -- tolerances and prices by group ------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def scores() -> fairtrial.Audit:
    table = fairtrial.load("compas")
    return fairtrial.Audit(table, outcome="two_year_recid", score="decile_score", threshold=5)


BY = [{"race": "African-American"}, {"race": "Caucasian"}]


def test_a_tolerance_for_each_equality(scores):
    """Equalized odds is the sum of its two parts, each at its own tolerance."""
    parts = [
        fairtrial.transport(scores, metric, by=BY, tolerance=value)
        for metric, value in (("tpr", 0.05), ("fpr", 0.02))
    ]
    for given in ({"tpr": 0.05, "fpr": 0.02}, [0.05, 0.02]):
        both = fairtrial.transport(scores, "equalized_odds", by=BY, tolerance=given)
        assert both.statistic == pytest.approx(sum(part.statistic for part in parts))
        assert both.people_moved == pytest.approx(sum(part.people_moved for part in parts))
        assert both.p_value == pytest.approx(min(1.0, 2 * min(part.p_value for part in parts)))
        assert both.details["tolerances"] == [0.05, 0.02]
        assert "its own tolerance" in both.null
    one = fairtrial.transport(scores, "equalized_odds", by=BY, tolerance=0.05)
    assert "tolerances" not in one.details
    for wrong, words in (
        ({"tpx": 0.1}, "Did you mean 'tpr'"), ([0.1], "one number for each of the 2"), ([0.1, 1.2], "below 1"),
        ({"tpr": True}, "below 1"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            fairtrial.transport(scores, "equalized_odds", by=BY, tolerance=wrong)


def test_a_price_for_each_group(scores):
    """Against the linear program with the prices in its objective; the p-value is about the gap and stays."""
    plain = fairtrial.transport(scores, "predictive_equality", by=BY)
    dear = of_the_paper(scores, "predictive_equality", by=BY, group_cost={"Caucasian": 3})
    rows = scores.rows(attributes=["race"], roles=["outcome", "decision", "score"])
    race = rows.attributes["race"]
    group = np.array([["African-American", "Caucasian"].index(label) if label in ("African-American", "Caucasian")
                      else -1 for label in race.labels])[race.codes]  # fmt: skip
    group = np.where(rows.roles["outcome"] == 0, group, -1)
    problem = disjoint_families(group, [((0, 1), 0)], rows.roles["decision"].astype(np.uint8))
    score = rows.roles["score"]
    far = np.where(score >= 5, score - 4, 5 - score) * np.where(group == 1, 3.0, 1.0)
    assert dear.statistic == pytest.approx(project(problem, far, *band(1, 0.0, "differs")).statistic)
    assert dear.p_value == plain.p_value
    assert dear.details["mean_shift"] <= plain.details["mean_shift"] * 3
    assert dear.estimates[1]["gained"] < plain.estimates[1]["gained"]
    with pytest.raises(InputError, match="must name some of"):
        of_the_paper(scores, "predictive_equality", by=BY, group_cost={"Martian": 2})
    with pytest.raises(InputError, match="above 0"):
        of_the_paper(scores, "predictive_equality", by=BY, group_cost={"Caucasian": 0})


def test_from_the_command_line(tmp_path):
    table = tmp_path / "compas.csv"
    fairtrial.load("compas", backend="pandas")[["race", "two_year_recid", "decile_score"]].to_csv(
        table, index=False
    )
    moved = tmp_path / "moved.csv"
    asked = ["transport", str(table), "--outcome", "two_year_recid", "--score", "decile_score", "--threshold", "5",
             "--by", "race=African-American", "--by", "race=Caucasian", "--metric", "equalized_odds"]  # fmt: skip
    more = ["--tolerance", "tpr=0.05,fpr=0.02", "--moved", str(moved)]
    done = CliRunner().invoke(program, [*asked, *more], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    written = pd.read_csv(moved)
    assert list(written.columns[:4]) == ["row", "group", "decision", "decision_after"]
    audit = fairtrial.Audit(str(table), outcome="two_year_recid", score="decile_score", threshold=5)
    same = fairtrial.transport(audit, "equalized_odds", by=BY, tolerance={"tpr": 0.05, "fpr": 0.02})
    assert written.share.sum() == pytest.approx(same.people_moved)
    saved = tmp_path / "paper.json"
    asked = ["papers", *asked[:1], "fairness_test", *asked[1:]]
    asked[asked.index("--metric")] = "--criterion"
    more = ["--tolerance", "tpr=0.05,fpr=0.02", "--group-cost", "Caucasian=2", "--calibration", "pooled"]
    done = CliRunner().invoke(program, [*asked, *more, "--json", str(saved)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    dear = of_the_paper(
        audit, "equalized_odds", by=BY, tolerance={"tpr": 0.05, "fpr": 0.02}, group_cost={"Caucasian": 2}
    )
    assert fairtrial.read_result(json.loads(saved.read_text())).people_moved == dear.people_moved


# -- how sure the size of the change is --------------------------------------------------------------------------------
def _random_problem(rng: np.random.Generator, steps: bool):
    sizes = rng.integers(8, 40, rng.integers(2, 5))
    cell = np.repeat(np.arange(sizes.size), sizes)
    far = rng.integers(0, 5, cell.size).astype(float) if steps else rng.gamma(1.0, 1.0, cell.size)
    far[rng.random(cell.size) < 0.05] = np.inf
    event = (rng.random(cell.size) < rng.uniform(0.2, 0.8, sizes.size)[cell]).astype(np.uint8)
    families = [(tuple(range(sizes.size)), 0)]
    if sizes.size == 4 and rng.random() < 0.5:
        families = [((0, 1), 0), ((2, 3), 2)]
    return disjoint_families(cell, families, event), far


@pytest.mark.parametrize("steps", [False, True])
def test_sizes_are_those_of_the_projection(steps):
    """Another solver of the same problem: the cost at every kink of the common rate."""
    rng = np.random.default_rng(11)
    seen = 0
    for _ in range(60):
        problem, far = _random_problem(rng, steps)
        limits = band(problem.size, rng.choice([0.0, 0.05, 0.2]), rng.choice(["differs", "above", "below"]))
        expected = project(problem, far, *limits)
        found = change_bootstrap.sizes_of_change(problem, far, limits)
        if expected.infeasible is not None:
            assert found is None
            continue
        assert found is not None
        assert found.cost == pytest.approx(expected.statistic, abs=1e-9)
        # where rates cost the same to reach, both keep nearest to the pooled one
        assert found.moved == pytest.approx(expected.moved.sum(), abs=1e-7)
        seen += 1
    assert seen > 30


def test_intervals_are_those_of_resampled_rows():
    """The oracle expands every draw to rows, projects them, and takes the limits by their formula."""
    rng = np.random.default_rng(3)
    sizes = (60, 40)
    cell = np.repeat([0, 1], sizes)
    score = np.round(rng.normal([0.0, 0.9], 1.0, (100, 2))[np.arange(100), cell], 1)
    event, far = (score >= 0).astype(np.uint8), np.abs(score) + 0.05
    problem, limits = disjoint_families(cell, [((0, 1), 0)], event), band(1, 0.0, "differs")
    found = change_bootstrap.change_intervals(
        problem, far, None, limits, (0.9, True, np.random.default_rng(5))
    )
    random, draws = np.random.default_rng(5), []
    for _ in range(change_bootstrap.DRAWS):
        rows = [_redrawn(cell, event, far, group, random) for group in (0, 1)]
        new_cell, new_event, new_far = (np.concatenate(part) for part in zip(*rows, strict=True))
        drawn = project(disjoint_families(new_cell, [((0, 1), 0)], new_event), new_far, *limits)
        draws.append((drawn.moved.sum(), drawn.statistic))
    own = project(problem, far, *limits)
    for name, column, estimate in (("moved", 0, own.moved.sum()), ("cost", 1, own.statistic)):
        low, high = np.quantile([draw[column] for draw in draws], [0.05, 0.95], method="weibull")
        wider = stdtrit(39, 0.95) / ndtri(0.95) * np.sqrt(40 / 39)
        reach = max(estimate - low, high - estimate) * wider
        assert getattr(found, name) == pytest.approx((max(0.0, estimate - reach), estimate + reach), abs=1e-7)
    hidden = change_bootstrap.change_intervals(
        problem, far, None, limits, (0.9, False, np.random.default_rng(5))
    )
    assert hidden.moved == (0.0, found.moved[1]), "a gap that is not shown may be nothing"


def _redrawn(cell, event, far, group, random):
    """As many people of a group again: different distances of those who would rise, then of those who would fall."""
    sides = [np.unique(far[(cell == group) & (event == side)], return_counts=True) for side in (0, 1)]
    count = np.concatenate([side[1] for side in sides]).astype(float)
    new = random.multinomial(int(count.sum()), count / count.sum())
    values = np.concatenate([side[0] for side in sides])
    happened = np.repeat([0, 1], [side[0].size for side in sides])
    rows = np.repeat(np.arange(values.size), new)
    return np.full(rows.size, group), happened[rows].astype(np.uint8), values[rows]


def test_what_has_no_interval_says_so(scores):
    several = fairtrial.transport(scores, "statistical_parity", by=["race", "sex"])
    assert "several compared groups" in several.details["intervals"]["moved_low"]["reason"]
    assert "no-size-interval" in [note.code for note in several.notes]
    one = fairtrial.transport(scores, "fpr", by=BY)
    low, high = (one.details["intervals"][f"moved_{end}"] for end in ("low", "high"))
    assert low < one.people_moved < high
    assert "size-interval" in [note.code for note in one.notes]
