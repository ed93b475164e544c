"""Rates at every threshold of a score, against brute force, scipy's Smirnov statistic and scikit-learn's areas."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from fairtrial import Audit, InputError, measure
from inside.cli import program
from inside.direct_calls import delong_limits
from inside.inference import Areas, SortedScores, areas_of, band, largest_gap, local_level
from inside.inference import areas_gap_limits as gap_limits
from inside.inference import areas_gap_p as gap_p
from inside.measure import STEP
from inside.results import mask_result
from inside.trial import run
from validity.score_curves import miss_of_band

RNG = np.random.default_rng(20263)
N = 1500
RACE = RNG.choice(list("ABC"), N, p=[0.5, 0.3, 0.2])
RISK = RNG.normal(size=N) + 0.5 * (RACE == "B")
FRAME = pd.DataFrame(
    {
        "race": RACE,
        "sex": RNG.choice(["F", "M"], N),
        "risk": RISK.round(1),
        "y": (RNG.random(N) < 1 / (1 + np.exp(-RISK))).astype(int),
    }
)
AUDIT = Audit(FRAME, score="risk", outcome="y", groups="race", favourable=0, threshold=0.5)


def rows_of(result, metric):
    return {row["group"]: row for row in result.estimates if row["metric"] == metric}


def brute_gap(own: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    """The largest gap of shares at or above any threshold, and where."""
    at = np.unique(np.concatenate([own, others]))
    gaps = (own[:, None] >= at).mean(axis=0) - (others[:, None] >= at).mean(axis=0)
    worst = np.argmax(np.abs(gaps))
    return float(gaps[worst]), float(at[worst])


# -- the pieces -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [1, 2, 4, 9, 27, 80])
def test_the_band_misses_as_often_as_it_says(n, level):
    """Exact probabilities of a chain of binomial counts; sizes between those of the table too."""
    assert 0.85 * (1 - level) < miss_of_band(n, level) <= 1 - level


def test_the_band_is_exact_intervals_at_the_local_level():
    for n, k in ((20, 0), (20, 7), (300, 299), (300, 300)):
        error = float(local_level(np.array([float(n)]), 0.95)[0])
        interval = stats.binomtest(k, n).proportion_ci(1 - error, method="exact")
        low, high = band(np.array([float(k)]), n, 0.95)
        assert (low[0], high[0]) == pytest.approx((interval.low, interval.high), abs=1e-9)
    levels = local_level(np.array([1.0, 10.0, 1e3, 1e6, 1e9]), 0.95)
    assert (np.diff(levels) <= 0).all()


@pytest.mark.parametrize("decimals", [0, 1, 9])
def test_largest_gap_is_smirnovs_statistic(decimals):
    for seed in range(20):
        random = np.random.default_rng(seed)
        scores, codes = random.normal(size=200).round(decimals), random.integers(0, 3, 200)
        scores[codes == 1] += 0.3
        scores = scores.round(decimals)
        order = np.argsort(scores, kind="stable")
        table = SortedScores.of(scores[order], codes[order], 3)
        own = table.places(np.array([False, True, False]))
        for others, there in ((None, codes != 1), (table.places(np.array([False, False, True])), codes == 2)):
            found = largest_gap(own, others, table.ends, 0.95)
            statistic = stats.ks_2samp(scores[codes == 1], scores[there]).statistic
            assert abs(found.gap) == pytest.approx(statistic)
            at = table.scores[found.place]
            seen = (scores[codes == 1] >= at).mean() - (scores[there] >= at).mean()
            assert found.gap == pytest.approx(seen)
            assert (found.p <= 0.05) == (found.low > 0 or found.high < 0)
            exact = stats.ks_2samp(scores[codes == 1], scores[there], method="exact").pvalue
            assert found.p >= exact * 0.999, "never below the exact p-value of scores without ties"


def test_areas_are_scikit_learns_and_delongs():
    random = np.random.default_rng(5)
    scores, codes = random.normal(size=400).round(1), random.integers(0, 4, 400)
    outcome = (random.random(400) < 0.4).astype(np.int64)
    order = np.argsort(scores, kind="stable")
    table = SortedScores.of(scores[order], codes[order], 4)
    inside = np.concatenate([np.eye(4, dtype=bool), ~np.eye(4, dtype=bool)])
    found = areas_of(table, outcome[order], inside)
    variances, mine = [], []
    for row, area in zip(inside, found.area, strict=True):
        chosen = row[codes]
        assert area == pytest.approx(roc_auc_score(outcome[chosen], scores[chosen]))
        x, y = scores[chosen & (outcome == 1)], scores[chosen & (outcome == 0)]
        above = (x[:, None] > y) + 0.5 * (x[:, None] == y)
        variances.append(above.mean(1).var(ddof=1) / x.size + above.mean(0).var(ddof=1) / y.size)
        mine.append([(above.mean(1) ** 2).mean(), (above.mean(0) ** 2).mean()])
    first, second = (
        Areas(*(getattr(found, name)[part] for name in Areas.__slots__)) for part in (slice(4), slice(4, 8))
    )
    low, high = delong_limits(first, second, 0.95)
    away = stats.norm.ppf(0.975) * np.sqrt(np.array(variances[:4]) + np.array(variances[4:]))
    gap = first.area - second.area
    np.testing.assert_allclose([low, high], [gap - away, gap + away])


def test_area_limits_hold_where_delongs_collapse():
    """All positives above all negatives: DeLong's variance is zero, and ten people show little."""
    perfect = Areas(*(np.array([value]) for value in (1.0, 10.0, 90.0, 1.0, 1.0)))
    low, high = perfect.limits(0.95)
    assert high[0] == 1.0
    assert low[0] <= 0.025 ** (1 / 10), "a share of one in ten far below may be absent from ten"
    assert low[0] > 0.5
    plain = Areas(*(np.array([value]) for value in (0.7, 500.0, 500.0, 0.55, 0.55)))
    assert gap_p(plain, plain)[0] == 1.0
    lower = Areas(*(np.array([value]) for value in (0.6, 500.0, 500.0, 0.43, 0.43)))
    p = gap_p(lower, plain)[0]
    for level, inside in ((1 - p * 1.001, True), (1 - p * 0.999, False)):
        assert (gap_limits(lower, plain, level)[1][0] < 0) == inside
    large = Areas(*(np.array([value]) for value in (0.7, 5e5, 5e5, 0.55, 0.55)))
    limits, delong = gap_limits(large, plain, 0.95), delong_limits(large, plain, 0.95)
    np.testing.assert_allclose(limits, delong, atol=0.003)


