"""The data sets of Si, Murthy, Blanchet and Nguyen (2021), with other readings of what the article leaves open."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import fairtrial

PROJECT = Path(__file__).resolve().parents[3]
# What the code used before calls "black" is the code of White: 1,720 of the 1,885 people.
WHITE, BLACK = -0.31685, -1.10702
SEX, ETHNICITY, CANNABIS = 1, 4, 18


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


def arrhythmia(folder: Path, reading: str = "") -> People:
    """452 people, missing values by the most frequent one. The article's twelve features hold sex, the group.

    Readings: "sex too" keeps it among the features, "twelve others" takes twelve besides it, "arrhythmia" is positive.
    """
    raw = np.genfromtxt(folder / "arrhythmia.csv", delimiter=",")
    for column in raw.T:
        missing = np.isnan(column)
        if missing.any():
            values, counts = np.unique(column[~missing], return_counts=True)
            column[missing] = values[counts.argmax()]
    without = np.delete(raw[:, :13], SEX, axis=1)
    features = {"sex too": raw[:, :12], "twelve others": without}.get(reading, without[:, :11])
    normal = (raw[:, -1] == 1).astype(int)
    return People(
        "Arrhythmia", features, 1 - normal if reading == "arrhythmia" else normal, raw[:, SEX].astype(int)
    )


def drug(folder: Path, reading: str = "") -> People:
    """1,885 people; the outcome is never having used cannabis. The article's twelve features hold ethnicity, the group.

    Readings: "ethnicity too" keeps it among the features, "Black" compares the 33 people with that code.
    """
    with (folder / "drug_consumption.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    all_twelve = np.array([[float(value) for value in row[1:13]] for row in rows])
    never = np.array([row[CANNABIS] == "CL0" for row in rows]).astype(int)
    group = np.abs(all_twelve[:, ETHNICITY] - (BLACK if reading == "Black" else WHITE)) < 1e-9
    features = all_twelve if reading == "ethnicity too" else np.delete(all_twelve, ETHNICITY, axis=1)
    return People("Drug", features, never, group.astype(int))


def data_folder(given: Path | None) -> Path | None:
    """Where arrhythmia.csv and drug_consumption.csv are: as given, FAIRTRIAL_DATA, or ../shared/data; None: nowhere."""
    named = os.environ.get("FAIRTRIAL_DATA")
    folder = given or (Path(named) if named else PROJECT.parent / "shared" / "data")
    files = ("arrhythmia.csv", "drug_consumption.csv")
    return folder if all((folder / file).is_file() for file in files) else None
