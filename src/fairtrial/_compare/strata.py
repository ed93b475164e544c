"""The gap among people alike in some columns: which strata there are, what is refused, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Cells, Rows, atom_of_rows
from fairtrial._compare.people import WeightedRows
from fairtrial._compare.request import Request
from fairtrial._compare.sorted_groups import OwnEstimate
from fairtrial._errors import Fault, NotApplicable, Note, Set, Words
from fairtrial._inference.evidence.atoms import Atoms, Comparison
from fairtrial._inference.laws.gaps import Gaps
from fairtrial._inference.laws.linear_gaps import LinearGaps
from fairtrial._inference.laws.matched_gaps import MatchedStrataGaps
from fairtrial._inference.laws.model_gaps import FOLDS, Fitted, ModelGaps, RobustParts, robust_parts
from fairtrial._inference.laws.strata_gaps import LinearStrataGaps, StrataGaps
from fairtrial._inference.laws.sums_gaps import MeanStrataGaps
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._metrics.groups import Target
from fairtrial._metrics.values import Metric
from fairtrial._results.column import undefined

MOST_NAMED = 5
HETEROGENEOUS = 0.05  # a p-value up to this one is told in a note
UNMEASURED = Note(
    "unmeasured",
    "People alike in these columns may differ in something that is not in the data. 'Overturned by' is how strong such "
    "a factor has to be before the answer no longer holds. Whether there is one the data cannot say.",
)


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """The strata of the finest groups, and the gap without them."""

    columns: tuple[str, ...]
    labels: list[str]
    gaps: StrataGaps | MeanStrataGaps | LinearStrataGaps | ModelGaps
    unadjusted: Gaps

    @property
    def words(self) -> str:
        return " and ".join(self.columns)


def refuse_within(
    who: str,
    audit: Audit,
    metric: Metric,
    within: Sequence[str],
    target: Target | OwnEstimate,
    by_model: bool,
) -> None:
    """What cannot be adjusted for legitimate factors yet, by name, and what would be adjusted away whole."""
    faults = []
    measured = _measured(audit, metric)
    if measured <= set(within):
        named = " and ".join(repr(name) for name in within if name in measured)
        required = (
            f"names {named}, of which {metric.label} is made: people alike in it have no gap left to show"
        )
        faults.append(Fault("within", required, cure="name another column, or leave it out"))
    if isinstance(target, OwnEstimate) or target.kind not in ("rest", "reference"):
        cure = Words("use {} or a reference group", Set("target", "rest"))
        faults.append(
            Fault(
                "within",
                "compares people with others who are alike, not with a number or everyone",
                cure=cure,
            )
        )
    if by_model and (audit.has("weight") or audit.has("unit")):
        required = (
            "by a model is not for weighted rows or persons with several rows: no law of it was measured"
        )
        cure = Words("use {}", Set("adjustment", "strata"))
        faults.append(Fault("adjustment", required, cure=cure))
    if faults:
        raise NotApplicable(who, faults)


def _measured(audit: Audit, metric: Metric) -> set[str | None]:
    """The columns that the metric's value is made of; of a decision that is a score's, that score."""
    if isinstance(metric.value, str):
        return {metric.value}
    return {getattr(audit, need) or audit.score for need in metric.value.needs}


def strata_of(cells: Cells, columns: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """The stratum of each finest group, and the strata's labels."""
    places = [cells.attributes.index(name) for name in columns]
    keys, stratum = np.unique(cells.codes[:, places], axis=0, return_inverse=True)
    labels = [
        ", ".join(f"{name}: {cells.labels[name][code]}" for name, code in zip(columns, key, strict=True))
        for key in keys
    ]
    return np.ravel(stratum).astype(np.int64), labels