# -- measure ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", ["rest", {"race": "A"}])
def test_lines_are_the_largest_gaps(target):
    result = measure(AUDIT, ["selection_rate", "tpr", "fpr", "fnr"], thresholds="all", target=target)
    given = {"selection_rate": FRAME.y >= 0, "tpr": FRAME.y == 1, "fpr": FRAME.y == 0, "fnr": FRAME.y == 1}
    for metric, condition in given.items():
        for group in "BC":
            others = FRAME.race != group if target == "rest" else FRAME.race == "A"
            own = FRAME.risk[condition & (FRAME.race == group)].to_numpy()
            other = FRAME.risk[condition & others].to_numpy()
            gap, _ = brute_gap(own, other)
            row = rows_of(result, f"{metric} [any threshold]")[group]
            assert abs(row["difference"]) == pytest.approx(abs(gap))
            share = (own >= row["threshold"]).mean()
            assert row["rate"] == pytest.approx(1 - share if metric == "fnr" else share)
            assert row["difference"] == pytest.approx(row["rate"] - row["target_rate"])
            assert row["difference_low"] <= row["difference"] <= row["difference_high"]
            assert row["rate_low"] <= row["rate"] <= row["rate_high"]
    areas = rows_of(result, "auc")
    for group in "BC":
        own = FRAME[FRAME.race == group]
        assert areas[group]["rate"] == pytest.approx(roc_auc_score(own.y, own.risk))
        other = FRAME[FRAME.race != group] if target == "rest" else FRAME[FRAME.race == "A"]
        assert areas[group]["target_rate"] == pytest.approx(roc_auc_score(other.y, other.risk))


def test_curves():
    result = measure(AUDIT, "tpr", thresholds="all")
    curves = result.details["curves"]
    assert {point["metric"] for point in curves} == {"tpr", "roc", "calibration"}
    for group in "ABC":
        own = FRAME[(FRAME.race == group) & (FRAME.y == 1)].risk.to_numpy()
        points = [point for point in curves if (point["metric"], point["group"]) == ("tpr", group)]
        counts = [own.size] + [int((own >= point["threshold"]).sum()) for point in points]
        for point, count in zip(points, counts[1:], strict=True):
            assert point["rate"] == pytest.approx(count / own.size, abs=1e-6)
            low, high = band(np.array([float(count)]), own.size, 0.95)
            assert (point["low"], point["high"]) == pytest.approx((low[0], high[0]), abs=1e-6)
        steps = -np.diff(counts)
        assert ((steps >= STEP) | (steps == 0)).all(), "what is published tells of no fewer people"
        roc = [point for point in curves if (point["metric"], point["group"]) == ("roc", group)]
        assert len(roc) > 5
        assert all(point["fpr_low"] <= point["fpr"] <= point["fpr_high"] for point in roc)
        bins = [point for point in curves if (point["metric"], point["group"]) == ("calibration", group)]
        assert sum(point["people"] for point in bins) == (FRAME.race == group).sum()
        assert sum(point["events"] for point in bins) == FRAME.y[FRAME.race == group].sum()
        for point in bins:
            error = 1 - 0.95 ** (1 / len(bins))
            interval = stats.binomtest(point["events"], point["people"]).proportion_ci(
                1 - error, method="exact"
            )
            assert (point["low"], point["high"]) == pytest.approx((interval.low, interval.high), abs=1e-6)


