"""explain: both stages against plain code, what coalitions mean, and every edge as an answer or a reason."""

from __future__ import annotations

import json
import math
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import fairtrial
from fairtrial import Audit, FairtrialWarning, InputError, explain, read_result
from inside.ground import NotApplicable, arguments_of
from inside.papers import MEMBERS, pooled_z, shapley_rawls
from inside.results import reason, scalar
from oracles.esl import DEFINITIONS

FEATURES = ["age", "skill", "colour"]
of_the_paper = partial(shapley_rawls.explain, interval="certify")


def people(n=900, seed=1):
    """Two groups that differ in one feature; an outcome that depends on two of three features."""
    random = np.random.default_rng(seed)
    sex = np.where(random.random(n) < 0.4, "F", "M")
    age = random.normal(size=n) + 0.7 * (sex == "M")
    skill = random.normal(size=n)
    colour = random.choice(["red", "green", "blue"], n)
    y = (age + 0.6 * skill + random.normal(size=n) > 0.3).astype(int)
    return pd.DataFrame(
        {
            "sex": sex,
            "age": age,
            "skill": skill,
            "colour": colour,
            "y": y,
            "race": random.choice(["p", "q"], n),
        }
    )


@pytest.fixture(scope="module")
def frame():
    return people()


@pytest.fixture(scope="module")
def audit(frame):
    return Audit(frame, outcome="y", groups="sex", features=FEATURES)


def rule(frame):
    """Coalition decisions made elsewhere: a sum of what is seen, which depends on nobody else's rows."""

    def decide(names):
        seen = np.zeros(len(frame))
        for name in names:
            seen = seen + (frame["colour"].eq("red") * 0.5 if name == "colour" else frame[name])
        return np.asarray(seen > 0.2)

    return decide


def part(result, name, **where):
    return [
        row for row in result.estimates if row["part"] == name and all(row[k] == v for k, v in where.items())
    ]


# -- the numbers -----------------------------------------------------------------------------------------------------
def test_refitted_coalitions_equal_plain_loops(frame, audit):
    """Fit every subset by hand, take the rates, apply Shapley by permutations twice."""
    in_test = np.random.default_rng(0).random(len(frame)) < 0.4
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    result = explain(audit, "tpr", model=model, test=in_test, target={"sex": "F"})
    columns = {"age": frame[["age"]], "skill": frame[["skill"]], "colour": pd.get_dummies(frame["colour"])}
    test = frame[in_test]
    worth = np.zeros((2, 8))
    for size in range(1, 4):
        for names in combinations(FEATURES, size):
            table = pd.concat([columns[name] for name in names], axis=1).to_numpy(dtype=float)
            decision = clone(model).fit(table[~in_test], frame["y"][~in_test]).predict(table[in_test])
            mask = sum(1 << FEATURES.index(name) for name in names)
            for g, label in enumerate(("M", "F")):
                worth[g, mask] = decision[(test["sex"] == label) & (test["y"] == 1)].mean()
    by_group = [DEFINITIONS["shapley"](worth[g], 3) for g in range(2)]
    for k, name in enumerate(FEATURES):
        (row,) = part(result, "contribution to the gap", feature=name)
        assert row["difference"] == pytest.approx(by_group[0][k] - by_group[1][k], abs=1e-10)
        assert row["value"] == pytest.approx((by_group[0][k] - by_group[1][k]) / 0.5, abs=1e-10)
        (own,) = part(result, "contribution to the rate", feature=name, group="M")
        assert own["difference"] == pytest.approx(by_group[0][k], abs=1e-10)


def test_imputed_coalitions_equal_plain_loops(frame, audit):
    """Every row with the absent columns of every background row, one by one."""
    numbers = ["age", "skill"]
    model = LogisticRegression().fit(frame[numbers].to_numpy(), frame["y"])
    small = Audit(frame.head(60), outcome="y", groups="sex", features=numbers)
    result = explain(
        small, "selection_rate", model=model, coalitions="marginal", background=1000, target={"sex": "F"}
    )
    table = frame.head(60)[numbers].to_numpy()
    for names, mask in (((), 0), (("age",), 1), (("skill",), 2)):
        share = np.zeros(60)
        for other in table:
            mixed = np.where([name in names for name in numbers], table, other)
            share += model.predict(mixed) / 60
        for label in ("M", "F"):
            expected = share[frame.head(60)["sex"] == label].mean()
            found = [
                r["rate"]
                for r in result.details["coalition_rates"]
                if r["coalition"] == list(names) and r["group"] == label
            ]
            assert mask == 0 or found == [pytest.approx(expected, abs=1e-12)]


@pytest.mark.parametrize("metric", ["tpr", "ppv", "selection_rate", "for", "accuracy", "fnr"])
def test_contributions_add_up_to_the_gap_and_to_the_group_values(frame, audit, metric):
    result = explain(audit, metric, coalitions=rule(frame), sensitive="absent", target={"sex": "F"})
    (gap,) = part(result, "gap")
    total = sum(row["difference"] for row in part(result, "contribution to the gap"))
    assert total == pytest.approx(gap["difference"], abs=1e-12)
    for label in ("M", "F"):
        (whole,) = part(result, "value", group=label)
        rows = part(result, "contribution to the value", group=label)
        assert sum(row["value"] for row in rows) == pytest.approx(whole["value"], abs=1e-12)
        (whole,) = part(result, "rate", group=label)
        rows = part(result, "contribution to the rate", group=label)
        assert sum(row["difference"] for row in rows) == pytest.approx(whole["rate"], abs=1e-12)


