"""Central sums and extreme values of every group, by one query, are those of the rows on every kind of data."""

from __future__ import annotations

import numpy as np
import pytest

from fairtrial import Audit, Metric
from frames.makers import KINDS, make

LABELS = ["a", "b", "c", "one"]


def values(n: int = 300) -> dict[str, list[object]]:
    """Skewed costs; years that lie close together far from zero; whole numbers; one person alone in her group."""
    random = np.random.default_rng(7)
    group = [LABELS[i] for i in random.integers(0, 3, n)]
    group[17] = "one"
    return {
        "g": group,
        "region": [["n", "s"][i] for i in random.integers(0, 2, n)],
        "cost": np.round(random.lognormal(3.0, 1.2, n), 4).tolist(),
        "year": np.round(2_000_000.0 + random.exponential(1.5, n), 6).tolist(),
        "visits": random.poisson(2.0, n).tolist(),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_those_of_the_rows(kind, tmp_path, request):
    columns = values()
    audit = Audit(make(kind, columns, tmp_path, request), groups=["g", "region"])
    metrics = [Metric(name, name) for name in ("cost", "year", "visits")]
    cells = audit.cells(("g", "region"), metrics)
    group, region = np.array(columns["g"]), np.array(columns["region"])
    for metric in metrics:
        every = np.array(columns[metric.name], dtype=float)
        for line, (first, second) in enumerate(cells.codes):
            inside = (group == cells.labels["g"][first]) & (region == cells.labels["region"][second])
            own = every[inside]
            away = own - own.mean()
            # A mean two million spreads from zero has lost six of its sixteen digits before any sum is made.
            exact = 1e-10 if metric.name != "year" else 1e-5
            assert cells.count[metric.name][line] == own.size
            assert cells.low[metric.name][line] == own.min()
            assert cells.high[metric.name][line] == own.max()
            scale = float((np.abs(away) ** 3).sum())
            assert cells.m3[metric.name][line] == pytest.approx((away**3).sum(), abs=exact * scale + 1e-300)


def test_merged_lines_have_the_sums_of_their_rows():
    """An outcome of whole numbers is a key of its own: lines are merged after the query."""
    import pandas as pd

    columns = values()
    frame = pd.DataFrame(columns)
    audit = Audit(frame, outcome="visits", groups="g")
    from fairtrial import METRICS

    cells = audit.cells(("g",), [METRICS["base_rate"]])
    for line, label in enumerate(cells.labels["g"]):
        own = frame.loc[frame["g"] == label, "visits"].to_numpy(float)
        away = own - own.mean()
        assert cells.m2["base_rate"][line] == pytest.approx((away**2).sum(), rel=1e-12)
        assert cells.m3["base_rate"][line] == pytest.approx((away**3).sum(), rel=1e-9, abs=1e-9)
        assert (cells.low["base_rate"][line], cells.high["base_rate"][line]) == (own.min(), own.max())
