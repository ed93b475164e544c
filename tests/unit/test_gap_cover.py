"""The board's cover of evidence, scale and target: what the product takes has a line, the rest a reason."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from fairtrial import Audit, InputError, Metric, certify, measure
from validity.board import cells
from validity.gap_cover import COVER, SCALES, inferred

TARGETS = ("rest", "overall", "group", "number", "most selected")
EVIDENCE = (
    "counts", "weights", "units", "weights+units", "strata", "weights in strata",
    "units in strata", "models", "pairs", "means", "unlabelled", "probable",
)  # fmt: skip
ALL = list(product(EVIDENCE, SCALES, TARGETS))


@pytest.fixture(scope="module")
def people():
    random = np.random.default_rng(1)
    n = 240
    chance = random.choice([0.1, 0.3, 0.5, 0.9], n)
    return pd.DataFrame({
        "g": np.repeat(["a", "b"], n // 2), "p": np.tile(np.arange(n // 2), 2), "d": random.integers(0, 2, n),
        "y": np.where(random.random(n) < 0.8, random.integers(0, 2, n) * 1.0, np.nan), "job": random.integers(0, 2, n),
        "w": random.uniform(0.5, 2.0, n), "u": random.integers(0, 90, n), "v": random.gamma(2.0, 1.0, n),
        "pa": chance, "pb": 1 - chance,
    })  # fmt: skip


def ask(people, evidence, scale, target):
    """The first row of the answer, or the fault."""
    roles = {
        "weights in strata": {"weight": "w"}, "units in strata": {"unit": "u"},
        "weights": {"weight": "w"}, "units": {"unit": "u"}, "weights+units": {"weight": "w", "unit": "u"},
        "pairs": {"pair": "p"}, "unlabelled": {"outcome": "y", "unlabelled": "bounds"},
        "probable": {"groups": {"h": {"a": "pa", "b": "pb"}}},
    }.get(evidence, {})  # fmt: skip
    metric = {"means": Metric("v", "v"), "unlabelled": "tpr"}.get(evidence, "selection_rate")
    by = "h" if evidence == "probable" else "g"
    audit = Audit(people, decision="d", **({"groups": "g"} | roles))
    more = {"within": "job"} if "strata" in evidence or evidence == "models" else {}
    more |= {"adjustment": "model"} if evidence == "models" else {}
    if target == "most selected" and scale == "ratio" and not more:
        row = measure(audit, metric, by=by).estimates[0]
        return row if isinstance(row.get("impact_ratio"), float) else None
    asked = {"group": {by: "b"}, "number": 0.4}.get(target, target)
    return certify(audit, metric, by=by, scale=scale, target=asked, **more).estimates[0]


@pytest.fixture(scope="module")
def answers(people):
    found = {}
    for which in ALL:
        try:
            found[which] = ask(people, *which)
        except InputError as fault:
            found[which] = fault
    return found


@pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")
def test_every_pair_the_product_takes_has_a_line(answers):
    taken = [which for which, answer in answers.items() if isinstance(answer, dict)]
    assert len(taken) > 40
    assert set(COVER) <= set(taken), "a line of what the product refuses"
    for places in combinations(range(3), 2):
        pairs = {tuple(which[place] for place in places) for which in taken}
        covered = {tuple(which[place] for place in places) for which in COVER}
        assert pairs == covered, pairs - covered


def test_the_lines_stand_on_the_board_and_are_few_enough():
    board = {cell.key for method in ("measure", "certify") for cell in cells(method)}
    assert set(COVER.values()) <= board
    assert len(COVER) <= 150


def test_what_is_taken_has_limits_and_what_is_refused_says_why(answers):
    for (_, scale, target), answer in answers.items():
        if isinstance(answer, InputError):
            assert len(str(answer)) > 40, "a reason"
        elif isinstance(answer, dict):
            name = "impact_ratio" if target == "most selected" else scale
            assert all(isinstance(answer[f"{name}_{end}"], float) for end in ("low", "high"))


@pytest.mark.parametrize("which", [which for which in ALL if which[2] == "most selected"], ids=str)
def test_the_most_selected_group_is_a_ratio_of_selection_rates(answers, which):
    """Not a target of certify: measure's impact ratio, of selection rates only."""
    if which[1] == "difference" or "strata" in which[0] or which[0] == "models":
        assert "target" in str(answers[which])


def test_the_step_from_counts_to_weights_is_small_and_weights_are_continuous():
    """The likelihood ratio of counts becomes the score with Student's t: the step is there, and stated in the docs."""
    random = np.random.default_rng(3)
    group, value = np.repeat([0, 1], [60, 300]), (random.random(360) < 0.3).astype(float)
    noise = random.random(360)
    limits = {
        size: np.ravel(inferred(np.arange(360), group, 1 + size * noise, value).limits(0.95))
        for size in (0.0, 1e-9, 1e-6, 1e-3)
    }
    assert np.abs(limits[1e-6] - limits[1e-9]).max() < 1e-6
    assert np.abs(limits[1e-3] - limits[1e-6]).max() < 1e-3
    step = np.abs(limits[1e-9] - limits[0.0]).max()
    assert 0 < step < 0.01