def with_decisions(frame, decide):
    """The rule's own decisions as those that are audited."""
    made = frame.assign(d=np.asarray(decide(FEATURES)).astype(int), s=frame["age"].rank(pct=True))
    return Audit(made, outcome="y", decision="d", groups=["sex"], features=FEATURES)


@pytest.mark.parametrize("metric", ["tpr", "fpr", "ppv", "selection_rate"])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
@pytest.mark.parametrize("size", [900, 40])
def test_one_gap_has_one_answer_across_the_package(frame, metric, level, size):
    """The audited decisions as the full coalition: certify's and measure's gap, interval and p-value, to 1e-12."""
    few = frame.head(size)
    audit = with_decisions(few, rule(few))
    result = explain(
        audit,
        metric,
        coalitions=rule(few),
        sensitive="absent",
        target={"sex": "F"},
        confidence_level=level,
    )
    certified = fairtrial.certify(
        audit, metric, by=[{"sex": "M"}], target={"sex": "F"}, confidence_level=level, minimum=1
    )
    (row,) = certified.estimates
    for name in ("difference", "difference_low", "difference_high", "p_value", "n"):
        assert result.gap[name] == pytest.approx(row[name], abs=1e-12), name
    assert result.p_value == result.gap["p_value"] == result.primary()[0].p_value
    assert not part(result, "gap of the explained system")
    assert any(note.code == "agreement" and "100.0%" in note.text for note in result.notes)


def test_one_gap_of_scores_has_one_answer(frame):
    audit = Audit(
        frame.assign(s=np.random.default_rng(1).beta(1, 3, len(frame))), outcome="y", score="s", groups="sex",
        features=FEATURES,
    )  # fmt: skip
    with pytest.warns(FairtrialWarning, match="another system"):
        result = explain(audit, "mean_score", model="logistic", target={"sex": "F"})
    (row,) = fairtrial.certify(audit, "mean_score", by=[{"sex": "M"}], target={"sex": "F"}).estimates
    for name in ("difference", "difference_low", "difference_high", "p_value", "n"):
        assert result.gap[name] == pytest.approx(row[name], abs=1e-12), name


def test_small_counts_do_not_reject_by_the_normal_limit():
    """One woman, selected, against 40 of 400 men: z is near 3, but one person in ten is selected anyway."""
    frame = pd.DataFrame({"sex": ["F"] + ["M"] * 400, "x": 0.0, "y": 1})
    chosen = np.r_[1, np.ones(40), np.zeros(360)]
    result = explain(
        Audit(frame, outcome="y", groups="sex", features=["x"]),
        "tpr",
        coalitions={("x",): chosen},
        sensitive="absent",
    )
    assert pooled_z(1, 1, 40, 400)[1] < 0.005
    assert result.p_value > 0.05
    assert result.verdict.code == "no violation shown"


def test_function_matrix_and_dict_agree(frame, audit):
    decide = rule(frame)
    masks = range(8)
    names = [tuple(FEATURES[k] for k in range(3) if mask >> k & 1) for mask in masks]
    matrix = np.column_stack([decide(seen) for seen in names]).astype(int)
    by_function = explain(audit, "ppv", coalitions=decide, sensitive="absent")
    by_matrix = explain(audit, "ppv", coalitions=matrix, sensitive="absent")
    by_dict = explain(
        audit, "ppv", coalitions={seen: decide(seen) for seen in names if seen}, sensitive="absent"
    )
    assert by_function.estimates == by_matrix.estimates == by_dict.estimates


def test_panel_holds_the_five_members_and_the_vote_counts_them(frame, audit):
    result = explain(audit, "tpr", coalitions=rule(frame), sensitive="absent")
    assert [row["allocation"] for row in result.details["panel"][::3]] == list(MEMBERS)
    for vote in result.details["votes"]:
        mine = [row for row in result.details["panel"] if row["feature"] == vote["feature"]]
        assert vote["rejecting"] == sum(row["p_value"] <= 0.05 for row in mine)
        assert vote["majority"] == (vote["rejecting"] >= 3)
    assert any(note.code == "panel" and "not a test" in note.text for note in result.notes)


def test_given_sequences_and_names_agree(frame, audit):
    named = explain(audit, "tpr", coalitions=rule(frame), sensitive="absent", allocation="solidarity")
    given = explain(
        audit, "tpr", coalitions=rule(frame), sensitive="absent",
        allocation={"groups": [0.5], "features": [1 / 2, 1 / 3]},
    )  # fmt: skip
    assert [row["difference"] for row in given.estimates] == pytest.approx(
        [row["difference"] for row in named.estimates], abs=1e-12
    )
    assert [row["value"] for row in given.estimates] == pytest.approx(
        [row["value"] for row in named.estimates], abs=1e-12
    )


