"""The max-T correction of a trial: against normal integrals, leave-one-out estimates and Holm."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fairtrial
from fairtrial import Audit
from inside.inference import Dependence, holm, max_t
from inside.trial import contradictions, find_dependence

MONTE_CARLO = 0.006  # three standard errors of a chance of .1 in 20,000 draws


def known(correlation: list[list[float]], sides: list[int], tests: list[int] | None = None) -> Dependence:
    places = np.arange(len(sides)) if tests is None else np.array(tests)
    return Dependence(places, np.array(sides), np.array(correlation, dtype=float))


@pytest.mark.parametrize("correlation", [0.0, 0.5, -0.8, 0.99])
def test_two_tests_against_the_normal_integral(correlation: float) -> None:
    matrix = [[1.0, correlation], [correlation, 1.0]]
    p = np.array([0.03, 0.2])
    z = stats.norm.isf(p[0] / 2)
    law = stats.multivariate_normal([0.0, 0.0], matrix)
    inside = law.cdf([z, z]) - law.cdf([-z, z]) - law.cdf([z, -z]) + law.cdf([-z, -z])
    found = max_t(p, known(matrix, [0, 0]))
    assert found[0] == pytest.approx(1 - inside, abs=MONTE_CARLO)
    assert found[1] == pytest.approx(0.2, abs=2 * MONTE_CARLO), "the last test stands alone"


def test_one_sided_tests() -> None:
    matrix = [[1.0, 0.7], [0.7, 1.0]]
    z = stats.norm.isf(0.04)
    above = stats.multivariate_normal([0.0, 0.0], matrix).cdf([z, z])
    assert max_t([0.04, 0.3], known(matrix, [1, 1]))[0] == pytest.approx(1 - above, abs=MONTE_CARLO)
    opposite = stats.multivariate_normal([0.0, 0.0], [[1.0, -0.7], [-0.7, 1.0]]).cdf([z, z])
    assert max_t([0.04, 0.3], known(matrix, [1, -1]))[0] == pytest.approx(1 - opposite, abs=MONTE_CARLO)


def test_one_question_asked_twice_counts_once() -> None:
    found = max_t([0.04, 0.04], known([[1.0, -1.0], [-1.0, 1.0]], [0, 0]))
    assert found == pytest.approx([0.04, 0.04], abs=MONTE_CARLO)


def test_tests_that_are_not_known_are_added() -> None:
    """Two that are the same, and three others: the chance is that of four tests at most."""
    found = max_t([0.01, 0.01, 0.2, 0.3, 0.4], known([[1.0, 1.0], [1.0, 1.0]], [0, 0], [0, 1]))
    assert found[0] == pytest.approx(0.04, abs=MONTE_CARLO)


def test_nothing_known_is_holm_and_nothing_is_above_it() -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        p = random.random(6) ** 3
        assert max_t(p, known([], [], [])) == pytest.approx(holm(p))
        loading = random.normal(size=(6, 2))
        matrix = loading @ loading.T + 0.2 * np.eye(6)
        scale = np.sqrt(np.diag(matrix))
        found = max_t(p, known(matrix / np.outer(scale, scale), [0] * 6))
        assert (found <= holm(p) + 1e-12).all()
        assert (found >= p * 0.8).all()
        assert (np.diff(found[np.argsort(p)]) >= 0).all()


def table(rows: int = 400) -> pd.DataFrame:
    random = np.random.default_rng(8)
    group = random.choice(["a", "b", "c"], rows, p=[0.2, 0.3, 0.5])
    outcome = (random.random(rows) < 0.5).astype(int)
    decision = (random.random(rows) < 0.35 + 0.2 * (group == "a") + 0.1 * outcome).astype(int)
    return pd.DataFrame({"g": group, "y": outcome, "d": decision, "s": random.beta(2, 3, rows)})


def test_the_correlation_is_that_of_leaving_each_row_out() -> None:
    frame = table()
    audit = Audit(frame, outcome="y", decision="d", score="s", groups="g")
    metrics = ["selection_rate", "fpr", "mean_score"]
    result = fairtrial.measure(audit, metrics, by="g")
    found = find_dependence(audit, [({"metric": metrics}, result)])
    assert found.tests.tolist() == list(range(9))

    def gaps(rows: pd.DataFrame) -> list[float]:
        told = []
        for metric in metrics:
            kept = rows[rows.y == 0] if metric == "fpr" else rows
            value = kept.s if metric == "mean_score" else kept.d
            told += [value[kept.g == name].mean() - value[kept.g != name].mean() for name in "abc"]
        return told

    without = np.array([gaps(frame.drop(index=i)) for i in frame.index])
    listed = [metrics.index(row["metric"]) * 3 + "abc".index(row["group"]) for row in result.estimates]
    expected = np.corrcoef(without.T)[np.ix_(listed, listed)]
    assert found.correlation == pytest.approx(expected, abs=0.02), "leaving out divides by one row less"


def test_what_is_left_to_holm() -> None:
    frame = table()
    frame["rare"] = (np.arange(len(frame)) % 40 == 0).astype(int)
    rare = Audit(frame, decision="rare", groups="g")
    assert find_dependence(rare, [({}, fairtrial.measure(rare, "selection_rate"))]).tests.size == 0
    weighted = Audit(frame.assign(w=1.0 + (np.arange(len(frame)) % 2)), decision="d", weight="w", groups="g")
    assert find_dependence(weighted, [({}, fairtrial.measure(weighted, "selection_rate"))]).tests.size == 0
    audit = Audit(frame, decision="d", outcome="y", groups="g")
    tolerant = fairtrial.flag(audit, "selection_rate", tolerance=0.05, direction="differs")
    assert find_dependence(audit, [({}, tolerant)]).tests.size == 0
    certificate = fairtrial.certify(audit, "selection_rate", tolerance=0.1)
    sided = fairtrial.flag(audit, "selection_rate", direction="above")
    found = find_dependence(audit, [({}, certificate), ({}, sided)])
    assert found.tests.tolist() == [0, 1, 2], "a certificate has no place in the family"
    assert found.sides.tolist() == [1, 1, 1]


@pytest.mark.parametrize("target", ["overall", {"g": "c"}, 0.4])
def test_every_target(target: object) -> None:
    audit = Audit(table(), decision="d", groups="g")
    result = fairtrial.measure(audit, "selection_rate", target=target)
    found = find_dependence(audit, [({"target": target}, result)])
    assert found.tests.size == len(result.primary())
    if target == 0.4:  # groups apart from each other against a number are independent
        assert found.correlation == pytest.approx(np.eye(3), abs=1e-12)


def test_a_whole_trial(tmp_path) -> None:
    asked = {
        "data": {"decision": "d", "outcome": "y", "groups": ["g"]},
        "measure": {"metric": ["selection_rate", "fpr"]},
        "flag": {"metric": "selection_rate", "direction": "differs"},
    }
    plain = fairtrial.run(asked, data=table())
    both = fairtrial.run(asked | {"run": {"correction": "max-t"}}, data=table(), out=tmp_path)
    content = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert content["correction"] == {"method": "max-t", "alpha": 0.05, "tests": 9, "known": 9}
    assert contradictions(content) == []
    holms = {(entry.section, entry.metric, entry.subject): entry.adjusted for entry in plain.family}
    ours = {(entry.section, entry.metric, entry.subject): entry.adjusted for entry in both.family}
    assert ours.keys() == holms.keys()
    assert all(ours[key] <= holms[key] + 1e-12 for key in holms)
    assert min(ours.values()) < min(holms.values()), "flag asks again what measure asked"
    assert "max-T" in (tmp_path / "report.html").read_text(encoding="utf-8")
    content["family"][0]["adjusted"] = 1.0
    assert any("does not follow from the p-values" in text for text in contradictions(content))


def test_resuming_or_a_seed_changes_nothing_else() -> None:
    asked = {"data": {"decision": "d", "groups": ["g"]}, "measure": {"metric": "selection_rate"}}
    first, again = (fairtrial.run(asked, data=table(), correction="max-t") for _ in range(2))
    assert [entry.adjusted for entry in first.family] == [entry.adjusted for entry in again.family]


def test_without_rows_it_is_holm_and_the_trial_says_so(monkeypatch) -> None:
    asked = {"data": {"decision": "d", "groups": ["g"]}, "measure": {"metric": "selection_rate"}}
    known = fairtrial.run(asked, data=table(), correction="max-t")
    assert not any("depend on each other" in note for note in known.notes)
    plain = fairtrial.run(asked, data=table())
    monkeypatch.setattr("fairtrial._audit.columns.MOST_ROWS", 100)
    many = fairtrial.run(asked, data=table(), correction="max-t")
    assert [entry.adjusted for entry in many.family] == [entry.adjusted for entry in plain.family]
    assert (
        "More than 100 rows: how the tests depend on each other is not known, so that max-T is Holm's correction."
        in (many.notes)
    )
