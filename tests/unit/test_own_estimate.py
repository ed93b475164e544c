"""Targets that the caller estimates: by a function of the rows, and the joint test by either likelihood."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from fairtrial import Audit, InputError, certify
from inside.papers import elfa


def people(kind: str) -> tuple[Audit, str, pd.DataFrame]:
    random = np.random.default_rng(6)
    n = 900
    value = random.exponential(size=n) if kind == "real" else (random.random(n) < 0.4).astype(int)
    frame = pd.DataFrame({"g": random.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]), "value": value})
    frame["weight"] = random.random(n)
    role = {"score": "value"} if kind == "real" else {"decision": "value"}
    return Audit(frame, groups="g", **role), "mean_score" if kind == "real" else "selection_rate", frame


def weighted_mean(rows):
    """A weighted mean and its influence values, from the rows."""
    mean = float(rows["weight"] @ rows["value"] / rows["weight"].sum())
    return mean, rows["weight"] / rows["weight"].mean() * (rows["value"] - mean)


@pytest.mark.parametrize("kind", ["real", "rate"])
def test_a_function_is_its_number_and_influence_values(kind):
    audit, metric, frame = people(kind)
    mean, influence = weighted_mean(
        {"weight": frame["weight"].to_numpy(), "value": frame["value"].to_numpy()}
    )
    worked = certify(audit, metric, target={"estimate": weighted_mean, "columns": "weight"})
    listed = certify(audit, metric, target={"estimate": mean, "influence": influence.tolist()})
    assert worked.estimates == listed.estimates
    assert worked.details["joint"] == listed.details["joint"]
    assert worked.provenance["arguments"]["target"] == {"estimate": mean}


@pytest.mark.parametrize("likelihood", ["empirical", "euclidean"])
def test_the_joint_test_follows_the_likelihood(likelihood):
    """Row by row: scores 1_G (M - θ̂)/P_G - ψ, by another optimiser or from their own mean and spread."""
    audit, metric, frame = people("rate")
    value, group = frame["value"].to_numpy(float), frame["g"].to_numpy()
    target, influence = 0.35, np.where(frame["weight"] > 0.5, 0.4, -0.4) * value
    joint = elfa.certify(
        audit, metric, target={"estimate": target, "influence": influence.tolist()}, likelihood=likelihood
    ).details["joint"]
    shares = [np.mean(group == name) for name in "abc"]
    psi = influence - influence.mean()
    score = np.stack(
        [(group == n) / p * (value - target) - psi for n, p in zip("abc", shares, strict=True)], axis=1
    )
    if likelihood == "euclidean":
        mean = score.mean(axis=0)
        expected = len(score) * mean @ np.linalg.solve(np.cov(score.T, bias=True), mean)
    else:

        def minus(multiplier):
            inside = 1.0 + score @ multiplier
            return np.inf if inside.min() <= 0 else -float(np.log(inside).sum())

        options = {"xatol": 1e-13, "fatol": 1e-13, "maxiter": 20000}
        expected = -2.0 * optimize.minimize(minus, np.zeros(3), method="Nelder-Mead", options=options).fun
    assert joint["statistic"] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert joint["df"] == 3
    assert joint["p_value"] == pytest.approx(stats.chi2.sf(expected, 3), rel=1e-6)
    assert likelihood in joint["rule"]


@pytest.mark.parametrize("likelihood", ["empirical", "euclidean"])
@pytest.mark.parametrize("kind", ["real", "rate"])
def test_the_overall_mean_as_an_own_estimate(kind, likelihood):
    """Groups that make up everyone are bound to each other: one degree of freedom less, as for 'overall'."""
    audit, metric, _ = people(kind)

    def overall(rows):
        return rows["value"].mean(), rows["value"] - rows["value"].mean()

    own = elfa.certify(audit, metric, target={"estimate": overall}, likelihood=likelihood).details["joint"]
    profile = {"target_method": "profile", "likelihood": likelihood}
    built_in = elfa.certify(audit, metric, target="overall", **profile).details["joint"]
    assert own["df"] == built_in["df"] == 2
    assert own["p_value"] == pytest.approx(built_in["p_value"], abs=0.02)


def test_faults_of_a_function():
    audit, metric, _ = people("rate")
    for wrong in (lambda rows: 0.4, lambda rows: (0.4, None), lambda rows: ("x", [1.0])):
        with pytest.raises(InputError, match="must return the estimate and one influence value for each row"):
            certify(audit, metric, target={"estimate": wrong})
    with pytest.raises(InputError, match="one finite value for each of the 900 rows"):
        certify(audit, metric, target={"estimate": lambda rows: (0.4, [0.1])})
    with pytest.raises(InputError, match="weigt"):
        certify(audit, metric, target={"estimate": weighted_mean, "columns": "weigt"})
