"""Numbers of the article's designs."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from fairtrial import Audit, Metric, role
from inside.improve import accuracy_components, directed_pairs, smooth_fairness_components
from inside.inference import Utility, bootstrap_levels, level_cells
from inside.papers import kinked_gap
from oracles.improve import obermeyer_holdout
from validity.improve_asked import improve
from validity.improve_designs import fairness_rejections

HERE = Path(__file__).parent
APPENDIX_E = json.loads((HERE / "improve_appendix_e.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("point", APPENDIX_E["values"], ids=lambda p: f"rows={p['rows']}, eta={p['eta']}")
def test_power_of_appendix_e(point):
    settings = APPENDIX_E["settings"]
    repeats = settings["repeats"]
    rng = np.random.default_rng([point["rows"], int(100 * point["eta"])])
    paper, smooth = fairness_rejections(
        repeats, rng, rows=point["rows"], gap0=settings["mean"], gap1=point["eta"], draws=settings["draws"]
    ).mean(axis=1)
    # Both the listed number and ours are shares of simulated samples: two standard errors of ours are added.
    for ours, listed in ((paper, point["paper"]), (smooth, point["smooth"])):
        noise = 2 * math.sqrt(listed * (1 - listed) / repeats)
        assert abs(ours - listed) <= APPENDIX_E["tolerance"] + noise
    # Normal theory gives the smooth test's power up to the (small) chance that both of its halves fail.
    (v0, c), (_, v1) = settings["covariance"]
    powers = [
        norm.sf(norm.isf(0.05) - (1.52 - e * point["eta"]) / math.sqrt((v0 + v1 - 2 * e * c) / point["rows"]))
        for e in (1, -1)
    ]
    assert smooth == pytest.approx(min(powers), abs=0.01 + 3 * math.sqrt(0.25 / repeats))


@pytest.fixture
def holdout():
    path = obermeyer_holdout()
    if path is None:
        pytest.skip("the Obermeyer hold-out file is not here: set FAIRTRIAL_OBERMEYER to its path")
    return path


def test_obermeyer_holdout_as_a_fixed_challenger(holdout):
    """Section 3.2 on all rows, capacity and sign stated: the levels, T and standard errors of the method's page."""
    golden = json.loads((HERE / "improve_obermeyer.json").read_text())
    settings, values, tolerance = golden["settings"], golden["values"], golden["tolerance"]
    audit = Audit(
        holdout, outcome=settings["outcome"], score=settings["status_quo"], groups=settings["group"]
    )
    asked = {"candidates": settings["candidate"], "capacity": 0.03}
    result = improve(audit, "ppv", "ppv", sign={settings["group"]: 1}, **asked)
    white, black, gap = result.estimates
    for row, name in ((white, "White"), (black, "Black")):
        assert [row["status_quo"], row["alternative"]] == pytest.approx(values[name], abs=tolerance["level"])
        assert row["statistic"] == pytest.approx(values["statistic"][name], abs=1e-6)
        assert row["standard_error"] == pytest.approx(values["standard_error"][name], abs=1e-6)
        assert row["p_value"] < values["challenger"]
    assert [gap["status_quo"], gap["alternative"]] == pytest.approx(values["gap"], abs=tolerance["level"])
    assert gap["statistic"] == pytest.approx(values["statistic"]["gap"], abs=1e-6)
    assert gap["standard_error"] == pytest.approx(values["standard_error"]["gap"], abs=1e-6)
    assert gap["p_delta_method"] == pytest.approx(values["challenger"], abs=5e-5)
    # a bootstrap of 10,000 draws: three standard errors of its own
    assert result.p_value == pytest.approx(values["challenger"], abs=3 * math.sqrt(0.0165 / 10_000))
    assert result.rejected
    paper = improve(audit, "ppv", "ppv", component="paper", **asked)
    assert paper.p_value == pytest.approx(values["paper"]["Black"], abs=tolerance["p"])
    assert not improve(audit, "ppv", "ppv", splits=7, **asked).rejected
    cost = Metric("cost of the selected", value=settings["cost"], given={role.decision: 1})
    assert not improve(audit, "ppv", cost, sign={settings["group"]: 1}, **asked).rejected  # Appendix H.3


def test_obermeyer_holdout(holdout):
    path = holdout
    golden = json.loads((HERE / "improve_obermeyer.json").read_text())
    settings, values, tolerance = golden["settings"], golden["values"], golden["tolerance"]
    with path.open(newline="") as file:
        table = list(csv.DictReader(file))

    def column(name):
        return np.array([float(row[settings.get(name, name)]) for row in table])

    group, outcome = column("group").astype(int), column("outcome")
    d0, d1 = (
        (s >= np.percentile(s, settings["percentile"])).astype(float)
        for s in map(column, ("status_quo", "candidate"))
    )

    def selected(value):
        return Utility(name="mean of the selected", u0=value * d0, w0=d0, u1=value * d1, w1=d1)

    cells = level_cells(group, 2, [selected(outcome), selected(column("cost"))])
    levels = bootstrap_levels(cells, settings["draws"], np.random.default_rng(0))
    names, pairs = ["White", "Black"], directed_pairs(2)
    for g, name in enumerate(names):
        assert levels.estimate[0, :, g] == pytest.approx(values[name], abs=tolerance["level"])
        component = accuracy_components(levels, 0, names, kind="relative")[g]
        assert component.p_value(0.0) == pytest.approx(values["paper"][name], abs=tolerance["p"])
    gap = np.abs(levels.estimate[0, :, 1] - levels.estimate[0, :, 0])
    assert gap == pytest.approx(values["gap"], abs=tolerance["level"])
    paper = kinked_gap(levels, 0, kind="relative", pairs=pairs, one_sided=False)
    assert paper.p_value(0.0) == pytest.approx(values["paper"]["fairness"], abs=tolerance["p"])
    smooth = smooth_fairness_components(
        levels, 0, names, kind="relative", pairs=pairs, worst=(1, 0), one_sided=False
    )
    assert max(c.p_value(0.0) for c in smooth) == pytest.approx(values["smooth"], abs=tolerance["p_smooth"])
    # Appendix H.3: with cost as accuracy there is no rejection
    assert max(c.p_value(0.0) for c in accuracy_components(levels, 1, names, kind="relative")) > 0.05
