"""explain: inference for five values and all features, against a bootstrap that decomposes every resample again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness import Growth, Row, interleaved, limit, row, seconds

PEOPLE = 15_000
# seconds for five values, all features, both groups and their gap: estimates, intervals and p-values
LIMITS = {4: 0.010, 8: 0.060, 12: 0.600}
DRAWS = 1000


def run(quick: bool) -> list[Row]:
    rows = []
    for features, most in LIMITS.items():
        for metric in ("selection rate", "tpr", "ppv"):
            work = inference(features, metric)
            best = interleaved({"ours": work}, repeats=7)["ours"]
            rows.append(limit(f"explain: {features} features, {metric}, {PEOPLE:,} people", best, most))
    return [*rows, *against_bootstrap(8, quick), *against_bootstrap(12, True)]


def growth(quick: bool) -> list[Growth]:
    sizes = (4, 6, 8) if quick else (4, 6, 8, 10, 12)
    times = [interleaved({"ours": inference(n, "tpr")}, repeats=3)["ours"] for n in sizes]
    coalitions = tuple(1 << n for n in sizes)
    return [
        Growth(name="explain, tpr, 15,000 people", axis="coalitions", sizes=coalitions, seconds=tuple(times))
    ]


def against_bootstrap(features: int, quick: bool) -> list[Row]:
    """B = 1,000 resamples of the same people; a quick run does a fiftieth and counts it fifty times."""
    draws = DRAWS // 50 if quick else DRAWS
    ours = interleaved({"ours": inference(features, "tpr")}, repeats=7)["ours"]
    theirs = seconds(bootstrap(features, draws)) * (DRAWS / draws)
    by_counts = seconds(bootstrap_by_counts(features))
    note = f"{draws:,} of {DRAWS:,} draws run" if quick else ""
    name = f"explain: {features} features, tpr, intervals of five values"
    lean = f"bootstrap, B = {DRAWS:,}, all draws in one product"
    return [
        row(name, ours, f"bootstrap, B = {DRAWS:,}", theirs, 500.0, note=note),
        row(name, ours, lean, by_counts, None, note="shown for scale", least=5.0),
    ]


def people(features: int) -> tuple[Any, Any, Any]:
    """Coalition decisions (people × 2^features), group and outcome."""
    random = np.random.default_rng(20_260_330)
    x = random.normal(size=(PEOPLE, features))
    group = (random.random(PEOPLE) < 0.33).astype(np.int64)
    outcome = (x.sum(axis=1) - 0.5 * group + random.normal(size=PEOPLE) > 0.8).astype(float)
    masks = np.arange(1 << features)
    seen = ((masks[None, :] >> np.arange(features)[:, None]) & 1).astype(np.float32)
    decisions = (x.astype(np.float32) @ seen > 0.1).astype(np.uint8)
    return decisions, group, outcome


def decomposition(features: int) -> tuple[Any, Any]:
    """Coefficients of the five values, and as targets the two groups' values and their gap."""
    from inside.explain import MEMBERS, b_sequence, coefficients, group_targets, merge_targets, pair_targets

    sequences = [b_sequence(member, 2) for member in MEMBERS]
    gap = pair_targets(2, [(0, 1)], np.array([b[1] for b in sequences]), 0.5)
    stacked = np.stack([coefficients(b_sequence(member, features)) for member in MEMBERS])
    return stacked, merge_targets([group_targets(sequences, 0.5), gap])


def row_form(metric: str, y: Any) -> Any:
    from inside.explain import RowForm

    none, everyone = np.zeros(PEOPLE), np.ones(PEOPLE)
    forms = {
        "selection rate": (none, everyone, everyone, everyone),
        "tpr": (none, y, y, y),
        "ppv": (none, y, none, everyone),
    }
    return RowForm(*forms[metric])


def inference(features: int, metric: str) -> Callable[[], Any]:
    from inside.explain import contributions, interval, two_sided_p

    decisions, group, y = people(features)
    form = row_form(metric, y)

    def work() -> Any:
        stacked, targets = decomposition(features)
        found = contributions(decisions, form, group, 2, stacked, targets)
        error = found.with_quarter_rows()
        return interval(found.centre, error, 0.95), two_sided_p(found.centre, error)

    return work


def bootstrap(features: int, draws: int) -> Callable[[], Any]:
    """Resample people within group and outcome, take every coalition's rates and decompose them again."""
    from inside.explain import coalition_rates

    decisions, group, y = people(features)
    form = row_form("tpr", y)
    stacked, targets = decomposition(features)
    strata = [np.flatnonzero((group == g) & (y == v)) for g in (0, 1) for v in (0, 1)]

    def work() -> Any:
        random = np.random.default_rng(0)
        found = []
        for _ in range(draws):
            drawn = np.concatenate([random.choice(rows, rows.size) for rows in strata])
            rates = coalition_rates(decisions[drawn], form.take(drawn), group[drawn], 2, targets.unions)
            by_union = np.einsum("vkm,jm->vkj", stacked, rates.rate, optimize=True)
            found.append(np.einsum("tvj,vkj->tvk", targets.weights, by_union))
        return np.quantile(found, [0.025, 0.975], axis=0)

    return work


def bootstrap_by_counts(features: int) -> Callable[[], Any]:
    """The leanest bootstrap of this rate: only people who count, and all draws' rates from one product.

    It uses that a mean over a resample is a product with how often each row was drawn, which holds for rates of
    a fixed condition; the general one above recomputes whatever the metric is.
    """
    decisions, group, y = people(features)
    stacked, targets = decomposition(features)
    members = [np.flatnonzero((group == g) & (y == 1)) for g in (0, 1)]
    # unions of groups: how much of each union's rate is each group's
    inside = (targets.unions[:, None] >> np.arange(2)) & 1
    share = inside * np.array([rows.size for rows in members])
    share = share / share.sum(axis=1, keepdims=True)

    def work() -> Any:
        random = np.random.default_rng(0)
        rates = []
        for rows in members:
            drawn = random.multinomial(rows.size, np.full(rows.size, 1 / rows.size), size=DRAWS)
            rates.append(drawn.astype(np.float32) @ decisions[rows].astype(np.float32) / rows.size)
        by_union = np.einsum("jh,hbm->jbm", share, np.array(rates), optimize=True)
        values = np.einsum("vkm,jbm->bvkj", stacked, by_union, optimize=True)
        found = np.einsum("tvj,bvkj->btvk", targets.weights, values, optimize=True)
        return np.quantile(found, [0.025, 0.975], axis=0)

    return work