def test_an_estimated_baseline_adds_its_error(frame, audit):
    """Standard errors of (contribution / prior) against resampling people within groups."""
    known = of_the_paper(
        audit, "tpr", coalitions=rule(frame), sensitive="absent", baseline=float(frame["y"].mean())
    )
    prior = of_the_paper(audit, "tpr", coalitions=rule(frame), sensitive="absent", baseline="prior")
    for a, b in zip(known.drivers, prior.drivers, strict=True):
        assert a["value"] == pytest.approx(b["value"], abs=1e-12)
        assert a["difference"] == b["difference"]
    assert any("estimated" in note.text for note in prior.notes if note.code == "baseline")
    seen = [tuple(FEATURES[k] for k in range(3) if mask >> k & 1) for mask in range(8)]
    decisions = np.column_stack([rule(frame)(names) for names in seen]).astype(float)
    group, y = frame["sex"].eq("M").to_numpy().astype(int), frame["y"].to_numpy()
    random = np.random.default_rng(8)
    draws = []
    for _ in range(1500):
        rows = np.concatenate(
            [random.choice(r, r.size) for r in (np.flatnonzero(group == 0), np.flatnonzero(group == 1))]
        )
        worth = [decisions[rows][(group[rows] == g) & (y[rows] == 1)].mean(axis=0) for g in (0, 1)]
        gap = np.where(np.arange(8) > 0, worth[0] - worth[1], 0.0)
        draws.append(DEFINITIONS["shapley"](gap, 3) / y[rows].mean())
    for k, name in enumerate(FEATURES):
        (row,) = part(prior, "contribution to the gap", feature=name)
        half = (row["value_high"] - row["value_low"]) / 2
        assert half == pytest.approx(1.96 * np.std(draws, axis=0)[k], rel=0.08)


def test_paper_interval_is_available_under_its_name(frame, audit):
    paper = shapley_rawls.explain(audit, "tpr", coalitions=rule(frame), sensitive="absent")
    ours = explain(audit, "tpr", coalitions=rule(frame), sensitive="absent")
    assert paper.gap["difference"] == ours.gap["difference"]
    assert paper.gap["difference_high"] - paper.gap["difference"] == pytest.approx(
        paper.gap["difference"] - paper.gap["difference_low"], abs=1e-12
    )
    assert paper.gap["difference_low"] != ours.gap["difference_low"]


def test_scores_are_explained_too(frame, audit):
    result = explain(audit, "mean_score", model="logistic")
    (gap,) = part(result, "gap")
    assert sum(row["difference"] for row in part(result, "contribution to the gap")) == pytest.approx(
        gap["difference"], abs=1e-10
    )
    assert result.details["value_kind"] == "number"


# -- groups ----------------------------------------------------------------------------------------------------------
def test_swapping_the_groups_flips_the_sign(frame, audit):
    one = explain(audit, "ppv", coalitions=rule(frame), sensitive="absent", target={"sex": "F"})
    two = explain(audit, "ppv", coalitions=rule(frame), sensitive="absent", target={"sex": "M"})
    for a, b in zip(part(one, "contribution to the gap"), part(two, "contribution to the gap"), strict=True):
        assert a["difference"] == pytest.approx(-b["difference"], abs=1e-12)
        assert a["p_value"] == pytest.approx(b["p_value"], rel=1e-4)
    given = explain(audit, "ppv", coalitions=rule(frame), sensitive="absent", by=[{"sex": "M"}, {"sex": "F"}])
    assert given.estimates == one.estimates


def test_three_groups_have_an_omnibus_and_all_pairs(frame):
    three = frame.assign(race=np.random.default_rng(3).choice(["a", "b", "c"], len(frame)))
    audit = Audit(three, outcome="y", groups="race", features=FEATURES)
    result = explain(audit, "tpr", coalitions=rule(three), sensitive="absent")
    assert [(row["group"], row["target"]) for row in part(result, "gap")] == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
    assert result.details["omnibus"]["df"] == 2
    values = [entry["values"]["shapley"] for entry in result.details["groups"]]
    inside = three["y"] == 1
    assert sum(values) == pytest.approx(rule(three)(FEATURES)[inside].mean() / 0.5, abs=1e-12)


def test_two_attributes_show_the_interaction_that_margins_hide():
    """Decisions by parity of two attributes: both margins fair, the cells far apart."""
    random = np.random.default_rng(4)
    n = 1200
    frame = pd.DataFrame(
        {
            "sex": random.choice(["F", "M"], n),
            "race": random.choice(["p", "q"], n),
            "x": random.normal(size=n),
        }
    )
    parity = (frame["sex"].eq("F") ^ frame["race"].eq("p")).to_numpy()
    audit = Audit(frame.assign(y=1), outcome="y", groups=["sex", "race"], features=["x"])
    seen = frame["x"].to_numpy()
    result = explain(
        audit, "selection_rate", coalitions=lambda names: seen + parity > 0.5, sensitive="absent"
    )
    cells = result.details["multi_stage"]["cells"]
    assert [cell["value"] for cell in cells] == [row["value"] for row in part(result, "value")]
    rates = seen + parity > 0.5
    assert sum(cell["value"] for cell in cells) == pytest.approx(rates.mean() / 0.5, abs=1e-12)
    assert result.details["multi_stage"]["interaction"]["p_value"] < 1e-6
    (row,) = part(result, "contribution to the gap", group="interaction")
    means = [rates[(frame["sex"] == s) & (frame["race"] == r)].mean() for s in "FM" for r in "pq"]
    assert row["difference"] == pytest.approx(means[0] - means[1] - means[2] + means[3], abs=1e-12)
    assert abs(rates[frame["sex"] == "F"].mean() - rates[frame["sex"] == "M"].mean()) < 0.1


