"""The public scan: every scan type, every option, and data at the edge."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairtrial
from fairtrial import FairtrialWarning, InputError, read_result
from fairtrial import _work as work
from inside.direct_calls import scan_with
from inside.ground import Cancelled, NotApplicable
from inside.results import mask_result, published_rows
from inside.scan import selected_rate_interval

scan_of_the_article = fairtrial.papers.conditional_bias_scan.scan

TABLE_1 = [
    "fpr",
    "tpr",
    "fnr",
    "tnr",
    "ppv",
    "fdr",
    "for",
    "npv",
    "balance_positive",
    "balance_negative",
    "calibration",
    "calibration_negative",
]


def frame(seed: int = 1, n: int = 1200, harmed: float = 1.5) -> pd.DataFrame:
    """Women of class b in the north get the decision too often."""
    random = np.random.default_rng(seed)
    group = random.choice(["a", "b", "c"], size=n, p=[0.5, 0.3, 0.2])
    sex, region = random.choice(["f", "m"], size=n), random.choice(["north", "south", "west"], size=n)
    logs = random.normal(size=n)
    outcome = (random.random(n) < 1 / (1 + np.exp(-logs))).astype(int)
    biased = (group == "b") & (sex == "f") & (region == "north")
    score = np.round(1 / (1 + np.exp(-(logs + harmed * biased))), 2).clip(0.01, 0.99)
    return pd.DataFrame({"group": group, "sex": sex, "region": region, "outcome": outcome, "score": score})


@pytest.fixture(scope="module")
def audit() -> fairtrial.Audit:
    return fairtrial.Audit(
        frame(), outcome="outcome", score="score", threshold=0.5, groups=["group", "sex", "region"]
    )


def run(audit: fairtrial.Audit, metric: str = "fpr", **options: Any) -> Any:
    return fairtrial.scan(audit, metric, protected={"group": "b"}, **{"permutations": 19, **options})


def article(audit: fairtrial.Audit, metric: str = "fpr", **options: Any) -> Any:
    """The article's scan, exact where that is affordable, with strata for its null and σ estimated."""
    usual: dict[str, Any] = {
        "protected": {"group": "b"}, "permutations": 19, "search": "auto", "iterations": 50, "sigma": "estimated",
        "ranges": True, "null": "stratified",
    }  # fmt: skip
    return scan_of_the_article(audit, metric, **{**usual, **options})


@pytest.mark.parametrize(
    ("metric", "condition"),
    [(metric, None) for metric in TABLE_1]
    + [(metric, "any") for metric in TABLE_1 if not metric.startswith("calibration")],
)
def test_every_scan_type_of_table_1(audit: fairtrial.Audit, metric: str, condition: Any) -> None:
    result = run(audit, metric, condition=condition)
    best = result.estimates[0]
    assert result.search == "exact"
    assert 0 < result.p_value <= 1
    assert best["score"] >= 0
    assert 0 <= best["rate_low"] <= best["rate"] <= best["rate_high"] <= 1
    again = read_result(json.loads(json.dumps(result.to_dict())))
    assert again.to_dict() == result.to_dict()


@pytest.mark.parametrize("options", [{}, {"expectation": "logistic"}, {"expectation": "score"}])
@pytest.mark.parametrize(("direction", "turned"), [("above", "below"), ("below", "above")])
def test_no_outcome_given_the_score_is_calibration_turned(
    audit: fairtrial.Audit, options: dict[str, Any], direction: str, turned: str
) -> None:
    """Pr(Y = 0 | P, X) above is Pr(Y = 1 | P, X) below: same subgroup, score, p-value; rates add up to one."""
    asked = article if options else run
    side = {"above": "positive", "below": "negative"} if options else {"above": "above", "below": "below"}
    with_outcome = asked(audit, "calibration", direction=side[turned], **options)
    without = asked(audit, "calibration_negative", direction=side[direction], **options)
    assert without.subgroup == with_outcome.subgroup
    assert without.score == pytest.approx(with_outcome.score, rel=1e-6, abs=1e-9)
    assert without.p_value == with_outcome.p_value
    one, other = without.estimates[0], with_outcome.estimates[0]
    assert one["rate"] + other["rate"] == pytest.approx(1.0)
    assert one["expected"] + other["expected"] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("metric", ["fpr", "balance_negative"])
