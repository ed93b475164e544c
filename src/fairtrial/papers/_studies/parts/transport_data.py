"""The data sets of Si, Murthy, Blanchet and Nguyen (2021), with other readings of what the article leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import fairtrial
from fairtrial.papers._data import data
from fairtrial.papers._studies.parts.data_files import find

# What the code used before calls "black" is the code of White: 1,720 of the 1,885 people.
WHITE, BLACK = -0.31685, -1.10702
SEX = 1


@dataclass(frozen=True)
class StudyData:
    """Features, a 0/1 outcome and a 0/1 group."""

    name: str
    x: np.ndarray
    outcome: np.ndarray
    group: np.ndarray

    def split(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """70% to fit and 30% to test."""
        order = rng.permutation(len(self.x))
        return order[: int(0.7 * len(order))], order[int(0.7 * len(order)) :]


def compas() -> StudyData:
    """African-American and Caucasian rows within 30 days of the screening: 5,278, five features."""
    frame = fairtrial.load("compas", backend="pandas")
    kept = frame.days_b_screening_arrest.between(-30, 30) & frame.race.isin(["African-American", "Caucasian"])
    frame = frame[kept]
    columns = [
        frame.sex == "Male", frame.priors_count, frame.c_charge_degree == "F", frame.age_cat == "Less than 25",
        frame.age_cat == "Greater than 45",
    ]  # fmt: skip
    return StudyData(
        "COMPAS",
        np.column_stack(columns).astype(float),
        frame.two_year_recid.to_numpy(),
        (frame.race == "African-American").to_numpy().astype(int),
    )


def arrhythmia(folder: Path, reading: str = "") -> StudyData:
    """452 people, missing values by the most frequent one. The article's twelve features hold sex, the group.

    Readings: "sex too" keeps it among the features, "twelve others" takes twelve besides it, "arrhythmia" is positive.
    """
    table = data("arrhythmia", folder)
    raw = np.column_stack([np.array(table[name].to_pylist(), dtype=float) for name in table.column_names])
    for column in raw.T:
        missing = np.isnan(column)
        if missing.any():
            values, counts = np.unique(column[~missing], return_counts=True)
            column[missing] = values[counts.argmax()]
    without = np.delete(raw[:, :13], SEX, axis=1)
    features = {"sex too": raw[:, :12], "twelve others": without}.get(reading, without[:, :11])
    normal = (raw[:, -1] == 1).astype(int)
    return StudyData(
        "Arrhythmia", features, 1 - normal if reading == "arrhythmia" else normal, raw[:, SEX].astype(int)
    )


def drug(folder: Path, reading: str = "") -> StudyData:
    """1,885 people; the outcome is never having used cannabis. The article's twelve features hold ethnicity, the group.

    Readings: "ethnicity too" keeps it among the features, "Black" compares the 33 people with that code.
    """
    table = data("drug_consumption", folder)
    numbers = [np.array(table[name].to_pylist()) for name in table.column_names[1:13]]
    all_twelve = np.column_stack(numbers)
    never = np.array([used == "CL0" for used in table["cannabis"].to_pylist()]).astype(int)
    ethnicity = table.column_names.index("ethnicity") - 1
    group = np.abs(all_twelve[:, ethnicity] - (BLACK if reading == "Black" else WHITE)) < 1e-9
    features = all_twelve if reading == "ethnicity too" else np.delete(all_twelve, ethnicity, axis=1)
    return StudyData("Drug", features, never, group.astype(int))


def data_folder(given: Path | None) -> Path | None:
    """Where arrhythmia.csv and drug_consumption.csv are, as given or FAIRTRIAL_DATA; None: nowhere."""
    both = [find(name, given) for name in ("arrhythmia", "drug_consumption")]
    return both[0].parent if both[0] is not None and both[1] is not None else None
