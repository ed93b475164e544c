"""Designs of the scan's lines: people whose events do not depend on the class given condition and covariates.

Class, outcomes and scores may depend on the covariates as they like. The last designs plant a bias.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from inside.scan import CountedRows, ScanTable, build_table, log_odds

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
ARITY = np.array([2, 2, 3], dtype=np.int64)


def expit(x: Any) -> FloatArray:
    return np.asarray(1.0 / (1.0 + np.exp(-x)), dtype=np.float64)


def covariates(generator: np.random.Generator, people: int) -> tuple[IntArray, FloatArray]:
    """Three attributes with 2, 2 and 3 values, and a linear score of them."""
    codes = np.stack([generator.integers(0, k, size=people) for k in ARITY], axis=1).astype(np.int64)
    linear = 0.8 * (codes[:, 0] - 0.5) - 0.6 * (codes[:, 1] - 0.5) + 0.7 * (codes[:, 2] - 1.0)
    return codes, linear


def table_of(
    codes: IntArray,
    protected: NDArray[np.bool_],
    event: FloatArray,
    scanned: NDArray[np.bool_] | None = None,
    condition: FloatArray | None = None,
    *,
    real_valued: bool = False,
    on_score: bool = False,
    arity: IntArray = ARITY,
    near: tuple[FloatArray, ...] = (),
) -> ScanTable:
    rows = CountedRows(
        codes=codes,
        protected=protected,
        event=event,
        scanned=np.ones(len(codes), dtype=bool) if scanned is None else scanned,
        condition=condition,
        count=np.ones(len(codes)),
        near=near,
    )
    return build_table(rows, arity=arity, on_score=on_score, real_valued=real_valued)


def class_depends_on_covariates(
    generator: np.random.Generator, people: int = 500, strength: float = 2.5, intercept: float = 0.0
) -> ScanTable:
    """A depends strongly on X, and so does the event; given X the event ignores A."""
    codes, linear = covariates(generator, people)
    protected = generator.random(people) < expit(intercept + strength * linear)
    event = (generator.random(people) < expit(1.2 * linear - 0.3)).astype(np.float64)
    return table_of(codes, protected, event)


def base_rate_difference(generator: np.random.Generator, people: int = 800) -> ScanTable:
    """Outcomes differ between the classes; decisions depend on outcome and X alone. Scanned among Y=0."""
    codes, linear = covariates(generator, people)
    protected = generator.random(people) < expit(1.5 * linear)
    outcome = generator.random(people) < expit(0.8 * linear - 0.5 + 1.0 * protected)
    event = (generator.random(people) < expit(linear - 0.5 + 1.5 * outcome)).astype(np.float64)
    return table_of(codes, protected, event, scanned=~outcome)


def free_condition(generator: np.random.Generator, people: int = 800) -> ScanTable:
    """The same without restricting the outcome: C = Y enters the model."""
    codes, linear = covariates(generator, people)
    protected = generator.random(people) < expit(1.5 * linear)
    outcome = (generator.random(people) < expit(0.8 * linear - 0.5 + 1.0 * protected)).astype(np.float64)
    event = (generator.random(people) < expit(linear - 0.5 + 1.5 * outcome)).astype(np.float64)
    return table_of(codes, protected, event, condition=outcome)


def unmodelled_interaction(generator: np.random.Generator, people: int = 800) -> ScanTable:
    """Event and class both follow a product of two attributes that the main-effects model cannot see."""
    codes, linear = covariates(generator, people)
    crossed = np.where(codes[:, 0] == codes[:, 1], 1.0, -1.0)
    protected = generator.random(people) < expit(1.2 * crossed)
    event = (generator.random(people) < expit(1.2 * crossed + 0.3 * linear)).astype(np.float64)
    return table_of(codes, protected, event)


def continuous_score(generator: np.random.Generator, people: int = 300, shift: float = 0.0) -> ScanTable:
    """A calibrated score of its own; outcomes follow it whatever the class. `shift` moves the class's scores."""
    codes, linear = covariates(generator, people)
    protected = generator.random(people) < expit(1.5 * linear)
    score = expit(0.6 * linear + shift * protected + 0.6 * generator.standard_normal(people))
    event = (generator.random(people) < score).astype(np.float64)
    return table_of(codes, protected, event, condition=log_odds(score), on_score=True)


def mean_scores(generator: np.random.Generator, people: int = 500) -> ScanTable:
    """The score itself is the event, scanned among Y=0; the class depends on X."""
    codes, linear = covariates(generator, people)
    protected = generator.random(people) < expit(2.0 * linear)
    logs = 0.8 * linear + 0.6 * generator.standard_normal(people)
    outcome = generator.random(people) < expit(logs)
    score = np.round(expit(logs), 2).clip(0.01, 0.99)
    return table_of(codes, protected, score, scanned=~outcome, real_valued=True)