# -- players and the sensitive attribute -----------------------------------------------------------------------------
def test_the_sensitive_attribute_is_a_player_when_it_is_a_feature(frame, audit):
    result = explain(audit, "tpr", model="tree", features=["age", "sex"])
    assert result.details["sensitive"] == "player"
    assert result.details["features"] == ["age", "sex"]
    always = explain(audit, "tpr", model="tree", features=["age", "skill"], sensitive="always")
    assert always.details["features"] == ["age", "skill"]
    absent = explain(audit, "tpr", model="tree", features=["age", "skill"])
    assert absent.details["sensitive"] == "absent"
    # the same two features, another question: other numbers
    assert [row["difference"] for row in always.drivers] != [row["difference"] for row in absent.drivers]


def test_the_sensitive_attribute_under_another_name_is_seen(frame):
    coded = frame.assign(male=frame["sex"].eq("M").astype(int))
    audit = Audit(coded, outcome="y", groups="sex", features=["age", "male"])
    for sensitive in (None, "absent", "always"):
        with pytest.raises(
            InputError, match="'features' names 'male', which says no more and no less than 'sex'"
        ):
            explain(audit, "tpr", model="tree", sensitive=sensitive)
    result = explain(audit, "tpr", model="tree", sensitive="player")
    assert result.details["features"] == ["age", "male"]


def test_one_hot_columns_of_one_variable_are_one_player(frame):
    wide = frame.join(pd.get_dummies(frame["colour"], prefix="colour").astype(int))
    columns = ["age", "colour_red", "colour_green", "colour_blue"]
    audit = Audit(wide, outcome="y", groups="sex", features=columns)
    result = explain(audit, "tpr", model="logistic")
    assert result.details["features"] == ["age", "colour"]
    apart = explain(audit, "tpr", model="logistic", features={name: [name] for name in columns})
    assert apart.details["features"] == columns
    together = explain(audit, "tpr", model="logistic", features={"all": columns})
    assert together.details["features"] == ["all"]
    assert together.drivers[0]["difference"] == pytest.approx(together.gap["difference"], abs=1e-12)


def test_pipelines_that_pick_columns_by_name_are_refitted_without_them(frame, audit):
    numbers = ("numbers", StandardScaler(), ["age", "skill"])
    pipeline = make_pipeline(
        ColumnTransformer([numbers, ("words", OneHotEncoder(), ["colour"])]), LogisticRegression()
    )
    result = explain(audit, "tpr", model=pipeline, seed=3)
    other = explain(
        Audit(pl.from_pandas(frame), outcome="y", groups="sex", features=FEATURES),
        "tpr",
        model=pipeline,
        seed=3,
    )
    assert [row["difference"] for row in result.estimates] == pytest.approx(
        [row["difference"] for row in other.estimates], abs=1e-12
    )
    fitted = pipeline.fit(frame[FEATURES], np.where(frame["y"] == 1, "yes", "no"))
    imputed = explain(audit, "tpr", model=fitted, coalitions="marginal", background=5)
    decision = fitted.predict(frame[FEATURES]) == "yes"
    inside = (frame["sex"] == "F") & (frame["y"] == 1)
    (own,) = part(imputed, "rate", group="F")
    assert own["rate"] == pytest.approx(decision[inside].mean(), abs=1e-12)


def test_a_second_metric_needs_no_second_fit(audit):
    events = []
    explain(audit, "tpr", model="tree", seed=77, progress=events.append)
    assert events[0].done == 0
    assert events[-1].done == events[-1].total == 7
    again = []
    explain(audit, "fpr", model="tree", seed=77, progress=again.append)
    assert [event.done for event in again] == [7]


@pytest.mark.slow
def test_one_seed_gives_the_same_numbers_for_any_number_of_jobs(audit):
    alone = explain(audit, "tpr", model="forest", features=["age", "skill"], seed=5, jobs=1)
    from inside.explain import CACHE

    CACHE.batches.clear()
    pair = explain(audit, "tpr", model="forest", features=["age", "skill"], seed=5, jobs=2)
    assert alone.estimates == pair.estimates
    other = explain(audit, "tpr", model="forest", features=["age", "skill"], seed=6)
    assert other.estimates != alone.estimates


def test_row_order_and_label_types_do_not_matter(frame, audit):
    base = explain(audit, "ppv", coalitions=rule(frame), sensitive="absent")
    order = np.random.default_rng(0).permutation(len(frame))
    mixed = frame.iloc[order].reset_index(drop=True)
    again = explain(
        Audit(mixed, outcome="y", groups="sex", features=FEATURES),
        "ppv",
        coalitions=rule(mixed),
        sensitive="absent",
    )
    coded = frame.assign(sex=frame["sex"].map({"F": 0, "M": 1}))
    numbers = explain(
        Audit(coded, outcome="y", groups="sex", features=FEATURES),
        "ppv",
        coalitions=rule(coded),
        sensitive="absent",
    )
    for name in ("difference", "difference_low", "difference_high", "value"):
        expected = [row[name] for row in base.estimates]
        assert [row[name] for row in again.estimates] == pytest.approx(expected, abs=1e-6)
        assert [row[name] for row in numbers.estimates] == pytest.approx(expected, abs=1e-6)