def adjust(
    request: Request, cells: Cells, atoms: Atoms, comparison: Comparison, unadjusted: Gaps,
    weighted: WeightedRows | None = None,
) -> Within:  # fmt: skip
    """The gaps within the strata of the columns that `within` names."""
    who, columns, scale = request.who, tuple(request.within), request.scale
    if comparison.shared(atoms).any():
        required = "needs a reference that shares nobody with the groups compared"
        raise NotApplicable(who, Fault("target", required))
    stratum, labels = strata_of(cells, columns)
    if weighted is not None:
        assert isinstance(unadjusted, LinearGaps)
        sums = weighted.sums.expanded()
        if sums is None:
            required = "needs every row's own weight here, and the rows stay in Spark"
            cure = (
                "Compare rates of at least 20,000 rows without large weights, or a sample drawn with a seed"
            )
            raise NotApplicable(who, Fault("within", required, cure=cure))
        gaps = LinearStrataGaps(sums, comparison, stratum, unadjusted, scale)
        return Within(columns, labels, gaps, unadjusted)
    law = MatchedStrataGaps.of if atoms.binary else MeanStrataGaps
    return Within(columns, labels, law(atoms, comparison, stratum, scale), unadjusted)


def adjusted_cells(within: Within, level: float, index: int) -> dict[str, Any]:
    """What stands beside an adjusted gap: the unadjusted one, who was compared, and whether strata differ."""
    gaps = within.unadjusted
    low, high = gaps.kept_limits(level)
    name = "unadjusted" if gaps.scale == "difference" else "unadjusted_ratio"
    found = within.gaps.heterogeneity
    several = found.df[index] > 0

    def cell(value: float) -> Any:
        why = gaps.reason[index]
        return float(value) if why is None and np.isfinite(value) else undefined(why or "no limit")

    return {
        name: cell(gaps.estimate[index]),
        f"{name}_low": cell(low[index]),
        f"{name}_high": cell(high[index]),
        "compared": float(within.gaps.compared[index]),
        "heterogeneity_p": float(found.p_value[index])
        if several
        else undefined(
            "not tested here"
            if isinstance(within.gaps, MeanStrataGaps | ModelGaps) or within.gaps.several_strata(index)
            else "fewer than two strata to compare"
        ),
    }


def within_notes(within: Within, groups: Sequence[str]) -> list[Note]:
    """Who is not compared, and where the gap differs between strata."""
    if isinstance(within.gaps, ModelGaps):
        text = (
            f"Adjusted for {within.words} by models of the outcome and of who is in the group (doubly robust, five "
            "folds): the gap is right where either model is, and without inference where more than 5% of people have "
            "hardly anybody alike on the other side. The unadjusted gap stands beside the adjusted one; what the "
            "columns themselves owe to discrimination is adjusted away with them."
        )
        return [Note("within", text), UNMEASURED]
    notes = [
        Note(
            "within",
            f"Adjusted for {within.words}: people are compared with others of the same stratum ({len(within.labels)} "
            "strata, Mantel–Haenszel weights). The unadjusted gap stands beside the adjusted one; what the columns "
            "themselves owe to discrimination is adjusted away with them.",
        ),
        UNMEASURED,
    ]
    alone = []
    for index, group in enumerate(groups):
        strata = within.gaps.one_sided(index)
        if strata.size:
            named = "; ".join(within.labels[place] for place in strata[:MOST_NAMED])
            more = f" and {strata.size - MOST_NAMED} more" if strata.size > MOST_NAMED else ""
            alone.append(f"{group} in {strata.size} ({named}{more})")
    if alone:
        notes.append(Note("one-sided-strata", f"Strata with nobody to compare with: {'; '.join(alone)}."))
    differs = [
        group
        for group, p in zip(groups, within.gaps.heterogeneity.p_value, strict=True)
        if p <= HETEROGENEOUS
    ]
    if differs:
        text = f"The gap differs between strata ({', '.join(differs)}): the adjusted gap is an average over them."
        notes.append(Note("heterogeneous", text))
    return notes


# -- The gap among people alike by models: what they see, how they are fitted, and what is refused.
SHRUNK = 0.1  # the penalty on squared coefficients, of numbers in standard deviations


