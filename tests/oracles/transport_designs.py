"""The article's designs: Appendix B.1's Gaussian mixture, and the COMPAS logistic classifier of Section 6."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import fairtrial


class Drawn(NamedTuple):
    """Attribute, outcome, decision and distance of each row."""

    attribute: np.ndarray
    outcome: np.ndarray
    decision: np.ndarray
    distance: np.ndarray


def appendix_b1(rows: int, rng: np.random.Generator) -> Drawn:
    """θ = (0, 1), τ = ½: the decision looks only at the second feature, N(0, 5) in every cell, so it is fair."""
    cell = rng.choice(4, size=rows, p=[0.4, 0.1, 0.4, 0.1])  # (A, Y) = (1,1), (0,1), (1,0), (0,0)
    margin = rng.normal(size=rows) * np.sqrt(5)
    return Drawn(
        np.isin(cell, (0, 2)).astype(int), (cell < 2).astype(int), (margin >= 0).astype(int), np.abs(margin)
    )


class Compas(NamedTuple):
    """The 5,278 rows, their five features and the split of the golden numbers."""

    frame: object
    x: np.ndarray
    outcome: np.ndarray
    african_american: np.ndarray
    train: np.ndarray
    test: np.ndarray


def compas() -> Compas:
    frame = fairtrial.load("compas", backend="pandas")
    kept = frame.days_b_screening_arrest.between(-30, 30) & frame.race.isin(["African-American", "Caucasian"])
    frame = frame[kept].reset_index(drop=True)
    columns = [
        frame.sex == "Male",
        frame.priors_count,
        frame.c_charge_degree == "F",
        frame.age_cat == "Less than 25",
        frame.age_cat == "Greater than 45",
    ]
    order = np.random.default_rng(0).permutation(len(frame))
    cut = int(0.7 * len(frame))
    return Compas(
        frame,
        np.column_stack(columns).astype(float),
        frame.two_year_recid.to_numpy(),
        (frame.race == "African-American").to_numpy().astype(int),
        order[:cut],
        order[cut:],
    )
