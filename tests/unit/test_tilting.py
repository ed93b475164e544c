"""Power series of a large sample's tilts: the numbers of passes over all its values."""

import numpy as np
import pytest

from inside.direct_calls import difference_limits
from inside.inference import FEWEST, CountedValues, _tilt

SHAPES = {
    "normal": lambda generator, size: generator.normal(size=size),
    "lognormal": lambda generator, size: generator.lognormal(0.0, 1.5, size),
    "mostly zero": lambda generator, size: generator.exponential(size=size) * (generator.random(size) < 0.3),
    "ratings and outliers": lambda generator, size: np.where(
        generator.random(size) < 0.3, 1e4 * generator.random(size), 3.0
    ),
}


def _by_passes(sample: CountedValues, multiplier: float) -> tuple[float, float]:
    """The defining equation, sum 1/(1 + λ(x - μ)) = n, solved by halving with eighty-bit numbers."""
    x, counts = sample.centred.astype(np.longdouble), sample.counts.astype(np.longdouble)
    raised = 1 + np.longdouble(multiplier) * x
    low, high = np.longdouble(-10.0), raised.min()
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if (counts / (raised - middle)).sum() > sample.size:
            high = middle
        else:
            low = middle
    return float(low / multiplier), float(2 * (counts * np.log(raised - low)).sum())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("errors", [0.1, -2.0, 8.0])
def test_series_solve_the_equation(shape: str, errors: float) -> None:
    sample = CountedValues.of(SHAPES[shape](np.random.default_rng(7), 20_000))
    assert sample.centred.size >= FEWEST
    multiplier = errors / float(np.sqrt(sample.variance * sample.size))
    assert sample.powers is not None
    found = sample.powers.solve(multiplier, sample.variance)
    assert found is not None
    assert found == pytest.approx(_by_passes(sample, multiplier), rel=1e-12)
    assert _tilt(sample, multiplier) == found


def test_tilts_beyond_the_series_are_solved_by_passes() -> None:
    sample = CountedValues.of(np.random.default_rng(1).normal(size=10_000))
    assert sample.powers is not None
    assert sample.powers.solve(1.0, sample.variance) is None
    assert _tilt(sample, 1.0) == pytest.approx(_by_passes(sample, 1.0), rel=1e-12)


def test_limits_are_those_of_passes_alone() -> None:
    """One likelihood by both routes: with the series, and by passes alone."""
    generator = np.random.default_rng(2)
    values, others = generator.exponential(size=FEWEST), generator.normal(1.0, 1.0, 900)
    by_series, by_passes = CountedValues.of(values), CountedValues.of(values)
    by_passes.__dict__["powers"] = None
    assert by_series.powers is not None
    other = CountedValues.of(others)
    assert difference_limits(by_series, other, 4.0) == pytest.approx(
        difference_limits(by_passes, other, 4.0), rel=1e-12, abs=1e-12
    )