def test_doubling_every_row_changes_only_the_certainty(frame):
    # the quarter rows at the ends stay what they are, so of few people the error falls by a little more than √2
    frame = pd.concat([frame] * 4, ignore_index=True)
    double = pd.concat([frame, frame], ignore_index=True)
    one = explain(
        Audit(frame, outcome="y", groups="sex", features=FEATURES),
        "tpr",
        coalitions=rule(frame),
        sensitive="absent",
    )
    two = explain(
        Audit(double, outcome="y", groups="sex", features=FEATURES),
        "tpr",
        coalitions=rule(double),
        sensitive="absent",
    )
    for a, b in zip(part(one, "contribution to the gap"), part(two, "contribution to the gap"), strict=True):
        assert a["difference"] == pytest.approx(b["difference"], abs=1e-12)
        assert b["error"] == pytest.approx(a["error"] / np.sqrt(2), rel=0.01)


def test_a_split_column_a_share_and_booleans(frame):
    random = np.random.default_rng(9)
    marks = random.random(len(frame)) < 0.5
    marked = frame.assign(split=np.where(marks, "test", "train"))
    audit = Audit(marked, outcome="y", groups="sex", features=FEATURES)
    by_column = explain(audit, "tpr", model="tree", test="split")
    by_array = explain(audit, "tpr", model="tree", test=marks)
    assert by_column.estimates == by_array.estimates
    share = explain(audit, "tpr", model="tree", test=0.4)
    assert share.provenance["rows"] == pytest.approx(0.4 * len(frame), abs=3)


# -- many features ---------------------------------------------------------------------------------------------------
def many(players=14, n=400):
    random = np.random.default_rng(11)
    names = [f"v{k}" for k in range(players)]
    frame = pd.DataFrame(random.normal(size=(n, players)), columns=names)
    frame["sex"] = random.choice(["F", "M"], n)
    frame["y"] = 1
    weights = random.normal(size=players)
    shift = 0.8 * frame["sex"].eq("M").to_numpy()

    def decide(seen):
        places = [names.index(name) for name in seen]
        return frame[list(seen)].to_numpy() @ weights[places] + shift * ("v3" in seen) > 0

    return Audit(frame, outcome="y", groups="sex", features=names), decide


def test_equal_surplus_evaluates_players_plus_one_coalitions():
    audit, decide = many()
    calls = []
    result = explain(
        audit, "tpr", coalitions=lambda names: calls.append(names) or decide(names), sensitive="absent",
        allocation="equal_surplus",
    )  # fmt: skip
    assert len(calls) == result.details["coalition_count"] == 15
    total = sum(row["difference"] for row in part(result, "contribution to the gap"))
    assert total == pytest.approx(result.gap["difference"], abs=1e-12)


def test_sampled_shapley_is_near_the_exact_one_and_says_its_error():
    audit, decide = many(players=8)
    exact = explain(audit, "tpr", coalitions=decide, sensitive="absent")
    # 8 features are below the exact limit; a budget below 2^8 − 1 samples all the same
    sampled = explain(audit, "tpr", coalitions=decide, sensitive="absent", budget=200)
    assert sampled.details["coalition_count"] <= 200
    total = sum(row["difference"] for row in part(sampled, "contribution to the gap"))
    assert total == pytest.approx(sampled.gap["difference"], abs=1e-12)
    for a, b in zip(
        part(exact, "contribution to the gap"), part(sampled, "contribution to the gap"), strict=True
    ):
        assert b["monte_carlo"] > 0
        assert abs(a["difference"] - b["difference"]) < 5 * b["monte_carlo"]
        assert b["error"] > b["monte_carlo"]


def test_many_features_are_sampled_and_other_allocations_refused():
    audit, decide = many()
    result = explain(audit, "tpr", coalitions=decide, sensitive="absent")
    assert result.details["coalition_count"] <= 2 * 14 + 2 + 128
    total = sum(row["difference"] for row in part(result, "contribution to the gap"))
    assert total == pytest.approx(result.gap["difference"], abs=1e-12)
    assert any("drawn with their complements" in note.text for note in result.notes if note.code == "sampled")
    few = explain(audit, "tpr", coalitions=decide, sensitive="absent", budget=77)
    assert few.details["coalition_count"] <= 78
    with pytest.raises(InputError, match=r"14 features have 16,383 coalitions: give at least 77 to draw"):
        explain(audit, "tpr", coalitions=decide, sensitive="absent", budget=76)
    with pytest.raises(InputError, match="too many for this allocation"):
        explain(audit, "tpr", coalitions=decide, sensitive="absent", allocation="lsp", budget=500)


# -- edges: an answer or a reason ------------------------------------------------------------------------------------
def test_a_constant_feature_carries_nothing_within_what_few_people_can_tell(frame):
    """Nobody's decision changes with it, which is not the same as to know that nobody's would."""
    audit = Audit(frame.assign(one=1.0), outcome="y", groups="sex", features=["age", "one"])
    result = explain(audit, "tpr", model="logistic")
    (row,) = part(result, "contribution to the gap", feature="one")
    assert row["difference"] == 0.0
    assert row["difference_low"] < 0 < row["difference_high"]
    assert row["p_value"] > 0.9
    (other,) = part(result, "contribution to the gap", feature="age")
    assert other["difference"] == pytest.approx(result.gap["difference"], abs=1e-12)
    result.to_dict()