def test_finds_the_planted_subgroup(audit: fairtrial.Audit, metric: str) -> None:
    result = run(audit, metric, permutations=199)
    assert result.subgroup == {"sex": ["f"], "region": ["north"]}
    assert result.p_value == pytest.approx(1 / 200)
    assert result.verdict.code == "found"
    assert "sex: f; region: north" in result.verdict.text


def test_complementary_metrics_mirror_each_other(audit: fairtrial.Audit) -> None:
    """The false positive rate above is the true negative rate below: same people, same score."""
    above, below = run(audit, "fpr", direction="above"), run(audit, "tnr", direction="below")
    assert above.score == pytest.approx(below.score)
    assert above.subgroup == below.subgroup
    both = run(audit, "fpr", direction="differs")
    assert both.score == pytest.approx(max(above.score, run(audit, "fpr", direction="below").score))


def test_row_order_and_labels_do_not_matter() -> None:
    data = frame()
    renamed = data.assign(region=data["region"].map({"north": "z", "south": "y", "west": "x"}))
    shuffled = renamed.sample(frac=1.0, random_state=3)
    settings: Any = {
        "outcome": "outcome",
        "score": "score",
        "threshold": 0.5,
        "groups": ["group", "sex", "region"],
    }
    first, second = (run(fairtrial.Audit(one, **settings)) for one in (data, shuffled))
    assert first.score == pytest.approx(second.score, rel=1e-9)
    assert second.subgroup == {"sex": ["f"], "region": ["z"]}


def test_same_seed_same_p_for_any_jobs(audit: fairtrial.Audit) -> None:
    scores = [run(audit, "ppv", permutations=160, jobs=jobs).objects["null_scores"] for jobs in (1, 3)]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert run(audit, "ppv", seed=1, permutations=160).objects["null_scores"].tolist() != scores[0].tolist()


def test_restarts_are_reproducible_and_announced(audit: fairtrial.Audit) -> None:
    climbing: Any = {"search": "restarts", "permutations": 120}
    first, second = (article(audit, "fpr", jobs=jobs, **climbing) for jobs in (1, 2))
    assert first.search == "restarts"
    np.testing.assert_array_equal(first.objects["null_scores"], second.objects["null_scores"])
    assert first.score == pytest.approx(article(audit, "fpr").score)
    assert any("not a proof" in note.text for note in first.notes)


def test_cancelled_draws_are_resumed(audit: fairtrial.Audit) -> None:
    store, events = work.MemoryStore(), []
    with (
        work.session(cancel=lambda: len(events) > 2, progress=events.append, store=store),
        pytest.raises(Cancelled),
    ):
        run(audit, "fpr", permutations=400)
    kept = len(store.batches)
    assert kept > 0
    seen: list[work.Progress] = []
    with work.session(store=store):
        resumed = run(audit, "fpr", permutations=400, progress=seen.append)
    assert seen[0].done > 0
    assert resumed.p_value == run(audit, "fpr", permutations=400).p_value


def test_a_target_leaves_the_others_out(audit: fairtrial.Audit) -> None:
    result = run(audit, "fpr", target={"group": "a"})
    assert result.estimates[0]["target"] == "group: a"
    assert any(note.code == "left-out" for note in result.notes)


def test_scikit_learn_models_and_doubly_robust_expectations(audit: fairtrial.Audit) -> None:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    plain = article(audit, "fpr", null=None)
    same = article(
        audit, "fpr", null=None, expectation=LogisticRegression(C=100),
        propensity=LogisticRegression(C=100),
    )  # fmt: skip
    assert same.score == pytest.approx(plain.score, rel=0.01)
    forest = article(
        audit, "fpr", permutations=19,
        expectation=RandomForestClassifier(10, max_depth=3, random_state=0),
    )  # fmt: skip
    assert forest.subgroup == plain.subgroup
    robust = article(audit, "fpr", expectation="doubly-robust")
    assert robust.subgroup == plain.subgroup
    # the cell's own comparison people correct the model, so the sums agree with their rates
    assert robust.estimates[0]["expected"] == pytest.approx(robust.estimates[0]["target_rate"], abs=0.05)


ASSUMES = {
    "stratified": "class membership is permuted among people with the same",
    "propensity": "Holds if the model of the class or that of the event is right",
}


