"""The ELFA paper's numbers: COMPAS as printed and as valid, and the simulated Tables 1 and 3."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import fairtrial
from inside.direct_calls import difference_interval, log_ratio_p
from inside.inference import benjamini_hochberg, el_log_ratio, joint_test
from oracles.two_rates import largest_tail
from validity.certify_designs import atoms_of

HERE = Path(__file__).parent
COMPAS = json.loads((HERE / "elfa_compas.json").read_text(encoding="utf-8"))
TABLES = json.loads((HERE / "elfa_tables.json").read_text(encoding="utf-8"))
REPEATS = 800


@pytest.fixture(scope="module")
def audit():
    data = fairtrial.load("compas", backend="pandas")
    return fairtrial.Audit(data, outcome="two_year_recid", score="decile_score", threshold=5, groups="race")


def african_american(audit, method, level):
    asked = {"target": {"race": "Caucasian"}, "confidence_level": level}
    if method == "plug-in":
        result = fairtrial.papers.elfa.certify(
            audit, "ppv", target_method=method, rate_interval="bounded", **asked
        )
    else:
        result = fairtrial.certify(audit, "ppv", **asked)
    return next(row for row in result.estimates if row["group"] == "African-American")


@pytest.mark.parametrize("method", ["plug-in", "profile"])
@pytest.mark.parametrize("level", ["0.95", "0.9"])
def test_compas_intervals(audit, method, level):
    row = african_american(audit, method, float(level))
    expected = COMPAS["values"][method][level]
    assert row["n"] == COMPAS["values"]["counts"]["African-American"][1]
    if method == "profile":
        # The published limits are the likelihood ratio's; bounds that hold the level move them by less than .0001.
        table = [COMPAS["values"]["counts"][group] for group in ("African-American", "Caucasian")]
        likelihood = difference_interval(*table[0], *table[1], float(level), "likelihood")
        assert [float(end) for end in likelihood] == pytest.approx(expected, abs=COMPAS["tolerance"])
        for side, name in ((0, "difference_low"), (1, "difference_high")):
            tail = largest_tail(*table[0], *table[1], row[name], "difference", side)
            assert tail == pytest.approx((1 - float(level)) / 2, rel=1e-4)
    else:
        assert [row["difference_low"], row["difference_high"]] == pytest.approx(
            expected, abs=COMPAS["tolerance"]
        )
        assert [row["difference_low"], row["difference_high"]] == pytest.approx(
            COMPAS["values"]["article"][level], abs=0.001
        )


def test_the_headline_does_not_survive(audit):
    row = african_american(audit, "profile", 0.95)
    assert round(row["p_value"], 3) == COMPAS["values"]["profile"]["p_value"]
    assert row["difference_low"] < 0 < row["difference_high"]
    assert african_american(audit, "plug-in", 0.95)["p_value"] < 0.001


def squared_errors(model, generator, n):
    """Model (5.1) or (5.2): squared errors around the true line."""
    x = generator.random(n)
    noise = generator.standard_normal(n)
    return x, (noise if model == "5.1" else noise * np.sqrt(x)) ** 2


@pytest.mark.slow
@pytest.mark.parametrize("row", TABLES["values"]["table_1"], ids=lambda row: f"{row['model']}-{row['m']}")
def test_table_1_coverage(row):
    generator = np.random.default_rng([1, row["m"], int(row["model"][2])])
    n, m = TABLES["settings"]["table_1"]["n"], row["m"]
    truth = np.ones(m) if row["model"] == "5.1" else (2 * np.arange(1, m + 1) - 1) / (2 * m)
    covered = {"el": 0, "eel": 0}
    everyone = np.eye(m, dtype=bool)
    for _ in range(REPEATS):
        x, loss = squared_errors(row["model"], generator, n)
        group = np.minimum((x * m).astype(int), m - 1)
        atoms = atoms_of([loss[group == j] - truth[j] for j in range(m)])
        covered["el"] += joint_test(atoms, everyone, None, 0.0, by_limit_law=True).p_value >= 0.05
        euclidean = joint_test(atoms, everyone, None, 0.0, "euclidean", by_limit_law=True)
        covered["eel"] += euclidean.p_value >= 0.05
    for name, count in covered.items():
        assert count / REPEATS == pytest.approx(row[name], abs=TABLES["tolerance"]["table_1"])


@pytest.mark.slow
@pytest.mark.parametrize("row", TABLES["values"]["table_3"], ids=lambda row: f"tau-{row['tau']}")
def test_table_3_flagging(row):
    generator = np.random.default_rng([3, round(100 * row["tau"])])
    settings, tau = TABLES["settings"]["table_3"], row["tau"]
    bound = settings["bound"]
    null = np.array([0.5 * tau, 1.5 * tau]) <= bound
    wrong, right = [], []
    for _ in range(REPEATS):
        x = generator.random(settings["n"])
        value = 2 * tau * x + generator.standard_normal(settings["n"])
        p = np.array([one_sided_p(value[half], bound) for half in (x < 0.5, x >= 0.5)])
        flagged = benjamini_hochberg(p) <= 0.05
        wrong.append((flagged & null).sum() / max(flagged.sum(), 1))
        right.append((flagged & ~null).sum() / max((~null).sum(), 1))
    assert np.mean(wrong) == pytest.approx(row["ffr"], abs=TABLES["tolerance"]["table_3_ffr"])
    assert np.mean(right) == pytest.approx(row["power"], abs=TABLES["tolerance"]["table_3_power"])


def one_sided_p(values, bound):
    """Algorithm G.3: half the two-sided p when the mean is above the bound, else 1."""
    if values.mean() <= bound:
        return 1.0
    return 0.5 * log_ratio_p(el_log_ratio(values - bound), np.inf)
