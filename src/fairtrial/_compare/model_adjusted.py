"""The gap among people alike by models: what they see, how they are fitted, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Cells, Rows
from fairtrial._compare.atom_codes import atom_of_rows
from fairtrial._compare.inference_asked import Inference
from fairtrial._compare.within import Within
from fairtrial._errors import Fault, NotApplicable
from fairtrial._inference.compare.gaps import Gaps
from fairtrial._inference.compare.model_gaps import FOLDS, Fitted, ModelGaps, RobustParts, robust_parts
from fairtrial._inference.evidence.atoms import Comparison
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._metrics.metric import Metric

SHRUNK = 0.1  # the penalty on squared coefficients, of numbers in standard deviations


def adjust_by_model(
    who: str, audit: Audit, metric: Metric, cells: Cells, comparison: Comparison, inference: Inference,
    unadjusted: Gaps,
) -> Within:  # fmt: skip
    """The gaps standardised by models of the outcome and of who is in the group, both of the columns `within` names."""
    if inference.scale == "ratio":
        required = "'ratio' is not inferred by a model"
        raise NotApplicable(who, Fault("scale", required, cure="Leave it out"))
    columns = tuple(inference.within)
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