@pytest.mark.parametrize("null", ASSUMES)
@pytest.mark.parametrize("metric", ["fpr", "balance_negative", "calibration"])
def test_every_null_runs_and_says_what_it_assumes(audit: fairtrial.Audit, null: str, metric: str) -> None:
    result = run(audit, metric, null=null)
    texts = " ".join(note.text for note in result.notes)
    assert [name for name, words in ASSUMES.items() if words in texts] == [null]
    assert result.details["null"] == null
    assert 0 < result.p_value <= 1


@pytest.mark.parametrize("null", ["bootstrap", "propensity", "global", "stratified"])
@pytest.mark.parametrize("metric", ["fpr", "balance_negative", "calibration"])
def test_every_null_of_the_articles_score(audit: fairtrial.Audit, null: str, metric: str) -> None:
    result = article(audit, metric, null=null, null_model="pairwise", direction="both")
    texts = " ".join(note.text for note in result.notes)
    assert ("Valid only if that model is right" in texts) == (null in ("bootstrap", "propensity"))
    assert ("reproduce published numbers only" in texts) == (null == "global")
    assert result.details["null"] == null


def test_scores_in_bins_are_close_to_exact_ones() -> None:
    audit = fairtrial.Audit(
        frame(n=3000), outcome="outcome", score="score", threshold=0.5, groups=["group", "sex", "region"],
        bins={"score": 20},
    )  # fmt: skip
    for metric in ("calibration", "balance_negative"):
        exact, binned = (
            article(
                audit, metric, scores=scores, direction="negative" if metric == "calibration" else "positive"
            )
            for scores in ("exact", "bins")
        )
        assert binned.subgroup == exact.subgroup
        assert binned.score == pytest.approx(exact.score, rel=0.15)
        assert any(note.code == "score-bins" for note in binned.notes)
    # strata go by neighbouring scores, so that bins change nothing where the score is only the condition
    asked: Any = {"protected": {"group": "b"}, "permutations": 19}
    first, second = (scan_with(audit, "calibration", scores=scores, **asked) for scores in ("exact", "bins"))
    assert first.estimates == second.estimates
    whole, parts = (
        scan_with(audit, "balance_negative", scores=scores, **asked) for scores in ("exact", "bins")
    )
    assert parts.subgroup == whole.subgroup
    assert parts.score == pytest.approx(whole.score, rel=0.15)


def test_a_scan_of_every_class_corrects_over_its_scans(audit: fairtrial.Audit) -> None:
    result = fairtrial.scan(audit, "fpr")
    assert len(result.estimates) == 8
    tested = [row for row in result.estimates if row["p_adjusted"] is not None]
    assert all(row["p_adjusted"] >= row["p_value"] for row in tested)
    assert result.details["draws"] == 20 * 8 / 0.05 - 1
    assert {"group: b", "sex: f", "region: north"} & {row["protected"] for row in result.found}
    assert len(result.primary()) == len(tested)
    with pytest.warns(FairtrialWarning, match="fewer than"):
        fairtrial.scan(audit, "fpr", protected="group", permutations=19)


def test_a_scan_of_every_class_refuses_what_it_does_not_take(audit: fairtrial.Audit) -> None:
    with pytest.raises(TypeError, match="penalti"):
        fairtrial.scan(audit, "fpr", penalti=1)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="'target' is for a scan of one protected class") as caught:
        fairtrial.scan(audit, "fpr", null=None, target={"group": "a"})
    assert "'null' cannot be none where several classes are scanned" in str(caught.value), (
        "all faults at once"
    )
    with pytest.raises(
        InputError, match="'protected' must be each, an attribute, a list of attributes, or a group"
    ):
        fairtrial.scan(audit, "fpr", protected=[{"group": "a"}])


def test_metrics_of_ones_own() -> None:
    """A data column as the event, a data column or an expression as the condition."""
    import narwhals as nw

    data = frame()
    data["late"] = (data["score"] > 0.6).astype(int)
    data["branch"] = np.where(np.arange(len(data)) % 2 == 0, "x", "y")
    audit = fairtrial.Audit(data, outcome="outcome", groups=["group", "sex", "region"])
    by_column = fairtrial.Metric("late in x", value="late", given={"branch": "x"})
    by_expression = fairtrial.Metric("late in x", value="late", given=nw.col("branch") == "x")
    first, second = run(audit, by_column), run(audit, by_expression)
    assert first.estimates[0]["n"] == second.estimates[0]["n"] < len(data) / 2
    assert first.score == pytest.approx(second.score)