def test_two_identical_features_share_equally(frame):
    audit = Audit(
        frame.assign(twin=frame["age"]), outcome="y", groups="sex", features=["age", "twin", "skill"]
    )
    result = explain(audit, "tpr", model="logistic")
    points = {row["feature"]: row["difference"] for row in result.drivers}
    assert points["age"] == pytest.approx(points["twin"], abs=1e-12)


def test_a_group_without_positives_is_a_reason(frame):
    none = frame.assign(y=np.where(frame["sex"] == "F", 0, frame["y"]))
    result = explain(Audit(none, outcome="y", groups="sex", features=FEATURES), "tpr", model="logistic")
    assert result.verdict.code == "undetermined"
    assert "of F is undefined" in reason(result.gap["difference"])
    assert all(scalar(row["difference"]) is None for row in part(result, "contribution to the gap"))
    (men,) = part(result, "rate", group="M")
    assert 0 < men["rate"] <= 1
    assert result.plot().to_dict()
    assert read_result(result.to_dict()).summary() == result.summary()


def test_a_coalition_that_decides_alike_for_everybody(frame, audit):
    def decide(names):
        return np.zeros(len(frame)) if names == ("colour",) else rule(frame)(names)

    answer = explain(audit, "tpr", coalitions=decide, sensitive="absent")
    columns = {"value": "value", "contribution to the value": "value", "rate": "rate"}
    assert all(scalar(row[columns.get(row["part"], "difference")]) is not None for row in answer.estimates)
    why = explain(audit, "ppv", coalitions=decide, sensitive="absent")
    (row,) = part(why, "contribution to the gap", feature="age")
    assert "undefined for the classifier of (colour)" in reason(row["difference"])
    assert why.gap["p_value"] > 0  # the first stage stands