def test_without_outcome_and_with_unknown_ones():
    alone = measure(Audit(FRAME, score="risk", groups="race"), thresholds="all")
    assert {row["metric"] for row in alone.estimates} == {"selection_rate [any threshold]"}
    assert {point["metric"] for point in alone.details["curves"]} == {"selection_rate"}
    lacking = FRAME.assign(y=FRAME.y.where(np.arange(N) % 7 > 0))
    audit = Audit(lacking, score="risk", outcome="y", groups="race", missing="drop")
    some = measure(audit, thresholds="all")
    assert rows_of(some, "selection_rate [any threshold]")["B"]["n"] == (FRAME.race == "B").sum()
    known = lacking[(lacking.race == "B") & lacking.y.notna()]
    assert rows_of(some, "auc")["B"]["n"] == len(known)
    assert rows_of(some, "auc")["B"]["rate"] == pytest.approx(roc_auc_score(known.y, known.risk))


def test_overlapping_groups_and_intersections():
    audit = Audit(
        FRAME,
        score="risk",
        outcome="y",
        define={"young": np.arange(N) % 3 == 0},
        groups=["race", "sex", "young"],
    )
    result = measure(audit, thresholds="all", depth=2)
    rows = rows_of(result, "selection_rate [any threshold]")
    inside = ((FRAME.race == "B") & (FRAME.sex == "F")).to_numpy()
    gap, _ = brute_gap(FRAME.risk[inside].to_numpy(), FRAME.risk[~inside].to_numpy())
    assert abs(rows["race: B, sex: F"]["difference"]) == pytest.approx(abs(gap))
    assert rows["young"]["n"] == N // 3


def test_views_saved_results_and_masking():
    result = measure(AUDIT, ["tpr", "fpr"], thresholds="all")
    assert type(result).from_dict(result.to_dict()).to_dict() == result.to_dict()
    assert "at any threshold" not in result.verdict.text
    assert "at threshold" in result.verdict.text
    names = [picture.name for picture in result.pictures()]
    assert names[:4] == ["curve-tpr", "curve-fpr", "roc", "calibration"]
    for picture in result.pictures():
        assert picture.chart.to_dict()
    masked = mask_result(result, 40)
    kept = masked["details"]["curves"]
    assert kept
    assert all(point["people"] >= 40 for point in kept)
    assert len(kept) < len(result.details["curves"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"metric": "ppv"}, "'ppv' is no share of people at or above a threshold"),
        ({"metric": "accuracy"}, "'accuracy' is no share"),
        ({"target": "overall"}, "must be everyone else or a reference group"),
        ({"target": 0.5}, "must be everyone else or a reference group"),
        ({"interval": "wilson"}, "'interval' cannot be chosen over all thresholds"),
        ({"thresholds": "some"}, "'thresholds' must be 'all', got 'some'"),
    ],
)
def test_faults(arguments, said):
    with pytest.raises(InputError) as caught:
        measure(AUDIT, **{"thresholds": "all", **arguments})
    assert said in str(caught.value)


def test_faults_of_the_audit():
    with pytest.raises(InputError, match="'thresholds' needs a score"):
        measure(Audit(FRAME, decision="y", groups="race"), thresholds="all")
    with pytest.raises(InputError, match="'tpr' needs an outcome of 0 and 1"):
        measure(Audit(FRAME, score="risk", groups="race"), "tpr", thresholds="all")
    with pytest.raises(InputError, match="'unit' is not honoured with thresholds='all'"):
        measure(Audit(FRAME, score="risk", unit="sex", groups="race"), thresholds="all")


def test_on_the_command_line_and_in_the_file(tmp_path):
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    words = ["measure", str(tmp_path / "people.csv"), "--score", "risk", "--outcome", "y", "--by", "race"]
    done = CliRunner().invoke(program, [*words, "--metric", "tpr", "--thresholds", "all", "--json", "-"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["details"]["thresholds"] == "all"
    (tmp_path / "audit.toml").write_text(
        '[data]\nsource = "people.csv"\nscore = "risk"\noutcome = "y"\ngroups = ["race"]\n'
        '[measure]\nmetric = ["tpr", "fpr"]\nthresholds = "all"\n'
    )
    trial = run(tmp_path / "audit.toml", out=tmp_path / "out")
    assert len(trial.results["measure"].estimates) == 9
    report = (tmp_path / "out" / "report.html").read_text()
    assert "ROC curves" in report


def test_every_curve_says_whose_it_is():
    """A legend that one layer has and another has not is left out by the drawing."""
    import json

    import fairtrial

    people = fairtrial.load("compas")
    audit = fairtrial.Audit(people, outcome="two_year_recid", score="decile_score", groups="sex")
    drawn = fairtrial.measure(audit, ["tpr", "fpr"], thresholds="all").pictures()
    coloured = [picture for picture in drawn if '"field": "group"' in json.dumps(picture.chart.to_dict())]
    assert len(coloured) >= 3, "two metrics and the ROC curve"
    for picture in coloured:
        spec = json.dumps(picture.chart.to_dict())
        assert '"legend": null' not in spec, picture.name
        assert '"orient": "top"' in spec, picture.name