def score_alone(generator: np.random.Generator, shape: str = "step", people: int = 3000) -> ScanTable:
    """The outcome depends on the score alone; the class shifts, spreads or parts the scores. Six X cells."""
    codes = np.stack([generator.integers(0, k, size=people) for k in (2, 3)], axis=1).astype(np.int64)
    protected = generator.random(people) < 0.4
    normal = generator.standard_normal(people)
    if shape == "bimodal":
        sides = np.where(generator.random(people) < 0.5, 1.5, -1.5)
        logs = np.where(protected, sides + 0.5 * normal, normal)
    elif shape == "shift differs":
        logs = normal + protected * np.where(codes[:, 0] == 0, 1.0, -0.5)
    else:
        logs = normal + 0.8 * protected
    rate = np.full(people, 0.3) if shape == "flat" else np.where(logs > 0.3, 0.8, 0.2)
    if shape == "bimodal":
        rate = expit(logs**2 - 1.5)
    event = (generator.random(people) < rate).astype(np.float64)
    return table_of(codes, protected, event, condition=expit(logs), on_score=True, arity=np.array([2, 3]))


def few_alike(
    generator: np.random.Generator,
    shape: str = "shifted 1.5",
    people: int = 1500,
    arity: tuple[int, ...] = (3, 4, 4),
    harm: float = 0.0,
) -> ScanTable:
    """Perfectly calibrated scores that differ by class, and few people with the same features.

    "shifted d": the class's log-odds are d lower. "wider": they spread twice as far. "two modes": they have two.
    "rare": a tenth is in the class. "rounded": scores to two digits. With `harm`, the class's log-odds of the outcome
    are that much lower than its scores say for half of the first feature's values.
    """
    codes = np.stack([generator.integers(0, k, size=people) for k in arity], axis=1).astype(np.int64)
    protected = generator.random(people) < (0.1 if shape == "rare" else 0.5)
    normal = generator.normal(0.0, 1.5, people)
    logs = normal - protected * (float(shape.split()[1]) if shape.startswith("shifted") else 1.0)
    if shape == "wider":
        logs = normal * np.where(protected, 1.0, 0.5)
    if shape == "two modes":
        sides = np.where(generator.random(people) < 0.5, 2.0, -2.0)
        logs = np.where(protected, sides + 0.3 * normal, normal)
    score = expit(logs)
    if shape == "rounded":
        score = np.round(score, 2).clip(0.01, 0.99)
    harmed = protected & (codes[:, 0] < arity[0] / 2)
    event = (generator.random(people) < expit(log_odds(score) - harm * harmed)).astype(np.float64)
    return table_of(codes, protected, event, condition=score, on_score=True, arity=np.array(arity))


def many_numbers(
    generator: np.random.Generator,
    people: int = 2000,
    steep: float = 3.0,
    step: float = 0.0,
    near: bool = True,
) -> ScanTable:
    """Age and tenure in eight bins, sex: class and event both rise with age, or jump inside a bin.

    `near` cuts strata inside the bins as the public function does.
    """
    age, tenure = generator.random(people), generator.random(people)
    codes = np.stack(
        [(8 * age).astype(np.int64), (8 * tenure).astype(np.int64), generator.integers(0, 2, people)], 1
    )
    linear = steep * (age - 0.5) + step * (age > 0.8125)
    protected = generator.random(people) < expit(linear)
    event = (generator.random(people) < expit(linear - 0.5)).astype(np.float64)
    fine = (np.floor(64 * age), np.floor(64 * tenure)) if near else ()
    return table_of(codes, protected, event, arity=np.array([8, 8, 2]), near=fine)


def ten_attributes(
    generator: np.random.Generator, shared: str = "main", people: int = 2000, attributes: int = 10
) -> ScanTable:
    """Ten attributes of three values; class and event share what `shared` says, and nothing else."""
    codes = generator.integers(0, 3, size=(people, attributes)).astype(np.int64)
    common, base, strength = _shared(codes, shared), -0.5, 1.0
    if shared == "rare":
        base = -3.2
    if shared == "strong":
        strength = 2.0
    protected = generator.random(people) < expit(base + strength * common)
    event = (generator.random(people) < expit(0.9 * common - 0.3)).astype(np.float64)
    return table_of(codes, protected, event, arity=np.full(attributes, 3))