def test_a_criterion_can_hold_while_features_drive(frame):
    """Equal true positive rates with opposite feature contributions: drivers are not tests of the criterion."""
    n = 400
    sex = np.repeat(["F", "M"], n // 2)
    frame = pd.DataFrame({"sex": sex, "a": np.arange(n), "b": np.arange(n), "y": 1})
    audit = Audit(frame, outcome="y", groups="sex", features=["a", "b"])
    often = np.tile(np.r_[np.ones(6), np.zeros(4)], n // 10)
    seldom = np.tile(np.r_[np.ones(2), np.zeros(8)], n // 10)
    answers = {
        ("a",): np.where(sex == "F", often, seldom), ("b",): np.where(sex == "F", seldom, often), ("a", "b"): often,
    }  # fmt: skip
    result = explain(audit, "tpr", coalitions=answers, sensitive="absent")
    assert result.verdict.code == "no violation shown"
    assert result.gap["difference"] == pytest.approx(0.0, abs=1e-12)
    assert all(row["p_adjusted"] < 1e-6 for row in result.drivers)
    assert sum(row["difference"] for row in result.drivers) == pytest.approx(0.0, abs=1e-12)


def test_pareto_reading_follows_the_classifier_without_the_feature(frame):
    """b lowers F's rate alone: leaving it out helps F and costs M nothing."""
    n = 600
    random = np.random.default_rng(2)
    sex = np.repeat(["F", "M"], n // 2)
    frame = pd.DataFrame({"sex": sex, "a": 0.0, "b": 0.0, "y": 1})
    audit = Audit(frame, outcome="y", groups="sex", features=["a", "b"])
    good = random.random(n) < 0.7
    hurt = good & ~((sex == "F") & (random.random(n) < 0.4))
    result = explain(
        audit, "tpr", coalitions={("a",): good, ("b",): good, ("a", "b"): hurt}, sensitive="absent"
    )
    entry = next(e for e in result.details["pareto"] if e["feature"] == "b")
    assert entry["helps"]
    assert entry["text"] == "The decisions given without b would help F, with no loss shown for the others."
    effects = {change["group"]: change["effect"] for change in entry["changes"]}
    assert effects == {"F": "gains", "M": "not shown"}
    (men,) = [change for change in entry["changes"] if change["group"] == "M"]
    assert (men["difference_low"], men["difference_high"]) == pytest.approx(
        (-1 / (1 + 300 / 1.959964**2), 1 / (1 + 300 / 1.959964**2)), abs=1e-6
    )  # Tango's interval where nobody's decision changes
    lower = of_the_paper(
        audit,
        "tpr",
        coalitions={("a",): good, ("b",): good, ("a", "b"): hurt},
        sensitive="absent",
        better="lower",
    )
    assert next(e for e in lower.details["pareto"] if e["feature"] == "b")["code"] == "levelling down"


# -- before and after ------------------------------------------------------------------------------------------------
def test_compare_is_paired_and_its_error_is_the_bootstraps(frame, audit):
    before = explain(audit, "tpr", coalitions=rule(frame), sensitive="absent", target={"sex": "F"})

    def fairer(names):
        return rule(frame)(names) | (frame["sex"].eq("F") & frame["skill"].gt(-0.3)).to_numpy()

    after = explain(audit, "tpr", coalitions=fairer, sensitive="absent", target={"sex": "F"})
    result = before.compare(after)
    for row, a, b in zip(
        [r for r in result.estimates if r["part"] == "gap" and r["feature"] != "(all features)"],
        part(before, "contribution to the gap"), part(after, "contribution to the gap"), strict=True,
    ):  # fmt: skip
        assert row["difference"] == pytest.approx(b["difference"] - a["difference"], abs=1e-12)
    assert result.estimates[0]["difference"] == pytest.approx(
        after.gap["difference"] - before.gap["difference"], abs=1e-12
    )
    # the whole gap's change by resampling people within group and outcome
    first, second = rule(frame)(FEATURES).astype(float), fairer(FEATURES).astype(float)
    random = np.random.default_rng(0)
    positives = {label: np.flatnonzero((frame["sex"] == label) & (frame["y"] == 1)) for label in ("M", "F")}
    draws = []
    for _ in range(1500):
        drawn = {label: random.choice(rows, rows.size) for label, rows in positives.items()}
        change = {label: (second - first)[rows].mean() for label, rows in drawn.items()}
        draws.append(change["M"] - change["F"])
    assert result.estimates[0]["error"] == pytest.approx(np.std(draws), rel=0.1)
    assert result.verdict.code == "smaller"
    assert result.plot().to_dict()
    json.dumps(result.to_dict())


def test_compare_refuses_what_is_not_comparable(frame, audit):
    one = explain(audit, "tpr", coalitions=rule(frame), sensitive="absent")
    for odd in (None, math.nan, math.inf, -1, 0, 1, 95, "95%", True, [0.9], {}, 1j, b"x"):
        with pytest.raises(InputError, match="'confidence_level' must be a number between 0 and 1"):
            one.compare(one, confidence_level=odd)
    for odd in (None, 3, [], {}, "x", np.zeros(3)):
        with pytest.raises(InputError, match="'other' must be a result of explain"):
            one.compare(odd)
    other = explain(audit, "fpr", coalitions=rule(frame), sensitive="absent")
    with pytest.raises(InputError, match="same metric"):
        one.compare(other)
    with pytest.raises(InputError, match="read from a file"):
        one.compare(read_result(one.to_dict()))
    fewer = Audit(frame.head(500), outcome="y", groups="sex", features=FEATURES)
    with pytest.raises(InputError, match="same people"):
        one.compare(explain(fewer, "tpr", coalitions=rule(frame.head(500)), sensitive="absent"))
    with pytest.raises(InputError, match="must be a result of explain"):
        one.compare("two")


# -- faults ----------------------------------------------------------------------------------------------------------
FAULTS = [
    ({"model": None}, "'model' is missing"),
    ({"model": "forrest"}, "Did you mean 'forest'"),
    ({"model": StandardScaler()}, "must be a scikit-learn classifier"),
    ({"allocation": "shaply"}, "Did you mean 'shapley'"),
    ({"allocation": {"groups": [0.0]}}, "b_1 = 0 makes the groups' values equal"),
    ({"allocation": {"features": [1.0]}}, "3 players need 2 numbers"),
    ({"coalitions": "refit"}, "'coalitions' must be one of"),
    ({"features": ["age", "age"]}, "names 'age' twice"),
    (
        {"features": ["sex", "age"], "sensitive": "absent"},
        "'sensitive' is 'absent' but 'features' names 'sex'",
    ),
    ({"sensitive": "never"}, "'sensitive' must be one of"),
    ({"target": {"sex": "X"}}, "'target' must be one of the groups"),
    ({"test": 1.5}, "'test' must be a number between 0 and 1"),
    ({"test": np.ones(900, dtype=bool)}, "both sides"),
    ({"budget": 0}, "'budget' must be a whole number"),
    ({"confidence_level": 95}, "confidence_level"),
    ({"seed": -1}, "'seed'"),
    ({"coalitions": lambda names: np.ones(3), "sensitive": "absent"}, "must have 900 decisions"),
    ({"coalitions": lambda names: np.ones(900)}, "'sensitive' is missing"),
    ({"coalitions": np.ones((900, 4)), "sensitive": "absent"}, "900 rows .* and 8 columns"),
    ({"coalitions": {("age",): np.ones(900)}, "sensitive": "absent"}, "lacks the decisions of 6 coalitions"),
    ({"coalitions": lambda names: np.full(900, 2.0), "sensitive": "absent"}, "decisions 0 and 1"),
    ({"by": [{"sex": "F"}]}, "at least two groups"),
]


@pytest.mark.parametrize(("change", "match"), FAULTS, ids=[match[:32] for _, match in FAULTS])
def test_bad_input_is_one_clear_message(audit, change, match):
    arguments = {"metric": "tpr", "model": "logistic"} | change
    metric = arguments.pop("metric")
    with pytest.raises(InputError, match=match) as caught:
        explain(audit, metric, **arguments)
    assert all(fault.argument in NAMES for fault in caught.value.faults)


@pytest.mark.parametrize(
    ("baseline", "match"),
    [(0, "'baseline' must be a number above 0 or one of"), ("priorr", "Did you mean 'prior'")],
)
def test_a_bad_baseline_is_one_clear_message(audit, baseline, match):
    with pytest.raises(InputError, match=match):
        shapley_rawls.explain(audit, "tpr", baseline=baseline)


@pytest.mark.parametrize(
    ("metric", "features", "match"),
    [("tprr", ["age"], "Did you mean 'tpr'"), ("tpr", ["agee"], "Did you mean 'age'")],
)
def test_names_that_are_not_known_are_guessed(audit, metric, features, match):
    with pytest.raises(InputError, match=match):
        explain(audit, metric, model="logistic", features=features)


NAMES = {argument.name for argument in arguments_of(explain)}


def test_faults_name_settings_as_each_front_end_does():
    class Dashes:
        def subject(self, argument):
            return f"--{argument}"

        def name(self, argument, of):
            return f"--{argument}"

        def setting(self, argument, value, of):
            return f"--{argument}"

        def method(self, name):
            return f"fairtrial {name}"

    audit, decide = many()
    with pytest.raises(InputError) as caught:
        explain(audit, "tpr", coalitions=decide, sensitive="absent", budget=30)
    assert "give at least 77 to draw some of them, or --allocation," in caught.value.said(Dashes())
    with pytest.raises(NotApplicable) as refused:
        explain(audit, "base_rate", model="tree")
    assert refused.value.said(Dashes()).endswith("fairtrial certify takes it")


def test_texts_of_the_command_line_become_the_values():
    read = {argument.name: argument.read for argument in arguments_of(explain)}
    assert read["test"]("0.3") == 0.3
    assert read["test"]("part") == "part"
    assert read["target"]("sex=Female") == {"sex": "Female"}
    assert read["budget"]("300") == 300
    read = {argument.name: argument.read for argument in arguments_of(shapley_rawls.explain)}
    assert read["baseline"]("prior") == "prior"
    assert read["baseline"]("0.5") == 0.5


@pytest.mark.parametrize(
    ("metric", "match"),
    [("base_rate", "does not depend on the decisions.*certify takes it"), ("calibration", "score's bin")],
)
def test_metrics_that_cannot_be_explained_are_refused_by_name(audit, metric, match):
    with pytest.raises(NotApplicable, match=match):
        explain(audit, metric, model="logistic")


def test_weights_and_units_are_refused(frame):
    audit = Audit(frame.assign(w=1.0), outcome="y", groups="sex", features=FEATURES, weight="w")
    with pytest.raises(NotApplicable, match="weight"):
        explain(audit, "tpr", model="logistic")


# -- states ----------------------------------------------------------------------------------------------------------
def test_states_follow_the_corrected_p_values(frame, audit):
    result = explain(audit, "tpr", model="tree", target={"sex": "F"})
    for row in result.estimates:
        p = scalar(row["p_adjusted"])
        if row["part"] in ("rate", "value", "contribution to the rate", "contribution to the value"):
            assert row["state"] == "measured"
        elif p is None:
            assert row["state"] == "undetermined"
        else:
            shown = "differs" if row["part"] == "gap" else "carries"
            assert row["state"] == (shown if p <= 0.05 else "not shown")
        assert result.state_of(row).code == row["state"]
    same = result.compare(result)
    assert {row["state"] for row in same.estimates if row["part"] == "gap"} == {"undetermined"}


def test_arguments_are_recorded_without_the_data(frame, audit):
    marks = (np.arange(len(frame)) % 2).astype(bool)
    result = explain(audit, "tpr", model="tree", test=marks.tolist(), features={"both": ["age", "skill"]})
    told = result.provenance["arguments"]
    assert told["test"] == "given"
    assert told["features"] == {"both": ["age", "skill"]}
    assert (told["coalitions"], told["model"], told["sensitive"]) == ("retrain", "tree", "absent")
    given = explain(audit, "tpr", coalitions=rule(frame), sensitive="absent")
    assert given.provenance["arguments"]["coalitions"] == "callable"
    changed = given.compare(given, confidence_level=0.9).provenance["arguments"]
    assert changed["confidence_level"] == 0.9
    assert changed["explanation"] == given.provenance["arguments"]


# -- views -----------------------------------------------------------------------------------------------------------
def test_views_render_the_same_record(frame, audit):
    result = explain(audit, "tpr", model="tree", target={"sex": "F"})
    again = read_result(json.loads(json.dumps(result.to_dict())))
    assert again.summary() == result.summary()
    assert len(result.to_frame()) == len(result.estimates)
    assert {row.keys() >= {"part", "difference", "state"} for row in result.estimates} == {True}
    names = [picture.name for picture in again.pictures()]
    assert names == ["waterfall", "groups", "panel", "mitigation"]
    for picture in again.pictures():
        assert picture.chart.to_dict()
        assert picture.alt
    assert result.reading()[0] == result.verdict.text


def test_labels_from_data_are_escaped(frame):
    evil = "<script>alert(1)</script>"
    marked = frame.assign(sex=np.where(frame["sex"] == "F", evil, "M"))
    result = explain(Audit(marked, outcome="y", groups="sex", features=FEATURES), "tpr", model="tree")
    assert evil not in result._repr_html_()


@pytest.mark.parametrize("name", fairtrial.METRICS)
def test_every_metric_of_the_table_is_answered_or_refused_by_name(audit, name):
    if name in ("base_rate", "calibration", "calibration_negative"):
        with pytest.raises(NotApplicable, match=name):
            explain(audit, name, model="tree", features=["age", "skill"])
        return
    result = explain(audit, name, model="tree", features=["age", "skill"])
    assert result.details["metric"] == name
    total = sum(row["difference"] for row in part(result, "contribution to the gap"))
    assert total == pytest.approx(result.gap["difference"], abs=1e-10)
