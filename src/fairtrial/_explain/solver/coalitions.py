"""Second stage: what each player contributes to group rates, with every row's influence.

Amri-Jouidel, Kemel and Mussard, "Shapley meets Rawls", Section 3.3 and Appendix B. Their variance is a double sum
over pairs of coalitions (4^N terms). An ESL value is linear in the worths, so each row has one influence value
per player, L_i = Σ_S c_k(S)·(value_iS − p(S)·weight_iS)/Σ weight, and the variance follows from a single matrix
product of the n × 2^N decisions with the coefficients: cost n·2^N for all values and players together.

A row's form Σ_S c_k(S)·value_iS cannot leave [Σ c⁻, Σ c⁺]. Where few rows differ the observed spread says too little,
so every group is joined by a quarter of a person at either end of what is possible (`with_quarter_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairtrial._explain.solver.coalition_products import Decisions, linear_forms, row_products, weighted_sums
from fairtrial._explain.solver.esl import Floats, Masks
from fairtrial._explain.solver.influence import LEAST_DF, QUARTER, GroupForms, Spread, combine, group_variance

Codes = NDArray[np.int64]

# Differences below this share of Σ|coefficients| are the rounding of products, not variation.
ROUNDING = 1e-12
GLANCE = 100


@dataclass(frozen=True, slots=True, eq=False)
class RowForm:
    """A metric row by row: value·weight and weight if the row's decision were 0 and if it were 1.

    E[value | given] is Σ value / Σ weight. A metric is linear in a 0/1 decision, so these four columns say all:
    the true positive rate has weight0 = weight1 = outcome, the positive predictive value weight0 = 0, weight1 = 1.
    `ends` are the least and the largest value that a row can have.
    """

    value0: Floats
    value1: Floats
    weight0: Floats
    weight1: Floats
    ends: tuple[float, float] = (0.0, 1.0)

    @property
    def ratio(self) -> bool:
        """Whether the denominator depends on the decision (predictive values, false omission rate)."""
        return bool((self.weight0 != self.weight1).any())

    def at(self, share: Floats | float) -> tuple[Floats, Floats]:
        """Value and weight of rows that are decided 1 with probability `share`."""
        value = self.value0 + (self.value1 - self.value0) * share
        weight = self.weight0 + (self.weight1 - self.weight0) * share
        return value, weight

    def take(self, rows: NDArray[np.intp]) -> RowForm:
        return RowForm(
            self.value0[rows], self.value1[rows], self.weight0[rows], self.weight1[rows], self.ends
        )


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """What is decomposed: for each target t and value v, Σ_J weight[t, v, J]·p_J(S), a game over coalitions S.

    p_J is the pooled rate of the union of groups `unions[J]` (a bit mask over groups).
    """

    unions: Masks
    weights: Floats  # (targets, values, unions)


@dataclass(frozen=True, slots=True, eq=False)
class CoalitionRates:
    """Rates p_J(S) per union (rows) and coalition (columns) with their denominators; 0 where undefined."""

    rate: Floats
    weight: Floats

    @property
    def defined(self) -> NDArray[np.bool_]:
        return np.asarray(self.weight > 0)


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """Estimates (targets, values, players) with what their variance and the rows' influence are made of.

    `undefined` (targets, values) marks what rests on a rate without a denominator; `centre` is the estimate with a
    quarter of a person at either end of every group, and `reach` how far a contribution can go at all.
    """

    estimate: Floats
    undefined: NDArray[np.bool_]
    row_count: int
    groups: tuple[GroupForms, ...]
    rates: CoalitionRates
    centre: Floats
    reach: tuple[Floats, Floats]

    def spread(self) -> Spread:
        """Standard errors with the groups (among the rows that count) as strata, from the rows as they are."""
        parts = [group_variance(part) for part in self.groups]
        df = np.array([max(part.rows.size - 1, 1) for part in self.groups], dtype=float)
        return combine(np.array(parts), df)

    def with_quarter_rows(self) -> Spread:
        """Standard errors about `centre`, a quarter of a person being at either end of every group.

        A group in which nobody differs has no spread of its own, and was taken to be known for sure: with groups alike
        (400 and 25 people, rate .97) some feature was called a driver 18% of the time after Holm, and mitigation's
        intervals missed up to half the time. With the quarter rows any driver is called in at most .046 over 20/20 …
        5,000/25 people and rates .03 … .97.
        """
        parts = [group_variance(part, quarter_rows=True) for part in self.groups]
        df = np.array([np.maximum(part.size - 1.0, LEAST_DF) for part in self.groups])
        return combine(np.array(parts), np.broadcast_to(df[:, None], np.shape(parts)))

    def influence(self, value: int) -> Floats:
        """Rows' influence on every target and player under one value: (rows, targets, players).

        The estimation error is the sum of these over the rows.
        """
        targets, _, players = self.estimate.shape
        result = np.zeros((self.row_count, targets, players))
        for part in self.groups:
            mixed = np.einsum("tu,iuk->itk", part.mix[:, value], part.forms[:, :, value])
            result[part.rows] = mixed - part.weight[:, None, None] * part.centre[None, :, value]
        return result

    def scaled_variance(
        self, value: int, targets: slice, ratio: Floats, scale_influence: Floats, group: Codes
    ) -> Floats:
        """Variance of the numerator's error minus ratio·(the scale's error), (targets, players), quarter rows included.

        A ratio estimate/scale with an estimated scale has this variance over the scale's square.
        """
        influence = self.influence(value)[:, targets] - ratio[None] * scale_influence[:, None, None]
        total = np.zeros(ratio.shape)
        for h, part in enumerate(self.groups):
            rows, mix = part.shrink * influence[group == h], part.mix[targets, value]
            ends = np.einsum("tu,euk->etk", mix, part.ends[:, :, value]) - part.centre[None, targets, value]
            ends = part.shrink * ends
            size = rows.shape[0] + 2.0 * QUARTER
            middle = (rows.sum(axis=0) + QUARTER * ends.sum(axis=0)) / size
            squares = ((rows - middle) ** 2).sum(axis=0) + QUARTER * ((ends - middle) ** 2).sum(axis=0)
            total += squares * part.size[value] / np.maximum(part.size[value] - 1.0, LEAST_DF)
        return total


def group_members(unions: Masks, groups: int) -> Floats:
    """1 where a group (column) lies in a union (row)."""
    return ((unions[:, None] >> np.arange(groups)[None, :]) & 1).astype(np.float64)


def coalition_rates(
    decisions: Decisions, form: RowForm, group: Codes, groups: int, unions: Masks
) -> CoalitionRates:
    """p_J(S) for every union J of groups and every coalition S (a column of `decisions`)."""
    indicator = (group[None, :] == np.arange(groups)[:, None]).astype(np.float64)
    slope_value, slope_weight = form.value1 - form.value0, form.weight1 - form.weight0
    moved = weighted_sums(decisions, np.vstack([indicator * slope_value, indicator * slope_weight]))
    return _pooled(form, indicator, moved[:groups], moved[groups:], unions)


def _pooled(
    form: RowForm, indicator: Floats, values: Floats, weights: Floats, unions: Masks
) -> CoalitionRates:
    """Rates of unions from what the decisions of each group add to its sums (groups × coalitions)."""
    members = group_members(unions, indicator.shape[0])
    value = members @ ((indicator @ form.value0)[:, None] + values)
    weight = members @ ((indicator @ form.weight0)[:, None] + weights)
    positive = weight > 0
    return CoalitionRates(np.where(positive, value / np.where(positive, weight, 1.0), 0.0), weight)


def contributions(
    decisions: Decisions, form: RowForm, group: Codes, groups: int, coefficients: Floats, targets: Targets
) -> Contributions:
    """Decompose every target over the players; `coefficients` is (values, players, coalitions)."""
    if form.ratio:
        rates = coalition_rates(decisions, form, group, groups, targets.unions)
        joined = _with_half_a_person(rates, group_members(targets.unions, groups), form.ends)
        parts = list(_ratio_forms(decisions, form, group, groups, coefficients, targets, joined))
        centre = _decomposed(coefficients, targets, joined)
    else:
        parts, rates, centre = _mean_forms(decisions, form, group, groups, coefficients, targets)
    undefined = undefined_targets(coefficients, targets, rates)
    low, high = possible_forms(coefficients, form.ends)
    up, down = np.maximum(targets.weights, 0.0).sum(axis=2), np.minimum(targets.weights, 0.0).sum(axis=2)
    reach = (
        up[:, :, None] * low + down[:, :, None] * high,
        up[:, :, None] * high + down[:, :, None] * low,
    )
    estimate = _decomposed(coefficients, targets, rates)
    return Contributions(estimate, undefined, group.size, tuple(parts), rates, centre, reach)


def _decomposed(coefficients: Floats, targets: Targets, rates: CoalitionRates) -> Floats:
    """Σ_J weight_J Σ_S c_k(S)·p_J(S) for every target, value and player."""
    by_union = np.einsum("vkm,jm->vkj", coefficients, rates.rate, optimize=True)
    return np.asarray(np.einsum("tvj,vkj->tvk", targets.weights, by_union))


def possible_forms(coefficients: Floats, ends: tuple[float, float]) -> tuple[Floats, Floats]:
    """The least and the largest Σ_S c_k(S)·value_S, (values, players): [Σ c⁻, Σ c⁺] for values from 0 to 1."""
    up, down = np.maximum(coefficients, 0.0).sum(axis=-1), np.minimum(coefficients, 0.0).sum(axis=-1)
    return up * ends[0] + down * ends[1], up * ends[1] + down * ends[0]


def _with_half_a_person(rates: CoalitionRates, members: Floats, ends: tuple[float, float]) -> CoalitionRates:
    """Rates when every group has a quarter of a person more at either end, whom every coalition counts."""
    joined = members.sum(axis=1)[:, None] * QUARTER
    weight = rates.weight + 2.0 * joined
    return CoalitionRates((rates.rate * rates.weight + joined * sum(ends)) / weight, weight)


def undefined_targets(coefficients: Floats, targets: Targets, rates: CoalitionRates) -> NDArray[np.bool_]:
    """Which (target, value) pairs use a rate p_J(S) that has no denominator."""
    used = (coefficients != 0).any(axis=1)  # values, coalitions
    missing = ~rates.defined  # unions, coalitions
    hit = (used[:, None, :] & missing[None, :, :]).any(axis=2)  # values, unions
    return np.asarray(((targets.weights != 0) & hit[None, :, :]).any(axis=2))


def _mean_forms(
    decisions: Decisions, form: RowForm, group: Codes, groups: int, coefficients: Floats, targets: Targets
) -> tuple[list[GroupForms], CoalitionRates, Floats]:
    """The denominator does not depend on S: one product Ŷ·c serves every union of groups, and gives the rates too.

    For a row of union J: (value0·Σc + slope·(Ŷ·c) − weight·Σ_S c(S)p_J(S)) / Σ weight.
    """
    values, players, columns = coefficients.shape
    flat = coefficients.reshape(values * players, columns)
    slope = form.value1 - form.value0
    constant, largest = flat.sum(axis=1), np.abs(flat).sum(axis=1)
    moved = np.zeros((groups, columns))
    multiply = row_products(decisions, coefficients)
    found: list[tuple[NDArray[np.intp], Floats]] = []
    for h in range(groups):
        rows = np.flatnonzero((group == h) & (form.weight0 > 0))
        forms, moved[h] = multiply(rows, slope[rows])
        if (slope[rows] != 1).any():
            forms *= slope[rows, None]
        if form.value0[rows].any():
            forms += form.value0[rows, None] * constant
        _drop_rounding(forms, largest)
        found.append((rows, forms.reshape(rows.size, 1, values, players)))
    indicator = (group[None, :] == np.arange(groups)[:, None]).astype(np.float64)
    rates = _pooled(form, indicator, moved, np.zeros_like(moved), targets.unions)
    weight = rates.weight[:, 0]
    inverse = np.where(weight > 0, 1.0 / np.where(weight > 0, weight, 1.0), 0.0)
    members = group_members(targets.unions, groups)
    mix = np.einsum("tvj,j,jh->htv", targets.weights, inverse, members)
    union_value = np.einsum("vkm,jm->vkj", coefficients, rates.rate, optimize=True)
    centre = np.einsum("tvj,j,vkj,jh->htvk", targets.weights, inverse, union_value, members)
    ends = np.array(possible_forms(coefficients, form.ends))
    own = _pooled(form, indicator, moved, np.zeros_like(moved), np.left_shift(1, np.arange(groups)))
    mean = np.einsum("vkm,hm->hvk", coefficients, own.rate, optimize=True)
    parts, quartered = [], np.zeros(centre.shape[1:])
    for h, (rows, forms) in enumerate(found):
        size = rows.size + 2.0 * QUARTER
        shrink = rows.size / size
        middle = mean[h] * shrink + QUARTER * ends.sum(axis=0) / size
        quartered += (mix[h] * rows.size)[:, :, None] * middle
        parts.append(
            GroupForms(
                rows, forms, mix[h][:, :, None], form.weight0[rows], centre[h], ends[:, None],
                np.full((values, players), size), shrink,
            )
        )  # fmt: skip
    return parts, rates, quartered


def _ratio_forms(
    decisions: Decisions,
    form: RowForm,
    group: Codes,
    groups: int,
    coefficients: Floats,
    targets: Targets,
    rates: CoalitionRates,
) -> Iterator[GroupForms]:
    """The denominator depends on S: Σ_S c(S)·(value_iS − p_J(S)·weight_iS)/Σ weight(S), per union J of the row.

    `rates` are those with half a person more in every group. Rows that share the four numbers of the form share the
    columns of the product, so there is one product per row.
    """
    values, players, columns = coefficients.shape
    flat = coefficients.reshape(values * players, columns)
    inverse = np.where(rates.defined, 1.0 / np.where(rates.defined, rates.weight, 1.0), 0.0)
    members = group_members(targets.unions, groups)
    pattern, patterns = _distinct(form)
    no_centre = np.zeros((targets.weights.shape[0], values, players))
    for h in range(groups):
        unions = np.flatnonzero(members[:, h] > 0)
        parts = [np.flatnonzero((group == h) & (pattern == q)) for q in range(len(patterns))]
        rows = np.concatenate(parts)
        forms = np.empty((rows.size, unions.size * values * players))
        largest = np.zeros(forms.shape[1])
        done = 0
        for part, (value0, slope_value, weight0, slope_weight) in zip(parts, patterns, strict=True):
            if part.size == 0:
                continue
            moved = (slope_value - slope_weight * rates.rate[unions]) * inverse[unions]  # unions, coalitions
            fixed = (value0 - weight0 * rates.rate[unions]) * inverse[unions]
            lines = (moved[:, None, :] * flat[None]).reshape(-1, columns)
            constant = (flat @ fixed.T).T.reshape(-1)
            filled = forms[done : done + part.size]
            linear_forms(decisions, lines, part, filled)
            filled += constant
            largest = np.maximum(largest, np.abs(lines).sum(axis=1))
            done += part.size
        _drop_rounding(forms, largest)
        shaped = forms.reshape(rows.size, unions.size, values, players)
        yield GroupForms(
            rows, shaped, targets.weights[:, :, unions], np.zeros(rows.size), no_centre,
            _ratio_ends(coefficients, rates, inverse, unions, form.ends),
            _counted_people(coefficients, rates.weight[unions[members[unions].sum(axis=1).argmin()]]), 1.0,
        )  # fmt: skip


def _ratio_ends(
    coefficients: Floats,
    rates: CoalitionRates,
    inverse: Floats,
    unions: NDArray[np.intp],
    ends: tuple[float, float],
) -> Floats:
    """Forms (2, unions, values, players) of somebody whom every coalition counts, at the worst and the best end."""
    up, down = np.maximum(coefficients, 0.0), np.minimum(coefficients, 0.0)
    lines = []
    for first, second in (ends, ends[::-1]):
        away = [(end - rates.rate[unions]) * inverse[unions] for end in (first, second)]
        lines.append(
            np.einsum("vkm,jm->jvk", up, away[0], optimize=True)
            + np.einsum("vkm,jm->jvk", down, away[1], optimize=True)
        )
    return np.array(lines)


def _counted_people(coefficients: Floats, weight: Floats) -> Floats:
    """People behind a group's rates, the harmonic mean over the coalitions as they count: (values, players)."""
    size = np.abs(coefficients)
    return np.asarray(size.sum(axis=-1) / np.maximum((size / weight).sum(axis=-1), 1e-300))


