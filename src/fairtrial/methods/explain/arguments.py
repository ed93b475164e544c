"""The arguments of explain: checked, completed, and turned into the problem that the two stages solve."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.errors import InputError, check_between, check_choice, did_you_mean
from fairtrial.labels import canonical
from fairtrial.methods.explain.metric import needed, row_form, score_values
from fairtrial.methods.explain.models import Asked
from fairtrial.methods.explain.numbers import find_baseline
from fairtrial.methods.explain.players import WHO, Material
from fairtrial.methods.explain.problem import Allocation, Problem
from fairtrial.methods.explain.solver.coalitions import RowForm
from fairtrial.methods.explain.solver.esl import (
    LARGEST_PLAYERS,
    MEMBERS,
    Floats,
    Masks,
    all_coalitions,
    b_sequence,
    given_sequence,
    needed_coalitions,
    tells_groups_apart,
)
from fairtrial.methods.explain.solver.shapley_sampling import SampledOrders, sample_orders, smallest_budget
from fairtrial.metrics.groups import Group
from fairtrial.metrics.metric import Metric
from fairtrial.work import Progress, check_seed, generator

# All coalitions are evaluated up to this many players; a budget that covers them allows a few more.
EXACT_PLAYERS = 12
LARGEST_EXACT_BUDGET = 16


def read_asked(
    audit: Audit, metric: Metric, coalitions: Any, model: Any, averaged: str, background: int, seed: int,
    jobs: int | None, progress: Callable[[Progress], None] | None,
) -> Asked:  # fmt: skip
    check_seed(seed)
    if isinstance(coalitions, str):
        check_choice(WHO, "coalitions", coalitions, ["retrain", "marginal"])
    check_choice(WHO, "averaged", averaged, ["decisions", "probabilities"])
    if isinstance(background, bool) or not isinstance(background, int) or background < 1:
        raise InputError(
            WHO, f"'background' must be a whole number of rows of at least 1, got {background!r}"
        )
    positive = canonical(audit.positive["outcome"]) if "outcome" in audit.positive else None
    return Asked(
        coalitions, model, averaged, background, needed(metric).scores, positive, seed, jobs, progress
    )


def check_choices(
    allocation: Any,
    baseline: Any,
    interval: str,
    favourable: str | None,
    level: float,
    metric: Metric,
    asked: Asked,
) -> None:
    check_between(WHO, "confidence_level", level, 0, 1)
    check_choice(WHO, "interval", interval, ["certify", "paper"])
    if favourable is not None:
        check_choice(WHO, "favourable", favourable, ["higher", "lower"])
    if isinstance(baseline, str):
        check_choice(WHO, "baseline", baseline, ["random", "prior"])
        if asked.scores and baseline == "prior":
            raise InputError(
                WHO, f"'baseline' of {metric.name!r} must be a number: no coin has such a {metric.label}"
            )
    elif (
        isinstance(baseline, bool) or not isinstance(baseline, int | float) or not 0 < baseline < float("inf")
    ):
        raise InputError(WHO, f"'baseline' must be 'random', 'prior' or a positive number, got {baseline!r}")
    if isinstance(allocation, str):
        check_choice(WHO, "allocation", allocation, MEMBERS)
    elif not callable(allocation) and not (
        isinstance(allocation, Mapping) and set(allocation) <= {"groups", "features"}
    ):
        raise InputError(
            WHO,
            f"'allocation' must be one of {list(MEMBERS)} or {{'groups': b, 'features': b}}, got {allocation!r}",
        )


def is_fitted(model: Any) -> bool:
    if model is None or isinstance(model, str):
        return False
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


def order_groups(material: Material, reference: Mapping[str, Any] | None) -> Material:
    """Put the reference group last, so that gaps are the others minus it."""
    if reference is None:
        return material
    if not isinstance(reference, Mapping) or not reference:
        raise InputError(WHO, f"'reference' must be a group like {{'sex': 'Male'}}, got {reference!r}")
    wanted = Group.of(reference)
    labels = [group.label for group in material.groups]
    if wanted not in material.groups:
        hint = did_you_mean(wanted.label, labels)
        raise InputError(
            WHO, f"'reference' must be one of the groups {labels}, got {dict(reference)!r}.{hint}"
        )
    place = material.groups.index(wanted)
    if material.levels:  # cells keep their order, which the multi-stage values rest on
        return material
    order = [g for g in range(len(labels)) if g != place] + [place]
    back = np.argsort(order)
    codes = np.where(material.group >= 0, back[np.maximum(material.group, 0)], -1)
    return replace(material, groups=tuple(material.groups[g] for g in order), group=codes.astype(np.int64))


def plan_coalitions(
    allocation: Any, players: int, budget: int | None, seed: int
) -> tuple[Masks, SampledOrders | None]:
    """Which coalitions are evaluated, and the sampled orders when there are too many."""
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int) or budget < 1):
        raise InputError(WHO, f"'budget' must be a whole number of coalitions, got {budget!r}")
    if players > LARGEST_PLAYERS:
        raise InputError(
            WHO, f"at most {LARGEST_PLAYERS} features can be players, got {players}: join some in a dict"
        )
    if allocation == "equal_surplus":
        return needed_coalitions(b_sequence("equal_surplus", players)), None
    count = (1 << players) - 1
    if (budget is None and players <= EXACT_PLAYERS) or (
        budget is not None and count <= budget and players <= LARGEST_EXACT_BUDGET
    ):
        return all_coalitions(players)[1:], None
    least = smallest_budget(players) + 2 * players
    if allocation != "shapley":
        raise InputError(
            WHO, f"{players} features have {count:,} coalitions, too many for this allocation: take 'shapley' with a "
            f"budget= of at least {least}, or 'equal_surplus', which needs {players + 1}"
        )  # fmt: skip
    if budget is None or budget < least:
        raise InputError(
            WHO, f"{players} features have {count:,} coalitions: give budget= (at least {least}) to sample orders, or "
            f"allocation='equal_surplus', which needs {players + 1}"
        )  # fmt: skip
    orders = sample_orders(players, budget - 2 * players, generator(seed, "explain orders"))
    whole = (1 << players) - 1
    apart = [1 << k for k in range(players)] + [whole - (1 << k) for k in range(players)] + [whole]
    return np.unique(np.concatenate([orders.masks, np.array(apart, dtype=np.int64)])), orders


def make_problem(
    metric: Metric, asked: Asked, material: Material, masks: Masks, orders: SampledOrders | None, outputs: Any,
    allocation: Any, baseline: Any, level: float, reference: Mapping[str, Any] | None,
) -> Problem:  # fmt: skip
    form = row_form(metric, material.rows).take(material.test)
    outcome = material.rows.roles.get("outcome")
    outcome = None if outcome is None else outcome[material.test]
    if asked.scores:
        outputs = score_values(metric, outputs, outcome)
        baseline = 1.0 if baseline == "random" else baseline
    group = material.group[material.test]
    allocations = _allocations(allocation, len(material.groups), len(material.players), masks, orders)
    _check_sequences(allocations[0], form, group, len(material.groups))
    return Problem(
        outputs=outputs, masks=masks, form=form, group=group, groups=len(material.groups), levels=material.levels,
        pairs=_pairs(material, reference), players=len(material.players), allocations=allocations, orders=orders,
        baseline=find_baseline(baseline, form, outcome), level=level,
    )  # fmt: skip


def _pairs(material: Material, reference: Mapping[str, Any] | None) -> tuple[tuple[int, int], ...]:
    count = len(material.groups)
    if reference is not None:
        last = material.groups.index(Group.of(reference))
        return tuple((g, last) for g in range(count) if g != last)
    return tuple((g, h) for g in range(count) for h in range(g + 1, count))


def _allocations(
    allocation: Any, groups: int, players: int, masks: Masks, orders: SampledOrders | None
) -> tuple[Allocation, ...]:
    """The primary allocation first, then every other member that the evaluated coalitions allow."""

    def member(name: str, sampled: bool = False) -> Allocation:
        return Allocation(name, b_sequence(name, groups), b_sequence(name, players), sampled)

    if orders is not None:
        return member("shapley", sampled=True), member("equal_surplus")
    complete = masks.size == (1 << players) - 1
    if isinstance(allocation, str):
        others = [name for name in MEMBERS if name != allocation] if complete else []
        return (member(allocation), *(member(name) for name in others))
    parts = {"groups": allocation, "features": allocation} if callable(allocation) else dict(allocation)
    sequences = {
        part: _sequence(part, parts.get(part, "shapley"), count)
        for part, count in (("groups", groups), ("features", players))
    }
    return Allocation("given", sequences["groups"], sequences["features"]), *(
        member(name) for name in MEMBERS
    )


def _sequence(part: str, b: str | Sequence[float] | Callable[[int, int], float], count: int) -> Floats:
    if isinstance(b, str):
        check_choice(WHO, f"allocation[{part}]", b, MEMBERS)
        return b_sequence(b, count)
    try:
        return given_sequence(b, count)
    except (ValueError, TypeError) as error:
        raise InputError(WHO, f"'allocation' over the {part}: {error}") from None


def _check_sequences(primary: Allocation, form: RowForm, group: Any, groups: int) -> None:
    weights = np.array([max(1.0, float(form.weight0[group == g].sum())) for g in range(groups)])
    if not tells_groups_apart(primary.groups, weights):
        why = "b_1 = 0 makes the groups' values equal whatever their rates" if groups == 2 else (
            "these b make the groups' values equal for some unequal rates"
        )  # fmt: skip
        raise InputError(WHO, f"'allocation' over the groups cannot tell them apart: {why}")