def adjust_by_model(
    request: Request, metric: Metric, cells: Cells, comparison: Comparison, unadjusted: Gaps
) -> Within:  # fmt: skip
    """The gaps standardised by models of the outcome and of who is in the group, both of the columns `within` names."""
    who, audit = request.who, request.audit
    if request.scale == "ratio":
        required = "'ratio' is not inferred by a model"
        raise NotApplicable(who, Fault("scale", required, cure="Leave it out"))
    columns = tuple(request.within)
    numbers = [name for name in columns if name not in audit.bins and audit.kind(name) in ("int", "float")]
    labels = [name for name in columns if name not in numbers]
    rows = audit.rows(
        attributes=(*cells.attributes, *labels), metrics=[metric], columns=numbers, complete=False, who=who
    )
    given = rows.given[metric.name]
    atom, value = atom_of_rows(cells, rows)[given], rows.values[metric.name][given]
    design = _design(rows, labels, numbers)[given]
    fold = np.random.default_rng(0).permutation(value.size) % FOLDS
    parts = [
        _parts(member[atom], reference[atom], value, design, fold)
        for member, reference in zip(comparison.member, comparison.reference, strict=True)
    ]
    return Within(columns, [], ModelGaps(parts, value.size), unadjusted)


def _parts(
    member: Bools, reference: Bools, value: Floats, design: Floats, fold: NDArray[np.int64]
) -> RobustParts:
    rows = np.flatnonzero(member | reference)
    mean = expected_chance if np.isin(value, (0.0, 1.0)).all() else expected_mean
    found = robust_parts(member[rows], value[rows], design[rows], expected_chance, mean, fold[rows])
    return found._replace(rows=rows)


def _design(rows: Rows, labels: list[str], numbers: list[str]) -> Floats:
    """Every label as a column of its own; numbers and their squares in standard deviations."""
    parts = [np.zeros((rows.n, 0))]
    for name in labels:
        coded = rows.attributes[name]
        parts.append((coded.codes[:, None] == np.arange(1, len(coded.labels))).astype(np.float64))
    for name in numbers:
        column = rows.columns[name]
        spread = float(column.std()) or 1.0
        scaled = (column - column.mean()) / spread
        parts.append(np.column_stack([scaled, scaled**2 - 1.0]))
    return np.column_stack(parts)


def expected_chance(design: Floats, value: Floats, asked: Floats) -> Fitted:
    """Logistic regression, slightly shrunk; the share itself where there is but one value to learn from."""
    from sklearn.linear_model import LogisticRegression

    if value.size == 0 or value.min() == value.max() or design.shape[1] == 0:
        share = np.full(value.size, (value.sum() + 0.5) / (value.size + 1.0))
        return _constant(share, value, asked)
    model = LogisticRegression(C=1.0 / SHRUNK, max_iter=1000).fit(design, value)
    learned, expected = (model.predict_proba(columns)[:, 1] for columns in (design, asked))
    spread = learned * (1.0 - learned)
    return Fitted(expected, _pull(design, value - learned, spread, asked, expected * (1.0 - expected)))


def expected_mean(design: Floats, value: Floats, asked: Floats) -> Fitted:
    """Least squares, slightly shrunk."""
    from sklearn.linear_model import Ridge

    if value.size == 0 or design.shape[1] == 0:
        return _constant(np.full(value.size, value.mean() if value.size else 0.0), value, asked)
    model = Ridge(alpha=SHRUNK).fit(design, value)
    rest = value - model.predict(design)
    return Fitted(
        np.asarray(model.predict(asked)), _pull(design, rest, np.ones(value.size), asked, np.ones(len(asked)))
    )


def _constant(expected: Floats, value: Floats, asked: Floats) -> Fitted:
    """One number expected of everybody: each row pulls it towards its own value."""
    level = float(expected[0]) if expected.size else 0.5
    rest = (value - expected) / max(value.size, 1)
    return Fitted(np.full(len(asked), level), lambda multiple: rest * multiple.sum())


def _pull(
    design: Floats, rest: Floats, spread: Floats, asked: Floats, slope: Floats
) -> Callable[[Floats], Floats]:
    """Of a regression: each row's score, through the inverse of the information, on the expectations asked for."""
    learned, others = (np.column_stack([np.ones(len(columns)), columns]) for columns in (design, asked))
    information = learned.T @ (spread[:, None] * learned)
    information[1:, 1:] += SHRUNK * np.eye(design.shape[1])

    def pull(multiple: Floats) -> Floats:
        way = np.linalg.lstsq(information, others.T @ (slope * multiple), rcond=None)[0]
        return np.asarray(rest * (learned @ way))

    return pull