def _drop_rounding(forms: Floats, largest: Floats) -> None:
    """Make columns that differ by rounding alone exactly constant: no variation must stay no variation."""
    if not forms.shape[0]:
        return
    # A glance at the first rows clears nearly every column, and only the others are read to the end.
    glance = forms[:GLANCE]
    doubtful = np.flatnonzero((glance.max(axis=0) - glance.min(axis=0)) <= ROUNDING * largest)
    if doubtful.size:
        columns = forms[:, doubtful]
        same = doubtful[(columns.max(axis=0) - columns.min(axis=0)) <= ROUNDING * largest[doubtful]]
        forms[:, same] = forms[0, same]


def _distinct(form: RowForm) -> tuple[Codes, Floats]:
    """Number the distinct rows of (value0, slope of value, weight0, slope of weight)."""
    columns = (form.value0, form.value1 - form.value0, form.weight0, form.weight1 - form.weight0)
    code = np.zeros(form.value0.size, dtype=np.int64)
    for column in columns:
        if ((column == 0) | (np.abs(column) == 1)).all():  # no sort for −1, 0 and 1
            code = code * 3 + (column.astype(np.int64) + 1)
        else:
            labels, number = np.unique(column, return_inverse=True)
            code = code * labels.size + number
    if code.size and code.max() < 10_000:
        first = np.full(int(code.max()) + 1, -1)
        first[code[::-1]] = np.arange(code.size)[::-1]
        present = np.flatnonzero(first >= 0)
        pattern = np.searchsorted(present, code)
        first = first[present]
    else:
        _, first, pattern = np.unique(code, return_index=True, return_inverse=True)
    return pattern.astype(np.int64), np.column_stack([column[first] for column in columns])
