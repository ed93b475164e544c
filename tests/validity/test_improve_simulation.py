"""The board's two portfolio lines differ in one parameter: a known better rule is found; at the frontier none is."""

import numpy as np

from validity.improve import CELLS, MISLED
from validity.improve_designs import simulated_people


def test_the_simulations_differ_in_one_parameter():
    frontier, misled = (simulated_people(np.random.default_rng(0), 500, value) for value in (0.0, MISLED))
    for column in ("group", "need", "proxy", "outcome"):
        np.testing.assert_array_equal(frontier[column], misled[column])
    assert (frontier["decision"] != misled["decision"]).any()


def test_both_lines_run_the_same_analysis():
    lines = [cell for cell in CELLS if cell.name.startswith("the portfolio")]
    assert [cell.claim for cell in lines] == ["power", "size"]
    assert len({cell.run.func for cell in lines}) == 1
    assert sorted(cell.run.keywords["misled"] for cell in lines) == [0.0, MISLED]
