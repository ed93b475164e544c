"""compare with two attributes of two values: the cells' rates are the cells' own, beside their interaction."""

import numpy as np
import pyarrow as pa

import fairtrial


def test_rates_of_cells():
    random, n = np.random.default_rng(0), 600
    sex, race = random.choice(["f", "m"], n), random.choice(["a", "b"], n)
    outcome = random.integers(0, 2, n)
    table = pa.table({"sex": sex, "race": race, "y": outcome, "x1": np.zeros(n), "x2": np.zeros(n)})
    audit = fairtrial.Audit(table, outcome="y", groups=["sex", "race"], features=["x1", "x2"])
    rules = [(random.random((n, 4)) < share).astype(int) for share in (0.4, 0.6)]
    before, after = (
        fairtrial.explain(audit, "tpr", coalitions=rule, by=["sex", "race"], sensitive="absent")
        for rule in rules
    )
    rows = before.compare(after).estimates
    totals = {
        row["group"]: row for row in rows if row["part"] == "rate" and row["feature"] == rows[0]["feature"]
    }
    assert len(totals) == 4
    for s in "fm":
        for r in "ab":
            inside = (outcome == 1) & (sex == s) & (race == r)
            row = totals[f"{s}, {r}"]
            assert np.isclose(row["before"], rules[0][inside, 3].mean())
            assert np.isclose(row["after"], rules[1][inside, 3].mean())