def test_weights_are_refused_by_name() -> None:
    audit = fairtrial.Audit(
        frame().assign(w=1.0), outcome="outcome", score="score", threshold=0.5, groups="group", weight="w"
    )
    with pytest.raises(NotApplicable, match="weight"):
        run(audit)


def test_polars_and_files_give_the_same_numbers(tmp_path: Any, audit: fairtrial.Audit) -> None:
    import polars

    path = tmp_path / "people.csv"
    frame().to_csv(path, index=False)
    settings: Any = {
        "outcome": "outcome",
        "score": "score",
        "threshold": 0.5,
        "groups": ["group", "sex", "region"],
    }
    wanted = run(audit, "calibration")
    for source in (polars.from_pandas(frame()), str(path)):
        got = run(fairtrial.Audit(source, **settings), "calibration")
        assert got.score == pytest.approx(wanted.score, rel=1e-10)
        assert got.p_value == wanted.p_value


def test_intervals_of_a_picked_rate_are_wider_with_more_subgroups() -> None:
    one, many = (selected_rate_interval(0.3, 200, count, 0.95) for count in (1, 4000))
    assert many[0] < one[0] < 0.3 < one[1] < many[1]
    assert selected_rate_interval(0.0, 10, 1, 0.95)[0] == 0.0
    # Chernoff: n·KL(mean, limit) = log(2/0.05)
    p = one[1]
    assert 200 * (0.3 * np.log(0.3 / p) + 0.7 * np.log(0.7 / (1 - p))) == pytest.approx(np.log(40))


# -- data at the edge: an answer or a reason --------------------------------------------------------------------


def edge(data: pd.DataFrame, scan: Any = run, **options: Any) -> Any:
    features = [name for name in data.columns if name not in ("group", "outcome", "decision")]
    audit = fairtrial.Audit(data, outcome="outcome", decision="decision", groups=["group"], features=features)
    return scan(audit, "fpr", **options)


def small(n: int = 60, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "group": np.where(np.arange(n) % 3 == 0, "b", "a"),
            "sex": random.choice(["f", "m"], size=n),
            "outcome": 0,
            "decision": random.integers(0, 2, size=n),
        }
    )


def test_one_comparator_row() -> None:
    data = small()
    data["group"] = np.where(np.arange(60) == 5, "a", "b")
    tested = edge(data)
    assert tested.p_value > 0.05
    sparse = data.assign(sex=[str(i % 20) for i in range(60)])
    assert (
        edge(sparse, null="stratified").p_value > 0.05
    )  # never refused: it has little to say here, and says so
    assert edge(sparse).details["null"] == "propensity"
    answered = edge(data, null=None)
    assert np.isfinite(answered.score)
    assert any(note.code in ("few-comparators", "positivity") for note in answered.notes)


def test_a_stratum_without_comparators_is_flagged_or_dropped() -> None:
    data = small(300)
    data["region"] = np.where((data["group"] == "b") & (np.arange(300) % 2 == 0), "only b", "shared")
    data.loc[data["region"] == "only b", "decision"] = 1
    flagged = edge(data, article)
    assert flagged.subgroup["region"] == ["only b"]
    assert flagged.estimates[0]["unsupported"] == flagged.estimates[0]["n"]
    assert any(note.code == "positivity" for note in flagged.notes)
    dropped = edge(data, article, unsupported="drop")
    assert dropped.estimates[0]["unsupported"] == 0
    assert any(note.code == "dropped-unsupported" for note in dropped.notes)
    # by the matched score they count nothing: no huge score out of nobody to compare with
    assert edge(data).score < 3


def test_a_feature_with_200_values() -> None:
    data = small(2000)
    data["shop"] = [f"shop {i % 200:03d}" for i in range(2000)]
    result = edge(data, article, null="propensity", null_model="main")
    assert result.search == "exact"
    assert len(result.details["values"]) < 5000
    assert result.plot() is not None


def test_a_constant_feature() -> None:
    result = edge(small(200).assign(country="here"))
    assert any(note.code == "constant-feature" for note in result.notes)
    assert "country" not in result.subgroup


def test_a_protected_value_of_one_person() -> None:
    data = small(80)
    data["group"] = np.where(np.arange(80) == 7, "b", "a")
    data.loc[7, "decision"] = 1
    result = edge(data)
    assert result.estimates[0]["n"] == 1
    assert result.p_value > 0.05


