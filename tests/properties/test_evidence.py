"""Every evidence, scale and target: what weighs nothing changes nothing, and the docs say which method takes what."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairtrial import Audit, Metric, certify, flag, measure
from fairtrial.methods.declaration import EVIDENCE, declared_methods

PAY = Metric("pay", "pay")
TARGETS = ("rest", "overall", {"g": "b"}, 0.4)
ASKED = [
    (metric, scale, target)
    for metric, scale, target in product(("rate", "mean"), ("difference", "ratio"), TARGETS)
    if not (metric == "mean" and scale == "ratio" and target == "overall")  # refused
]
NUMBERS = (
    "n",
    "rate",
    "target_rate",
    "difference",
    "difference_low",
    "difference_high",
    "ratio_low",
    "p_value",
)


@pytest.fixture(scope="module")
def people():
    random = np.random.default_rng(9)
    group = random.choice(["a", "b", "c"], 360)
    return pd.DataFrame({
        "g": group, "d": (random.random(360) < np.where(group == "a", 0.5, 0.4)).astype(int), "one": "all",
        "pay": random.gamma(3.0, 1.0, 360), "w": 2.5, "person": np.arange(360)[::-1],
    })  # fmt: skip


def rows(data, ask, metric, scale, target, within=None, **roles):
    audit = Audit(data, decision="d", groups="g", **roles)
    asked = "selection_rate" if metric == "rate" else PAY
    target = 3.0 if metric == "mean" and target == 0.4 else target
    more = {} if within is None else {"within": within}
    result = ask(audit, asked, by="g", depth=1, target=target, scale=scale, **more)
    return {row["group"]: row for row in result.estimates}


@pytest.mark.parametrize("ask", [measure, certify, flag])
@pytest.mark.parametrize(("metric", "scale", "target"), ASKED, ids=str)
def test_equal_weights_and_distinct_persons_are_plain(people, ask, metric, scale, target):
    plain = rows(people, ask, metric, scale, target)
    for roles in ({"weight": "w"}, {"unit": "person"}, {"weight": "w", "unit": "person"}):
        other = rows(people, ask, metric, scale, target, **roles)
        for group, row in plain.items():
            for name in NUMBERS:
                if isinstance(row.get(name), float | int):
                    assert other[group][name] == pytest.approx(row[name], rel=1e-9, abs=1e-12), (group, name)


@pytest.mark.parametrize("ask", [certify, flag])
@pytest.mark.parametrize(
    ("metric", "scale", "target"), [asked for asked in ASKED if asked[2] not in ("overall", 0.4)], ids=str
)
def test_one_stratum_has_the_plain_estimate(people, ask, metric, scale, target):
    plain = rows(people, ask, metric, scale, target)
    adjusted = rows(people, ask, metric, scale, target, within="one")
    for group, row in plain.items():
        if isinstance(row.get(scale), float):
            assert adjusted[group][scale] == pytest.approx(row[scale], rel=1e-9)
            assert adjusted[group]["compared"] == 1.0
            beside = "unadjusted" if scale == "difference" else "unadjusted_ratio"
            assert adjusted[group][beside] == pytest.approx(row[scale], rel=1e-9)


def evidence_table():
    """Which method honours which evidence, from the declarations alone."""
    heading = list(EVIDENCE)
    lines = [f"| method | {' | '.join(f'`{name}`' for name in heading)} |", "|---" * (len(heading) + 1) + "|"]
    for name, found in declared_methods().items():
        if found.takes_audit:
            lines.append(
                f"| {name} | {' | '.join('yes' if part in found.evidence else '–' for part in heading)} |"
            )
    return "\n".join(lines)


def test_the_docs_say_which_evidence_each_method_takes():
    text = (Path(__file__).parents[2] / "docs" / "gaps.md").read_text(encoding="utf-8")
    assert evidence_table() in text
