"""The three data sets of Si, Murthy, Blanchet and Nguyen (2021), as earlier public code of the study reads them."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import fairtrial

PROJECT = Path(__file__).resolve().parents[3]
# What the code used before calls "black" is the code of White: 1,720 of the 1,885 people.
WHITE = -0.31685
CANNABIS = 18


@dataclass(frozen=True)
class People:
    """Features, a 0/1 outcome and a 0/1 group."""

    name: str
    x: np.ndarray
    outcome: np.ndarray
    group: np.ndarray

    def split(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """70% to fit and 30% to test."""
        order = rng.permutation(len(self.x))
        return order[: int(0.7 * len(order))], order[int(0.7 * len(order)) :]


def compas() -> People:
    """African-American and Caucasian rows within 30 days of the screening: 5,278, five features."""
    frame = fairtrial.load("compas", backend="pandas")
    kept = frame.days_b_screening_arrest.between(-30, 30) & frame.race.isin(["African-American", "Caucasian"])
    frame = frame[kept]
    columns = [
        frame.sex == "Male", frame.priors_count, frame.c_charge_degree == "F", frame.age_cat == "Less than 25",
        frame.age_cat == "Greater than 45",
    ]  # fmt: skip
    return People(
        "COMPAS",
        np.column_stack(columns).astype(float),
        frame.two_year_recid.to_numpy(),
        (frame.race == "African-American").to_numpy().astype(int),
    )


def arrhythmia(folder: Path) -> People:
    """452 people; missing values by the column's most frequent one, sex taken out, the first twelve attributes left."""
    raw = np.genfromtxt(folder / "arrhythmia.csv", delimiter=",")
    for column in raw.T:
        missing = np.isnan(column)
        if missing.any():
            values, counts = np.unique(column[~missing], return_counts=True)
            column[missing] = values[counts.argmax()]
    features = np.delete(raw[:, :-1], 1, axis=1)[:, :12]
    return People("Arrhythmia", features, (raw[:, -1] == 1).astype(int), raw[:, 1].astype(int))


def drug(folder: Path) -> People:
    """1,885 people, twelve features (ethnicity among them); the outcome is never having used cannabis."""
    with (folder / "drug_consumption.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    features = np.array([[float(value) for value in row[1:13]] for row in rows])
    never = np.array([row[CANNABIS] == "CL0" for row in rows]).astype(int)
    return People("Drug", features, never, (np.abs(features[:, 4] - WHITE) < 1e-9).astype(int))


def data_folder(given: Path | None) -> Path | None:
    """Where arrhythmia.csv and drug_consumption.csv are: as given, FAIRTRIAL_DATA, or ../shared/data; None: nowhere."""
    named = os.environ.get("FAIRTRIAL_DATA")
    folder = given or (Path(named) if named else PROJECT.parent / "shared" / "data")
    files = ("arrhythmia.csv", "drug_consumption.csv")
    return folder if all((folder / file).is_file() for file in files) else None