def test_no_features_scans_the_class_as_a_whole() -> None:
    result = edge(small(200)[["group", "outcome", "decision"]], direction="differs")
    assert result.estimates[0]["subgroup"] == "everyone"
    assert len(result.estimates) == 1
    assert "No feature was named: the protected class is compared as a whole." in [
        n.text for n in result.notes
    ]


def test_the_protected_attribute_among_the_features_is_named() -> None:
    """Subgroups are of the protected class, so what defines it cannot tell them apart."""
    roles = {"outcome": "outcome", "decision": "decision"}
    audit = fairtrial.Audit(small(200), features=["group", "sex"], **roles)
    result = fairtrial.scan(audit, "fpr", protected={"group": "b"}, permutations=19)
    assert [note.text for note in result.notes if note.code == "defining-feature"] == [
        "group defines the protected class and is not among the features of subgroups."
    ]
    assert result.provenance["arguments"]["features"] == ["sex"]
    alone = fairtrial.Audit(small(200), features="group", **roles)
    with pytest.raises(
        InputError, match="'features' of the Audit names 'group' alone, which defines the protected"
    ):
        fairtrial.scan(alone, "fpr", protected={"group": "b"}, permutations=19)


def test_nobody_meets_the_condition() -> None:
    data = small(60)
    data.loc[data["group"] == "b", "outcome"] = 1
    with pytest.raises(NotApplicable, match="nobody"):
        edge(data)


def test_nothing_above_expectation_is_said_so() -> None:
    data = small(200).assign(decision=0)
    data.loc[data["group"] == "a", "decision"] = np.arange((data["group"] == "a").sum()) % 2
    result = edge(data)
    assert result.verdict.code == "nothing-found"
    assert result.p_value == 1.0


@pytest.mark.filterwarnings("ignore:Every decision is:fairtrial.FairtrialWarning")
def test_every_decision_the_same_is_refused_with_a_reason() -> None:
    with pytest.raises(NotApplicable, match="different events"):
        edge(small(200).assign(decision=1))


