"""Forward cross-fitting against numbers computed apart from this code, and against an oracle by rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from inside.improve import (
    accuracy_components,
    combined,
    dealt,
    smooth_fairness_components,
)
from inside.inference import Utility, bootstrap_levels, level_cells
from oracles import forward

GOLDEN = json.loads(Path(__file__).with_name("improve_forward.json").read_text())
CLOSE = {"abs": GOLDEN["tolerance"]}


def z_of_parts(tested, group, outcome, old, new, sign):
    """Accuracy of everyone and both sides of the gap by the product's own parts."""
    ones = np.ones(int(tested.sum()))
    group, outcome, old, new, sign = (a[tested] for a in (group, outcome, old, new, sign))
    turned = np.where(group == 0, sign, -sign)
    right = Utility(name="right", u0=(old == outcome) * 1.0, w0=ones, u1=(new == outcome) * 1.0, w1=ones)
    chosen = Utility(name="chosen", u0=old * turned, w0=ones, u1=new, w1=ones)
    levels = bootstrap_levels(level_cells(group, 2, [right, chosen]), 0, np.random.default_rng(0))
    everyone = np.array([0.0, 0.0, 1.0])
    (accuracy,) = accuracy_components(levels, 0, ["a", "b", "everyone"], kind="relative", weights=everyone)
    z = [accuracy.statistic(-0.02) / accuracy.standard_error(-0.02) * np.sqrt(1 - 1 / ones.size)]
    gaps = smooth_fairness_components(
        levels, 1, ["a", "b"], kind="relative", pairs=[(0, 1), (1, 0)], worst=(0, 1), one_sided=False,
        law="normal", turned=True,
    )  # fmt: skip
    assert [part.p_value(0.0) for part in gaps] == pytest.approx([part.delta_method(0.0) for part in gaps])
    return [*z, *(part.statistic(0.0) / part.standard_error(0.0) for part in gaps)]


def test_golden_numbers_of_three_orders():
    group, x, outcome, old = forward.people()
    found = []
    for order, golden in enumerate(GOLDEN["z"]):
        chunk = dealt(group, forward.key(order), 10)
        assert chunk.tolist() == forward.deal(group, forward.key(order), 10).tolist()
        z, tested, new, sign = forward.one_order(chunk, 2, group, x, outcome, old, 0.02)
        assert z == pytest.approx(golden, **CLOSE)
        assert z_of_parts(tested, group, outcome, old, new, sign) == pytest.approx(golden, **CLOSE)
        found.append(z)
    assert np.mean(found, axis=0) == pytest.approx(GOLDEN["mean"], **CLOSE)
    p_values = np.array([[forward.norm.sf(z) for z in row] for row in found])
    assert combined(p_values, "forward") == pytest.approx(GOLDEN["p"], **CLOSE)
    assert forward.p_of(found) == pytest.approx(GOLDEN["p"], **CLOSE)
