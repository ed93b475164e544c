"""Every evidence, scale and target: what weighs nothing changes nothing, and the docs say which method takes what."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fairtrial import Audit, Metric, certify, flag, measure
from inside.methods import EVIDENCE, declared_methods

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


@pytest.mark.parametrize("ask", [measure, certify, flag])
@pytest.mark.parametrize("roles", [{}, {"weight": "uneven"}, {"weight": "uneven", "unit": "couple"}], ids=str)
@pytest.mark.parametrize(
    ("metric", "scale", "target"), [asked for asked in ASKED if asked[2] not in ("overall", 0.4)], ids=str
)
def test_one_stratum_has_the_plain_estimate(people, ask, roles, metric, scale, target):
    uneven = np.random.default_rng(3).uniform(0.5, 2.0, len(people))
    data = people.assign(uneven=uneven, couple=np.arange(len(people)) // 2)
    plain = rows(data, ask, metric, scale, target, **roles)
    adjusted = rows(data, ask, metric, scale, target, within="one", **roles)
    for group, row in plain.items():
        if isinstance(row.get(scale), float):
            assert adjusted[group][scale] == pytest.approx(row[scale], rel=1e-9)
            assert adjusted[group]["compared"] == 1.0
            beside = "unadjusted" if scale == "difference" else "unadjusted_ratio"
            assert adjusted[group][beside] == pytest.approx(row[scale], rel=1e-9)


@pytest.mark.parametrize("roles", [{"weight": "uneven"}, {"weight": "uneven", "unit": "couple"}], ids=str)
@pytest.mark.parametrize(("metric", "scale", "target"), ASKED, ids=str)
def test_inference_is_continuous_among_unequal_weights(people, roles, metric, scale, target):
    """Weights that differ by a part in a billion give the same estimates, limits and p-values to six digits."""
    random = np.random.default_rng(3)
    uneven = random.uniform(0.5, 2.0, len(people))
    data = people.assign(uneven=uneven, couple=np.arange(len(people)) // 2)
    nearly = data.assign(uneven=uneven * (1 + 1e-9 * random.random(len(people))))
    first, second = (rows(frame, certify, metric, scale, target, **roles) for frame in (data, nearly))
    for group, row in first.items():
        for name in NUMBERS:
            if isinstance(row.get(name), float | int):
                assert second[group][name] == pytest.approx(row[name], rel=1e-6, abs=1e-7), (group, name)


@pytest.mark.parametrize(("metric", "scale", "target"), ASKED, ids=str)
def test_weighted_estimates_are_the_weighted_means(people, metric, scale, target):
    """By pandas alone, to 1e-9, whatever the evidence weighs."""
    random = np.random.default_rng(5)
    data = people.assign(uneven=random.uniform(0.5, 2.0, len(people)), couple=np.arange(len(people)) // 2)
    value = "d" if metric == "rate" else "pay"

    def mean(part):
        return np.average(part[value], weights=part["uneven"])

    for roles in ({"weight": "uneven"}, {"weight": "uneven", "unit": "couple"}):
        for group, row in rows(data, certify, metric, scale, target, **roles).items():
            inside = data["g"] == group
            others = {"rest": data[~inside], "overall": data}.get(str(target), data[data["g"] == "b"])
            known = 3.0 if metric == "mean" else 0.4
            other = known if target == 0.4 else mean(others)
            if isinstance(row.get("difference"), float) and isinstance(row["p_value"], float):
                assert row["rate"] == pytest.approx(mean(data[inside]), rel=1e-9)
                assert row["difference"] == pytest.approx(mean(data[inside]) - other, rel=1e-9, abs=1e-12)
            if scale == "ratio" and isinstance(row.get("ratio"), float):
                assert row["ratio"] == pytest.approx(mean(data[inside]) / other, rel=1e-9)


@pytest.mark.parametrize("target", ["rest", {"g": "b"}], ids=str)
def test_one_stratum_has_the_plain_scores_p_value(people, target):
    """The plain score's chi-square, (ad - bc)^2 (N - 1) / margins, by hand, and never sharper than the skewness allows.

    A ratio of one is the same question.
    """
    for scale in ("difference", "ratio"):
        for group, row in rows(people, certify, "rate", scale, target, within="one").items():
            inside = people["g"] == group
            other = ~inside if target == "rest" else people["g"] == "b"
            if not isinstance(row.get(scale), float) or (group == "b" and target != "rest"):
                continue
            k1, n1, k2, n2 = (people["d"][inside].sum(), inside.sum(), people["d"][other].sum(), other.sum())
            total, events = n1 + n2, k1 + k2
            statistic = (k1 * n2 - k2 * n1) ** 2 * (total - 1) / (n1 * n2 * events * (total - events))
            plain = stats.chi2.sf(statistic, 1)
            assert plain * (1 - 1e-9) <= row["p_value"] <= plain * 1.03


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


@pytest.mark.parametrize("method", [name for name, found in declared_methods().items() if found.takes_audit])
def test_every_methods_page_says_which_evidence_it_takes(method):
    """By the names of the audit's roles, those that it honours and no others."""
    folder = Path(__file__).parents[2] / "docs"
    page = folder / f"{method}.md"
    text = page.read_text(encoding="utf-8").replace("\n", " ")
    said = text.split("Evidence that it takes: ", 1)[1].split("[", 1)[0]
    taken = declared_methods()[method].evidence
    assert {name for name in EVIDENCE if f"`{name}`" in said} == set(taken) - {"probable"}
    assert ("with a probability" in said) == ("probable" in taken)
