"""Rules learned on earlier chunks and tested on later ones: the deal, the mixture, fall-backs, the second test."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fairtrial import Audit, ImproveResult, InputError, improve
from inside.improve import combined, dealt, largest_together
from oracles.improve_data import misled_people

LOGISTIC = LogisticRegression()
ASKED = {"by": "group", "bootstrap": 400, "candidates": [LOGISTIC]}


def audit_of(data, **changes):
    roles = {"outcome": "outcome", "decision": "decision", "groups": "group", "features": ["need", "proxy"]}
    return Audit(data, **{**roles, **changes})


@pytest.fixture(scope="module")
def found():
    return improve(audit_of(misled_people(2000)), "tpr", **ASKED)


def test_every_group_is_dealt_evenly_and_the_next_goes_on():
    group = np.array([0] * 7 + [1] * 5)
    chunk = dealt(group, np.arange(12), 5)
    assert chunk.tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]


def test_the_mean_z_of_the_weakest_part_is_the_answer():
    assert combined(np.array([[0.5, 0.01], [0.5, 0.03], [0.5, 0.02]]), "forward") == pytest.approx(0.5)
    assert combined(np.array([[1.0], [1e-9], [1e-9]]), "forward") == 1.0
    assert combined(np.array([[0.0], [0.0], [0.0]]), "forward") < 1e-100


def test_a_better_rule_is_shown_as_a_mixture(found):
    assert found.rejected
    assert "deciding by one of the 12 rules learned here, drawn at random" in found.verdict.text
    assert "mean of 3 orders" in found.verdict.text
    assert "that was not tested" in " ".join(found.reading())
    forward = found.details["learned_forward"]
    assert [(rule["order"], rule["chunk"]) for rule in forward["rules"]] == [
        (order, chunk) for order in (1, 2, 3) for chunk in (2, 3, 4, 5)
    ]
    assert found.provenance["arguments"]["splits"] is None
    assert forward["p_first"] == found.details["splits"][0]["p_value"]
    assert {row["n"] for row in found.estimates if row["part"] == "accuracy"} <= set(range(700, 901))
    content = json.loads(json.dumps(found.to_dict()))
    assert ImproveResult.from_dict(content).to_dict() == content
    assert all(picture.chart for picture in found.pictures())


def test_its_answer_is_the_mean_over_the_orders(found):
    p_values = np.array([[c["p_value"] for c in split["components"]] for split in found.details["splits"]])
    assert found.p_value == pytest.approx(combined(p_values, "forward"))
    (corner,) = found.surface().corners
    assert corner.accuracy > 0
    assert corner.fairness > 0


def test_the_rule_is_confirmed_on_other_people(found):
    again = found.confirm(audit_of(misled_people(1200, seed=9)))
    assert again.details["all_rows"]
    assert again.rejected
    assert again.details["claim"]["margins"] == found.details["claim"]["margins"]
    with pytest.raises(InputError, match="the result has no rule"):
        again.confirm(audit_of(misled_people(1200, seed=9)))


def test_few_rows_are_learned_from_on_one_half():
    result = improve(audit_of(misled_people(140)), "tpr", **ASKED)
    assert result.details["aggregate"] == "single"
    assert any("2 features need 30" in note for note in result.notes)


def test_the_edge_of_the_surface_lies_between_those_of_the_orders():
    class Part:
        part = "fairness"

        def __init__(self, edge):
            self.edge = edge

        def largest_delta(self, level):
            return self.edge

        def p_value(self, delta):
            return 0.01 if delta < self.edge else 0.2

    level = 0.05
    # between .1 and .2 the mean z is 1.83, above .2 it is 1.34
    assert largest_together([Part(0.1), Part(0.2), Part(0.3)], level) == pytest.approx(0.2, abs=1e-6)
    assert largest_together([Part(-np.inf), Part(0.2)], level) == -np.inf