# -- bad input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"null": "stratifed"}, r"'null' must be one of .* Did you mean 'stratified'"),
        ({"direction": "up"}, "'direction' must be one of"),
        ({"condition": 2}, r"'condition' must be one of \[0, 1, 'any'\], got 2"),
        ({"permutations": 5}, r"'permutations' must be a whole number between 19 and 10,000,000"),
        ({"penalty": -1}, "'penalty' must be"),
        ({"features": ["group"]}, "defines the protected class"),
        ({"within": ["group"]}, "'within' names 'group', which defines the protected class"),
        ({"features": ["sex"], "within": ["sex"]}, "features are controlled for already"),
        ({"target": 3}, "'target' must be"),
        ({"target": "others"}, "'target' must be"),
        ({"top": 1001}, "'top' must be"),
        ({"features": ["sx"]}, "sx"),
        ({"seed": -1}, "'seed' must be"),
        ({"confidence_level": 2}, "'confidence_level' must be"),
    ],
)
def test_bad_input_is_named(audit: fairtrial.Audit, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(audit, "fpr", **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"search": "exct"}, r"'search' must be one of .* Did you mean 'exact'"),
        ({"sigma": -1}, "'sigma' must be"),
        ({"ridge": 0}, "'ridge' must be a number above 0"),
        ({"expectation": "forest"}, "'expectation' must be one of"),
        ({"expectation": 3}, "'expectation' must be one of"),
        ({"expectation": "score"}, "only calibration asks about"),
        ({"direction": "above"}, "'direction' must be one of"),
        ({"neighbours": 1}, "'neighbours' must be"),
    ],
)
def test_bad_input_of_the_article_is_named(
    audit: fairtrial.Audit, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        article(audit, "fpr", **options)


@pytest.mark.parametrize("name", ["score", "sigma", "expectation", "ridge", "null_model", "restarts"])
def test_the_article_is_not_met_by_accident(audit: fairtrial.Audit, name: str) -> None:
    with pytest.raises(TypeError, match=name):
        run(audit, "fpr", **{name: 1})


def test_unknown_protected_value(audit: fairtrial.Audit) -> None:
    with pytest.raises(InputError, match="'protected' names group = 'B'"):
        fairtrial.scan(audit, "fpr", protected={"group": "B"})
    with pytest.raises(InputError, match="'protected' names the unknown column 'b'"):
        fairtrial.scan(audit, "fpr", protected="b")


def test_metrics_a_scan_cannot_take(audit: fairtrial.Audit) -> None:
    with pytest.raises(NotApplicable, match="flag or certify"):
        run(audit, "brier")
    with pytest.raises(InputError, match="has no such one"):
        run(audit, "selection_rate", condition="any")


def test_a_score_that_is_no_probability_is_refused() -> None:
    data = frame()
    data["score"] = (data["score"] * 10).round()
    audit = fairtrial.Audit(
        data, outcome="outcome", score="score", threshold=5, groups=["group", "sex", "region"]
    )
    with pytest.raises(InputError, match="outcome-rate"):
        run(audit, "balance_negative")
    assert run(audit, "balance_negative", probability="outcome-rate").score > 0


def test_an_exact_search_beyond_reach_is_refused() -> None:
    random = np.random.default_rng(0)
    data = small(400)
    for number in range(3):
        data[f"f{number}"] = random.integers(0, 14, size=400).astype(str)
    with pytest.raises(NotApplicable, match="more than 12 values each: use fewer features or coarser bins"):
        edge(data[["group", "outcome", "decision", "f0", "f1"]], null=None)
    with pytest.raises(NotApplicable, match="restarts"):
        edge(data, article, search="exact", null=None)
    with pytest.warns(FairtrialWarning, match="not a proof"):
        edge(data, article, null=None)
    shallow = edge(data, null=None)
    assert shallow.search == "depth 2"
    assert any("solved in turn, which is no proof" in note.text for note in shallow.notes)


@pytest.mark.parametrize(
    ("asked", "argument", "cure"),
    [
        ({"metric": "brier"}, "metric", "Use flag or certify for it"),
        ({"metric": "selection_rate", "condition": 1}, "condition", ""),
        ({"target": {"group": "z"}}, "target", ""),
        ({"features": ["group"]}, "features", ""),
    ],
)
def test_faults_are_facts(audit: fairtrial.Audit, asked: dict[str, Any], argument: str, cure: str) -> None:
    with pytest.raises(InputError) as caught:
        run(audit, **asked)
    (fault,) = caught.value.faults
    assert fault.argument == argument
    assert str(fault).endswith(cure)


def test_states_have_codes_and_reasons(audit: fairtrial.Audit) -> None:
    best, *lower = run(audit, null=None).estimates
    assert (best["state"], best["state_reason"]) == ("not tested", "no null was asked for")
    assert {(row["state"], row["state_reason"]) for row in lower} == {("listed", "not tested")}
    result = fairtrial.scan(
        fairtrial.Audit(
            small(60).assign(sex="f"), outcome="outcome", decision="decision", groups=["group", "sex"]
        ),
        "fpr",
    )
    untested = result.estimates[-1]
    assert (untested["protected"], untested["state"]) == ("sex: f", "not tested")
    assert untested["state_reason"] == "there is nobody (sex: not f): nothing can be compared"
    assert not result.state_of(untested).compared


def test_few_people_are_masked_on_either_side() -> None:
    """Three people outside the class: the row goes, and what is left can still be read and drawn."""
    data = small(90)
    data["group"] = np.where(np.arange(90) < 3, "a", "b")
    data["decision"] = np.arange(90) % 2
    result = edge(data.drop(columns="sex"))
    assert result.estimates[0]["target_n"] == 3
    content = mask_result(result, 10)
    assert content["estimates"][0]["state"] == "masked"
    assert content["details"]["values"] == []
    published = published_rows(read_result(content))
    # the sentence told the three people's rate, 33.3%
    assert published.reading()[0] == "not shown: masked, since it tells of fewer than 10 people"
    assert [picture.name for picture in published.pictures()] == ["subgroup"]


def test_charts_hold_the_numbers(audit: fairtrial.Audit) -> None:
    result = run(audit, "fpr")
    pictures = result.pictures()
    assert [picture.name for picture in pictures] == ["subgroup", "luck"]
    for picture in pictures:
        assert len(json.dumps(picture.chart.to_dict())) > 500
    assert sum(bar["draws"] for bar in result.details["null_histogram"]) == 19
    assert fairtrial.scan(audit, "fpr", permutations=4000).pictures()[0].name == "scans"
