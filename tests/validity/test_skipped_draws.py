"""The board's families skip draws where a cheap bound settles a group: the findings must be those of the package."""

from __future__ import annotations

import numpy as np
import pytest

from inside.inference import Atoms, make_gaps
from validity.skewed_means import family_of, p_values_up_to


@pytest.mark.parametrize("edge", [0.05, 0.005])
@pytest.mark.parametrize(
    ("shape", "groups", "n"),
    [("normal", 4, 12), ("lognormal(1)", 6, 30), ("80% zeros", 8, 5), ("log loss", 5, 40), ("ratings", 6, 8)],
)
def test_findings_are_those_of_the_whole_inference(shape: str, groups: int, n: int, edge: float) -> None:
    random = np.random.default_rng([groups, n])
    found = settled = 0
    for _ in range(12):
        drawn, comparison = family_of(shape, groups, n, random)
        first, *others = drawn.values
        atoms = Atoms.of_values([first + random.choice([-3.0, 0.0, 3.0]), *others])
        whole = make_gaps(atoms, comparison).p_equal(0.0)
        quick = p_values_up_to(edge, atoms, comparison)
        np.testing.assert_array_equal(quick <= edge, whole <= edge)
        np.testing.assert_allclose(quick[whole <= edge], whole[whole <= edge], rtol=1e-9)
        assert np.all(quick <= whole * (1.0 + 1e-9)), "a bound is never above the p-value that it is part of"
        found += int((whole <= edge).sum())
        settled += int((quick < 0.999 * whole).sum())
    assert settled, "some groups must be settled by the bound alone"
    assert found or shape == "80% zeros", (
        "and some must be found (five values with a loss or none tell of nothing)"
    )
