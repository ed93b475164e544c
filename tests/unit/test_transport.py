"""The public function: criteria, distances, refusals, the result and its charts."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import fairtrial
from fairtrial import Audit, InputError, Metric, TransportResult, measure, role, transport
from inside.ground import NotApplicable
from inside.papers import fairness_test
from inside.results import mask_result, scalar
from inside.transport import linear_rule
from oracles.transport_designs import compas

of_the_paper = partial(fairness_test, calibration="pooled")
FEATURES = ["male", "priors", "felony", "under_25", "over_45"]
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "transport.json").read_text())["values"]


class Fitted:
    """The COMPAS split of the golden numbers, as frames."""

    def __init__(self) -> None:
        data = compas()
        x = pd.DataFrame(data.x, columns=FEATURES)
        frame = data.frame.reset_index(drop=True)  # type: ignore[attr-defined]
        self.frame = pd.concat(
            [frame[["race", "sex", "c_charge_degree", "two_year_recid", "age"]], x], axis=1
        )
        self.train, self.test = self.frame.iloc[data.train], self.frame.iloc[data.test].reset_index(drop=True)

    def audit(self, model: Any, columns: list[str] | None = None, **more: Any) -> Audit:
        """An audit of the test rows decided by the model."""
        columns = columns or FEATURES
        rows = self.test.assign(decided=model.predict(self.test[columns]))
        return Audit(
            rows, outcome="two_year_recid", decision="decided", groups="race", features=columns, **more
        )


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    return Fitted()


@pytest.fixture(scope="module")
def logistic(fitted: Fitted) -> LogisticRegression:
    return LogisticRegression().fit(fitted.train[FEATURES], fitted.train.two_year_recid)


@pytest.fixture(scope="module")
def scores() -> Audit:
    return Audit(
        fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5, groups=["race"]
    )


def test_golden_compas_through_the_public_function(fitted: Fitted, logistic: LogisticRegression) -> None:
    result = transport(fitted.audit(logistic), "equal_opportunity", distance=logistic)
    golden = GOLDEN["compas"]
    lines = {line["group"]: line for line in result.estimates}
    assert lines["African-American"]["rate"] == pytest.approx(golden["rate_african_american"], abs=5e-4)
    assert lines["Caucasian"]["rate"] == pytest.approx(golden["rate_caucasian"], abs=5e-4)
    for line in lines.values():
        assert line["rate_after"] == pytest.approx(golden["rate_after"], abs=5e-5)
    assert round(lines["African-American"]["lost"]) == golden["moved_down"]
    assert round(lines["Caucasian"]["gained"]) == golden["moved_up"]
    assert result.details["tied"] == golden["ties"]
    assert round(result.people_moved) == golden["moved"]
    plan = result.transport_plan()
    assert plan.sum() == pytest.approx(result.people_moved)
    assert len(plan) == len(fitted.test)


CRITERIA = [
    "equal_opportunity", "predictive_equality", "equalized_odds", "statistical_parity", "accuracy_equality",
    "fnr_parity", "separation", "tnr", "error_rate", ["tpr", "fpr"],
]  # fmt: skip


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
@pytest.mark.parametrize("by", ["race", ["race", "sex"]], ids=str)
def test_every_criterion_ends_with_equal_rates(scores: Audit, criterion: Any, by: Any) -> None:
    result = transport(scores, criterion, by=by)
    compared = [line for line in result.estimates if isinstance(line["rate_after"], float)]
    for family in {(line["metric"], line["attribute"]) for line in compared}:
        after = [l["rate_after"] for l in compared if (l["metric"], l["attribute"]) == family]  # noqa: E741
        assert len(after) >= 2
        assert np.ptp(after) < 1e-10
    assert 0 < result.p_value <= 1
    assert result.statistic > 0


def test_conditional_parity_meets_within_each_stratum(scores: Audit) -> None:
    result = transport(scores, "conditional_parity", by="sex", within="c_charge_degree")
    for stratum in ("selection rate, c_charge_degree F", "selection rate, c_charge_degree M"):
        after = [line["rate_after"] for line in result.estimates if line["metric"] == stratum]
        assert len(after) == 2
        assert np.ptp(after) < 1e-10
    with pytest.raises(InputError, match="'within' is missing"):
        transport(scores, "conditional_parity", by="sex")


def test_a_criterion_of_ones_own_equals_the_named_one(scores: Audit) -> None:
    own = {
        "cells": [{"race": "African-American", "role.outcome": 1}, {"race": "Caucasian", role.outcome: 1}],
        "contrasts": [[1, -1]],
        "event": "role.decision",
        "name": "own",
    }
    groups = [{"race": "African-American"}, {"race": "Caucasian"}]
    mine, named = of_the_paper(scores, own), transport(scores, "equal_opportunity", by=groups)
    assert mine.statistic == pytest.approx(named.statistic)
    assert mine.p_value == pytest.approx(named.p_value)
    assert mine.people_moved == pytest.approx(named.people_moved)
    custom = transport(scores, Metric("tpr2", role.decision, {role.outcome: 1}), by=groups)
    assert custom.statistic == pytest.approx(named.statistic)


def test_an_own_contrast_with_tiny_counts_has_no_p_value_but_a_reason(scores: Audit) -> None:
    own = {
        "cells": [{"race": "Asian", "role.outcome": 1}, {"race": "Caucasian"}, {"race": "Other"}],
        "contrasts": [[1, -0.5, -0.5]],
    }
    result = of_the_paper(scores, own)
    assert result.p_value is None
    assert "fewer than 5" in result.details["p_value"]["reason"]
    assert result.verdict.code == "not-tested"
    assert result.primary() == []
    assert result.statistic > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contrasts": [[1, 1]]}, "sum to zero"),
        ({"contrasts": [[1, -1, 0]]}, "do not fit"),
        ({"event": "role.score"}, "'event' must be one of"),
        ({"cells": [{"role.decision": 1}, {"race": "Caucasian"}]}, "conditions on the decision"),
        ({"cels": 1}, "unknown"),
    ],
)
def test_own_criteria_that_make_no_sense_are_refused(
    scores: Audit, change: dict[str, Any], message: str
) -> None:
    own = {"cells": [{"race": "African-American"}, {"race": "Caucasian"}], "contrasts": [[1, -1]]}
    with pytest.raises(InputError, match=message):
        of_the_paper(scores, {**own, **change})


def _models() -> dict[str, Any]:
    return {
        "logistic": LogisticRegression(),
        "linear SVM": LinearSVC(),
        "ridge": RidgeClassifier(),
        "scaled logistic": make_pipeline(StandardScaler(), LogisticRegression()),
        "min-max scaled SVM": make_pipeline(MinMaxScaler(), LinearSVC()),
        "rbf SVM": SVC(),
        "scaled polynomial SVM": make_pipeline(StandardScaler(), SVC(kernel="poly", degree=2)),
        "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
        "scaled tree": make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4, random_state=0)),
        "naive Bayes": GaussianNB(),
    }


@pytest.mark.parametrize("name", _models())
def test_models_are_recognised_and_their_boundary_reached(fitted: Fitted, name: str) -> None:
    model = _models()[name].fit(fitted.train[FEATURES], fitted.train.two_year_recid)
    result = transport(fitted.audit(model), "statistical_parity", distance=model)
    kind = result.details["distance"]["kind"]
    expected = "predict" if name == "naive Bayes" else "kernel" if name.endswith(("rbf SVM", "polynomial SVM")) else (
        "tree" if "tree" in name else "linear"
    )  # fmt: skip
    assert kind == expected
    after = [line["rate_after"] for line in result.estimates]
    assert np.ptp(after) < 1e-10
    assert result.statistic > 0


def test_a_pipeline_with_categories_is_linear_in_what_it_makes_of_them(fitted: Fitted) -> None:
    columns = ["sex", "c_charge_degree", "priors", "age"]
    prepare = make_column_transformer(
        (OneHotEncoder(), ["sex", "c_charge_degree"]), (StandardScaler(), ["priors", "age"])
    )
    model = make_pipeline(prepare, LogisticRegression()).fit(
        fitted.train[columns], fitted.train.two_year_recid
    )
    audit = fitted.audit(model, columns)
    free = transport(audit, "equal_opportunity", distance=model)
    fixed = transport(audit, "equal_opportunity", distance=model, immutable=["sex", "age"])
    assert free.details["distance"]["kind"] == "linear"
    assert free.details["distance"]["movable"] == columns
    assert fixed.details["distance"]["immutable"] == ["sex", "age"]
    assert fixed.statistic > free.statistic
    assert fixed.p_value == free.p_value


def test_natural_units_come_back_through_the_scaler(fitted: Fitted) -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        fitted.train[FEATURES], fitted.train.two_year_recid
    )
    result = transport(fitted.audit(model), "equal_opportunity", distance=model)
    shifts = {part["feature"]: part["largest"] for part in result.details["distance"]["shifts"]}
    # moving every feature by its shift, in its own units, must carry the farthest moved person to the boundary
    coefficients = dict(zip(FEATURES, model[-1].coef_.ravel() / model[0].scale_, strict=True))
    crossed = sum(abs(coefficients[name]) * shift for name, shift in shifts.items())
    margins = np.abs(model.decision_function(fitted.test[FEATURES]))
    assert crossed == pytest.approx(margins[result.transport_plan() > 0].max())


def test_rescaling_all_features_changes_the_cost_and_nothing_else(fitted: Fitted) -> None:
    base = LogisticRegression(C=1e6, max_iter=5000, tol=1e-12).fit(
        fitted.train[FEATURES], fitted.train.two_year_recid
    )
    reference = transport(fitted.audit(base), "equalized_odds", distance=base)
    for factor in (10.0, 0.1):
        scaled = fitted.test.assign(**{name: fitted.test[name] * factor for name in FEATURES})
        rule = {
            "coefficients": dict(zip(FEATURES, (base.coef_.ravel() / factor).tolist(), strict=True)),
            "intercept": float(base.intercept_[0]),
        }
        decided = base.predict(fitted.test[FEATURES])
        audit = Audit(
            scaled.assign(decided=decided), outcome="two_year_recid", decision="decided", groups="race"
        )
        other = transport(audit, "equalized_odds", distance=rule)
        assert other.p_value == pytest.approx(reference.p_value, rel=1e-9)
        assert other.statistic == pytest.approx(reference.statistic * factor, rel=1e-9)
        assert np.allclose(other.transport_plan(), reference.transport_plan(), atol=1e-7)
        for mine, theirs in zip(other.estimates, reference.estimates, strict=True):
            assert mine["rate_after"] == pytest.approx(theirs["rate_after"], abs=1e-9)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_norms_and_mixed_costs_order_as_they_must(
    fitted: Fitted, logistic: LogisticRegression, norm: str
) -> None:
    audit = fitted.audit(logistic)
    free = transport(audit, "equal_opportunity", distance=logistic, norm=norm)
    tied = transport(audit, "equal_opportunity", distance=logistic, norm=norm, immutable="priors")
    assert tied.statistic >= free.statistic - 1e-9
    jump = {"discrete": ["male", "felony", "under_25", "over_45"], "norm": norm}
    cheap = of_the_paper(audit, "equal_opportunity", distance=logistic, step_cost=0.05, **jump)
    dear = of_the_paper(audit, "equal_opportunity", distance=logistic, step_cost=5.0, **jump)
    assert 0 < cheap.statistic <= dear.statistic


def test_a_predict_function_gives_an_upper_bound(fitted: Fitted, logistic: LogisticRegression) -> None:
    audit = fitted.audit(logistic)
    exact = transport(audit, "statistical_parity", distance=logistic, units="standard")
    searched = transport(audit, "statistical_parity", distance=logistic.predict)
    assert searched.details["distance"]["kind"] == "predict"
    assert searched.statistic >= exact.statistic
    assert any(note.code == "searched-distance" for note in searched.notes)
    forest = RandomForestClassifier(20, random_state=0).fit(
        fitted.train[FEATURES], fitted.train.two_year_recid
    )
    assert transport(fitted.audit(forest), "statistical_parity", distance=forest).statistic > 0


def test_a_threshold_other_than_one_half_is_found(fitted: Fitted, logistic: LogisticRegression) -> None:
    probability = logistic.predict_proba(fitted.test[FEATURES])[:, 1]
    audit = Audit(
        fitted.test.assign(p=probability), outcome="two_year_recid", score="p", threshold=0.35, groups="race"
    )
    by_model = transport(audit, "equal_opportunity", distance=logistic)
    by_odds = transport(audit, "equal_opportunity", distance="log-odds")
    length = float(np.linalg.norm(logistic.coef_))
    assert by_model.statistic == pytest.approx(by_odds.statistic / length, rel=1e-6)
    assert transport(audit, "equal_opportunity").details["distance"]["kind"] == "score"


def test_a_column_of_distances(scores: Audit) -> None:
    frame = fairtrial.load("compas").assign(far=lambda rows: (rows.decile_score - 4.5).abs() + 0.5)
    audit = Audit(frame, outcome="two_year_recid", score="decile_score", threshold=5, groups="race")
    mine = transport(audit, "equal_opportunity", distance="far")
    assert mine.statistic == pytest.approx(transport(scores, "equal_opportunity").statistic)
    negative = Audit(
        frame.assign(far=-1.0), outcome="two_year_recid", score="decile_score", threshold=5, groups="race"
    )
    with pytest.raises(InputError, match="negative"):
        transport(negative, "equal_opportunity", distance="far")


def test_labels_only_give_the_gap_test_and_the_reason(fitted: Fitted, logistic: LogisticRegression) -> None:
    audit = fitted.audit(logistic)
    result = transport(audit, "equalized_odds")
    assert result.p_value == 1 / 200_000, "by draws, of which none lies beyond"
    assert result.statistic is None
    assert "decisions only" in result.details["statistic"]["reason"]
    assert "decisions only" in result.summary()
    with pytest.raises(InputError, match="decisions only"):
        result.transport_plan()
    assert len(result.pictures()) == 1


def test_people_who_cannot_move_make_it_impossible_with_a_reason(
    fitted: Fitted, logistic: LogisticRegression
) -> None:
    result = transport(fitted.audit(logistic), "equal_opportunity", distance=logistic, immutable=FEATURES)
    assert result.statistic is None
    assert "cannot move" in result.verdict.text
    assert result.p_value < 1e-6
    assert any(note.code == "cannot-move" for note in result.notes)
    json.dumps(result.to_dict(), allow_nan=False)


def test_tolerance_and_direction(scores: Audit) -> None:
    groups = [{"race": "African-American"}, {"race": "Caucasian"}]
    kinds = {"by": groups, "target": {"race": "Caucasian"}}
    gap = transport(scores, "fpr", **kinds)
    wide = transport(scores, "fpr", tolerance=0.1, **kinds)
    assert 0 < wide.statistic < gap.statistic
    after = {line["group"]: line["rate_after"] for line in wide.estimates}
    assert after["African-American"] - after["Caucasian"] == pytest.approx(0.1, abs=1e-10)
    assert transport(scores, "fpr", tolerance=0.3, **kinds).people_moved == 0
    above, below = (transport(scores, "fpr", direction=side, **kinds) for side in ("above", "below"))
    assert above.p_value < 1e-10
    assert below.p_value > 0.99
    assert below.statistic == 0
    assert above.statistic == pytest.approx(gap.statistic)


@pytest.mark.filterwarnings("ignore")
def test_one_reference_for_all_conditions() -> None:
    """Among those with the outcome B is larger, among the others A: still all are compared with one group."""
    sizes = {("A", 0): 400, ("B", 0): 250, ("C", 0): 100, ("A", 1): 100, ("B", 1): 200, ("C", 1): 20}
    rows = [(g, y, i % 3 == 0) for (g, y), n in sizes.items() for i in range(n)]
    frame = pd.DataFrame(rows, columns=["g", "y", "d"]).astype({"d": int})
    audit = Audit(frame, outcome="y", decision="d", groups="g")
    lines = transport(audit, "equalized_odds", tolerance=0.05, minimum=10).estimates
    assert {line["target"] for line in lines} == {"A", None}
    assert {line["target_n"] for line in lines} == {400, 100, None}
    named = transport(audit, "equalized_odds", target={"g": "C"})
    assert {line["target"] for line in named.estimates if line["metric"].startswith("false")} == {"C", None}
    others = {line["target"] for line in named.estimates if line["metric"].startswith("true")}
    assert others == {"A", None}, "20 people of C are too few there"
    assert "several-references" in {note.code for note in named.notes}


def test_a_gap_has_measures_numbers(scores: Audit) -> None:
    groups = [{"race": "Hispanic"}, {"race": "Caucasian"}]
    one = transport(scores, "fpr", by=groups, target={"race": "Caucasian"}, confidence_level=0.9)
    other = measure(scores, "fpr", by="race", target={"race": "Caucasian"}, confidence_level=0.9)
    mine = next(line for line in one.estimates if line["group"] == "Hispanic")
    theirs = next(line for line in other.estimates if line["group"] == "Hispanic")
    for name in ("rate", "difference", "difference_low", "difference_high", "n", "target_n"):
        assert mine[name] == pytest.approx(theirs[name], rel=1e-12)
    assert one.p_value == theirs["p_value"]


def test_the_papers_calibration_says_so_and_reproduces_the_article(
    fitted: Fitted, logistic: LogisticRegression
) -> None:
    audit = fitted.audit(logistic)
    result = fairness_test(audit, "equal_opportunity", distance=logistic)
    assert any("does not hold its level" in note.text for note in result.notes)
    assert result.p_value < 1e-6
    wide = fairness_test(audit, "equal_opportunity", distance=logistic, bandwidth=2.0)
    none = fairness_test(audit, "equal_opportunity")
    assert wide.p_value != result.p_value
    assert none.p_value is None
    with pytest.raises(NotApplicable, match="one-sided in the article"):
        fairness_test(audit, "equal_opportunity", distance=logistic, tolerance=0.1)
    for change, message in (
        ({"calibration": "article"}, "'calibration' must be one of"),
        ({"calibration": "pooled", "bandwidth": 0.1}, "belongs to calibration='paper'"),
    ):
        with pytest.raises(InputError, match=message):
            fairness_test(audit, "equal_opportunity", distance=logistic, **change)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"metric": "predictive_parity"}, "Use certify with metric='ppv'"),
    ({"metric": "sufficiency"}, "conditions on the decision"),
    ({"metric": "brier"}, "not a rate of decisions"),
    ({"metric": "base_rate"}, "not a rate of decisions"),
    ({"metric": ["tpr", "accuracy"]}, "different events"),
    ({"metric": "equal_oportunity"}, "Did you mean 'equal_opportunity'"),
    ({"metric": []}, "empty"),
    ({"by": "rce"}, "Did you mean 'race'"),
    ({"by": ["sex", {"race": "Other"}]}, "not both"),
    ({"by": [{"race": "Caucasian"}, {"sex": "Male"}]}, "share rows"),
    ({"by": [{"race": "Caucasian"}]}, "no two groups"),
    ({"target": "overall"}, "must be a reference group"),
    ({"target": {"race": "Caucasia"}}, "Did you mean 'Caucasian'"),
    ({"target": {"sex": "Male"}}, "must name an attribute that is compared: race"),
    ({"by": [{"race": "Other"}, {"race": "Hispanic"}], "target": {"race": "Caucasian"}}, "one of the groups"),
    ({"metric": "calibration"}, "Use measure with metric='calibration'"),
    ({"distance": "scor"}, "Did you mean 'score'"),
    ({"distance": 3}, "'distance' must be"),
    ({"distance": {"coefficients": {"age": 1.0}}}, "differently from the audit's decision"),
    ({"distance": {"coefficient": {}}}, "needs 'coefficients'"),
    ({"distance": "log-odds"}, "between 0 and 1"),
    ({"direction": "up"}, "'direction' must be one of"),
    ({"norm": "l3"}, "'norm' must be one of"),
    ({"tolerance": -0.1}, "'tolerance' must be"),
    ({"immutable": ["age"]}, "speaks of features"),
    ({"minimum": 0}, "'minimum' must be a whole number of at least 1"),
    ({"immutable": 3}, "'immutable' must be a name or a list of names"),
    ({"direction": "both"}, "'direction' must be one of"),
    ({"confidence_level": 95}, "'confidence_level' must be"),
    ({"within": "age_catt"}, "Did you mean 'age_cat'"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=[str(change) for change, _ in REFUSED])
def test_what_makes_no_sense_is_refused_by_name(scores: Audit, change: dict[str, Any], message: str) -> None:
    arguments = {"metric": "equal_opportunity", "by": "race", **change}
    with pytest.raises(InputError, match=message) as caught:
        transport(scores, arguments.pop("metric"), **arguments)
    assert str(caught.value).startswith("transport:")


def test_several_faults_come_in_one_message(scores: Audit) -> None:
    with pytest.raises(InputError, match="2 faults"):
        transport(scores, "equal_opportunity", direction="up", norm="l3")


def test_a_model_that_did_not_make_the_decisions_is_refused(
    fitted: Fitted, logistic: LogisticRegression
) -> None:
    other = DecisionTreeClassifier(max_depth=3).fit(fitted.train[FEATURES], fitted.train.two_year_recid)
    with pytest.raises(InputError, match="differently from the audit's decision"):
        transport(fitted.audit(logistic), "equal_opportunity", distance=other)
    many = LogisticRegression().fit(fitted.train[FEATURES], fitted.train.age // 25)
    with pytest.raises(NotApplicable, match="two classes"):
        transport(fitted.audit(logistic), "equal_opportunity", distance=many)
    with pytest.raises(InputError, match="fitted classifier"):
        transport(fitted.audit(logistic), "equal_opportunity", distance=LogisticRegression())
    with pytest.raises(InputError, match="Did you mean 'priors'"):
        transport(fitted.audit(logistic), "equal_opportunity", distance=logistic, immutable=["prior"])


def test_rows_in_another_order_and_other_labels_give_the_same(scores: Audit) -> None:
    base = transport(scores, "equalized_odds")
    frame = fairtrial.load("compas").sample(frac=1, random_state=3)
    numbered = frame.assign(race=frame.race.astype("category").cat.codes)
    for rows in (frame, numbered):
        audit = Audit(rows, outcome="two_year_recid", score="decile_score", threshold=5, groups="race")
        other = transport(audit, "equalized_odds")
        assert other.p_value == pytest.approx(base.p_value, rel=1e-9)
        assert other.statistic == pytest.approx(base.statistic)
        assert [line["rate_after"] for line in other.estimates[:8]] == pytest.approx(
            [line["rate_after"] for line in base.estimates[:8]]
        )


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_of_every_kind(backend: Any) -> None:
    data = fairtrial.load("compas", backend=backend)
    audit = Audit(data, outcome="two_year_recid", score="decile_score", threshold=5, groups="sex")
    result = transport(audit, "fpr")
    # the same by hand: women's and men's rates meet where one decile step costs least
    frame = fairtrial.load("compas")
    negatives = frame[frame.two_year_recid == 0]
    rates = negatives.assign(high=negatives.decile_score >= 5).groupby("sex").high.mean()
    assert [line["rate"] for line in result.estimates] == pytest.approx([rates["Female"], rates["Male"]])
    assert result.statistic == pytest.approx(result.people_moved), "nobody needs more than one step"
    assert type(result.to_frame()).__module__.startswith(backend)


def test_a_relation_and_a_frame_move_the_same_people(tmp_path: Path) -> None:
    """Distances and groups are fetched by separate queries: their rows must stay in step on every engine."""
    import duckdb

    table = fairtrial.load("compas", backend="pyarrow")
    path = tmp_path / "compas.parquet"
    connection = duckdb.connect()  # before DuckDB 1.5 a relation does not keep its connection open
    connection.from_arrow(table).write_parquet(str(path))
    kinds = {"outcome": "two_year_recid", "score": "decile_score", "threshold": 5, "groups": "race"}
    expected = transport(Audit(table, **kinds), "equalized_odds", distance=role.score)
    for data in (connection.from_arrow(table), str(path)):
        other = transport(Audit(data, **kinds), "equalized_odds")
        assert other.statistic == pytest.approx(expected.statistic)
        assert other.p_value == pytest.approx(expected.p_value, rel=1e-9)
        assert other.people_moved == pytest.approx(expected.people_moved)


def test_result_round_trips_and_its_charts_draw(scores: Audit) -> None:
    import vl_convert

    result = transport(scores, "equalized_odds", by="sex")
    again = TransportResult.from_dict(json.loads(json.dumps(result.to_dict())))
    assert again.to_dict() == result.to_dict()
    assert again.summary() == result.summary()
    assert again.reading()[0] == result.verdict.text
    with pytest.raises(InputError, match="run transport again"):
        again.transport_plan()
    assert result.primary()[0].p_value == result.p_value
    pictures = again.pictures()
    assert [picture.name for picture in pictures] == ["rates", "distances"]
    assert len(result.details["histogram"]) < 5000
    for picture in pictures:
        assert len(vl_convert.vegalite_to_svg(picture.chart.to_dict())) > 5000
    assert "<table" in result._repr_html_()


def test_histogram_and_bands_add_up(scores: Audit) -> None:
    result = transport(scores, "predictive_equality")
    for line in result.estimates:
        bins = [part for part in result.details["histogram"] if part["group"] == line["group"]]
        parts = [part for part in result.details["bands"] if part["group"] == line["group"]]
        if isinstance(line["rate"], float):
            assert sum(part["count"] for part in bins) == line["n"]
            assert sum(part["moved"] for part in bins) == pytest.approx(line["gained"] + line["lost"])
            assert sum(part["mass"] for part in parts) == pytest.approx(line["gained"] + line["lost"])


def test_small_groups_are_listed_and_not_compared(scores: Audit) -> None:
    result = transport(scores, "equal_opportunity")
    small = {line["group"]: line for line in result.estimates if not isinstance(line["rate"], float)}
    assert set(small) == {"Asian", "Native American"}
    for line in small.values():
        assert (line["state"], line["state_reason"]) == ("too few", "fewer than 30 rows")
        assert not result.state_of(line).compared
    assert "not compared: fewer than 30 rows" in result.summary()
    all_in = transport(scores, "equal_opportunity", minimum=1)
    assert all(isinstance(line["rate"], float) for line in all_in.estimates)


def test_a_group_alone_in_its_stratum_has_a_state_of_its_own(scores: Audit) -> None:
    result = transport(scores, "statistical_parity", by="race", within="c_charge_degree", minimum=1)
    assert {line["state"] for line in result.estimates} <= {kind.code for kind in result.states}
    frame = fairtrial.load("compas").query("sex == 'Male' or c_charge_degree == 'F'")
    audit = Audit(frame, outcome="two_year_recid", score="decile_score", threshold=5)
    lone = transport(audit, "statistical_parity", by="sex", within="c_charge_degree")
    found = {(line["metric"], line["group"]): line for line in lone.estimates}
    line = found["selection rate, c_charge_degree M", "Male"]
    assert (line["state"], line["state_reason"]) == ("alone", "nobody to compare with")
    assert "not compared: nobody to compare with" in lone.summary()


def test_few_people_are_masked_in_the_table_and_in_the_details(scores: Audit) -> None:
    result = transport(scores, "equal_opportunity")
    content = mask_result(result, 10)
    rows = {row["group"]: row for row in content["estimates"]}
    assert rows["Asian"]["state"] == "masked"
    assert scalar(rows["Asian"]["n"]) is None
    assert min(part["count"] for part in content["details"]["histogram"]) >= 10
    assert min(part["count"] for part in result.details["histogram"]) < 10


def test_several_arguments_that_do_not_fit_are_several_faults(scores: Audit) -> None:
    with pytest.raises(NotApplicable) as caught:
        of_the_paper(scores, "tpr", norm="l1", immutable="age", discrete=["sex"], step_cost=1)
    assert [fault.argument for fault in caught.value.faults] == [
        "norm", "immutable", "discrete", "step_cost",
    ]  # fmt: skip


def test_a_linear_rule_is_read_from_a_file_and_other_texts_stay(tmp_path: Path) -> None:
    assert [linear_rule(text) for text in ("score", "log-odds", "far")] == ["score", "log-odds", "far"]
    rule = tmp_path / "rule.json"
    rule.write_text('{"coefficients": {"decile_score": 1.0}, "intercept": -4.5}')
    assert linear_rule(str(rule)) == {"coefficients": {"decile_score": 1.0}, "intercept": -4.5}
    for content, message in (("[1, 2]", "must hold a JSON object"), ("{", "could not be read")):
        rule.write_text(content)
        with pytest.raises(InputError, match=message) as caught:
            linear_rule(str(rule))
        assert caught.value.faults[0].argument == "distance"
    with pytest.raises(InputError, match="could not be read"):
        linear_rule(str(tmp_path / "none.json"))


def test_the_declaration_is_light() -> None:
    heavy = ("numba", "sklearn", "scipy", "altair", "pandas", "pyarrow", "duckdb", "pydantic")
    code = f"import sys, fairtrial._transport.method; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_weights_and_units_are_refused_by_name() -> None:
    frame = fairtrial.load("compas").assign(w=1.0)
    audit = Audit(
        frame, outcome="two_year_recid", score="decile_score", threshold=5, groups="race", weight="w"
    )
    with pytest.raises(NotApplicable, match="'weight' is not honoured"):
        transport(audit, "equal_opportunity")