def _shared(codes: IntArray, shared: str) -> FloatArray:
    """What class and event have in common."""
    parts = {"two-way": 2, "three-way": 3, "four-way": 4}
    if shared in parts:  # equal odds for every value of fewer attributes
        turn = codes[:, : parts[shared]].sum(axis=1) % 3
        return np.asarray(1.0 - turn, dtype=np.float64)
    return np.asarray(
        0.5 * (codes[:, 0] - 1) - 0.5 * (codes[:, 1] - 1) + 0.4 * (codes[:, 2] - 1), dtype=np.float64
    )


def planted(
    generator: np.random.Generator, crossed: float = 0.0, people: int = 1500, shift: float = 0.9
) -> ScanTable:
    """4 × 3 × 3 cells; log-odds of the class raised in two values of one attribute and one of another.

    `crossed` adds a product of two attributes, which main effects cannot see, to class and event.
    """
    codes = np.stack([generator.integers(0, k, size=people) for k in (4, 3, 3)], axis=1).astype(np.int64)
    product = np.where((codes[:, 0] % 2) == (codes[:, 1] % 2), 1.0, -1.0)
    linear = 0.4 * (codes[:, 0] - 1.5) - 0.4 * (codes[:, 1] - 1.0)
    protected = generator.random(people) < expit(0.4 * linear + crossed * product - 0.4)
    harmed = protected & (codes[:, 0] >= 2) & (codes[:, 2] == 1)
    event = (
        generator.random(people) < expit(0.6 * linear + crossed * product - 0.4 + shift * harmed)
    ).astype(np.float64)
    return table_of(codes, protected, event, arity=np.array([4, 3, 3]))


def planted_among_many(generator: np.random.Generator, people: int = 20_000) -> ScanTable:
    """Ten attributes, log-odds of the class raised by .6 in a ninth of its cells."""
    codes = generator.integers(0, 3, size=(people, 10)).astype(np.int64)
    linear = 0.4 * (codes[:, 0] - 1) - 0.4 * (codes[:, 1] - 1)
    protected = generator.random(people) < expit(linear - 0.4)
    harmed = protected & (codes[:, 2] == 1) & (codes[:, 3] == 1)
    event = (generator.random(people) < expit(linear - 0.4 + 0.6 * harmed)).astype(np.float64)
    return table_of(codes, protected, event, arity=np.full(10, 3))


def people_of_scores(
    generator: np.random.Generator, people: int = 1500
) -> tuple[IntArray, NDArray[np.bool_], FloatArray, FloatArray]:
    """Codes, class, log-odds of the score, outcome: in one half of the X cells the class's log-odds are .5 lower."""
    codes = np.stack([generator.integers(0, k, size=people) for k in (2, 3)], axis=1).astype(np.int64)
    protected = generator.random(people) < 0.4
    logs = generator.standard_normal(people) + 0.5 * protected
    harmed = protected & (codes[:, 0] == 1)
    return codes, protected, logs, (generator.random(people) < expit(logs - 0.5 * harmed)).astype(np.float64)


def planted_calibration(generator: np.random.Generator) -> ScanTable:
    """The same people, asked at the same score."""
    codes, protected, logs, event = people_of_scores(generator)
    return table_of(codes, protected, event, condition=expit(logs), on_score=True, arity=np.array([2, 3]))


WIDE = np.array([2, 2, 2, 3, 3, 4, 4, 5, 6, 8, 10, 12, 15, 30, 50], dtype=np.int64)


def fifteen_attributes(
    generator: np.random.Generator, shared: str = "main", people: int = 3000, planted: float = 0.0
) -> ScanTable:
    """Fifteen attributes of 2 to 50 values; class and event share main effects or a table of two long attributes.

    With `planted`, a twelfth of the class has higher log-odds of the event: one of three values of one attribute and
    three of twelve of another.
    """
    codes = np.stack([generator.integers(0, k, size=people) for k in WIDE], axis=1).astype(np.int64)
    linear = 0.5 * (codes[:, 3] - 1.0) + 0.4 * (codes[:, 13] % 3 - 1.0) + 0.4 * (codes[:, 14] % 2 - 0.5)
    if shared == "two-way":
        linear = 1.0 * np.where((codes[:, 9] + codes[:, 11]) % 2 == 0, 1.0, -1.0)
    protected = generator.random(people) < expit(linear - (3.4 if shared == "rare" else 0.3))
    harmed = protected & (codes[:, 4] == 1) & (codes[:, 11] < 3)
    event = (generator.random(people) < expit(linear - 0.4 + planted * harmed)).astype(np.float64)
    return table_of(codes, protected, event, arity=WIDE)
