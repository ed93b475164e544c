"""Two simulations that differ in one parameter: a known better rule is found; at the frontier none is.

One whole analysis each; `fairtrial validity --long` runs sixty of each (see the board's cells of the same name).
"""

import pytest

from fairtrial.validity.board import judge
from fairtrial.validity.improve import CELLS, MISLED
from fairtrial.validity.improve_designs import simulated_people


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rejects"),
    [("the portfolio finds a known better rule", 1.0), ("the portfolio at the frontier", 0.0)],
)
def test_one_whole_analysis(name, rejects):
    (cell,) = [cell for cell in CELLS if cell.name == name]
    assert cell.long >= 60
    assert judge(cell, 1).error == rejects


def test_the_simulations_differ_in_one_parameter():
    import numpy as np

    frontier, misled = (simulated_people(np.random.default_rng(0), 500, value) for value in (0.0, MISLED))
    for column in ("group", "need", "proxy", "outcome"):
        np.testing.assert_array_equal(frontier[column], misled[column])
    assert (frontier["decision"] != misled["decision"]).any()
