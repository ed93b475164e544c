"""Data of the papers that the package does not hold: read and checked, where a user has the file."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

from fairtrial._errors import Fault, Faults, InputError, check_choice

PaperData = Literal["arrhythmia", "drug_consumption", "patients_holdout", "patients"]
# What the files are usually called.
FILES = {
    "arrhythmia": "arrhythmia.csv",
    "drug_consumption": "drug_consumption.csv",
    "patients_holdout": "obermeyer_holdout.csv",
    "patients": "data_new.csv",
}
ARRHYTHMIA = [
    "age", "sex", "height", "weight", "qrs_duration", "pr_interval", "qt_interval", "t_interval", "p_interval", "qrs",
    "t", "p", "qrst",
]  # fmt: skip
DRUGS = [
    "alcohol", "amphetamine", "amyl_nitrite", "benzodiazepine", "caffeine", "cannabis", "chocolate", "cocaine",
    "crack", "ecstasy", "heroin", "ketamine", "legal_highs", "lsd", "methadone", "mushrooms", "nicotine", "semeron",
    "volatile_substances",
]  # fmt: skip
DRUG_COLUMNS = [
    "id", "age", "gender", "education", "country", "ethnicity", "neuroticism", "extraversion", "openness",
    "agreeableness", "conscientiousness", "impulsiveness", "sensation_seeking", *DRUGS,
]  # fmt: skip
PATIENTS = ["risk_score_t", "gagne_sum_t", "cost_t"]

Columns = dict[str, list[Any]]


def data(name: PaperData, path: str | Path) -> Any:
    """Read a file that a paper's tables need and the package does not hold, and check that it is that file.

    Parameters
    ----------
    name : {'arrhythmia', 'drug_consumption', 'patients_holdout', 'patients'}
        Which: UCI Arrhythmia and UCI Drug consumption (transport, Tables 1 to 3 and Figure 1b), the hold-out third of
        the synthetic patients behind Obermeyer et al. (2019), or their full file (improvability), which is not public.
    path : str or Path
        The file, or a folder that holds it under its usual name.

    Returns
    -------
    pyarrow.Table
        Its rows, with named columns.

    Examples
    --------
    >>> import fairtrial
    >>> fairtrial.papers.data("arrhythmia", "nowhere.csv")
    Traceback (most recent call last):
    fairtrial._errors.InputError: papers.data: 'path' must be a file that exists, got 'nowhere.csv'
    """
    import pyarrow as pa

    check_choice("papers.data", "name", name, get_args(PaperData))
    place = Path(path)
    place = place / FILES[name] if place.is_dir() else place
    if not place.is_file():
        raise InputError("papers.data", Fault("path", "must be a file that exists", got=str(path)))
    faults = Faults("papers.data")
    with place.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row]
    found = READERS[name](rows, faults, place.name)
    faults.raise_any()
    return pa.table(found)


def _expect(faults: Faults, file: str, what: str, required: object, got: object) -> None:
    """A fault unless the file has what it must have."""
    if required != got:
        faults.add(Fault("path", f"must have {required} {what}", got=got, subject=f"the file {file!r}"))


def _number(text: str) -> float:
    return float(text) if text not in ("", "?", "nan") else float("nan")


def _arrhythmia(rows: list[list[str]], faults: Faults, file: str) -> Columns:
    _expect(faults, file, "rows", 452, len(rows))
    _expect(faults, file, "columns", [280], sorted({len(row) for row in rows}))
    faults.raise_any()
    names = [*ARRHYTHMIA, *(f"attribute_{place}" for place in range(len(ARRHYTHMIA), 279)), "class"]
    found = {name: [_number(row[place]) for row in rows] for place, name in enumerate(names)}
    _expect(faults, file, "women (sex 1)", 249, sum(value == 1 for value in found["sex"]))
    _expect(faults, file, "people of class 1 (normal)", 245, sum(value == 1 for value in found["class"]))
    return found


def _drug_consumption(rows: list[list[str]], faults: Faults, file: str) -> Columns:
    _expect(faults, file, "rows", 1885, len(rows))
    _expect(faults, file, "columns", [32], sorted({len(row) for row in rows}))
    faults.raise_any()
    found: Columns = {
        name: [row[place] if name in DRUGS else _number(row[place]) for row in rows]
        for place, name in enumerate(DRUG_COLUMNS)
    }
    white = sum(abs(value + 0.31685) < 1e-9 for value in found["ethnicity"])
    _expect(faults, file, "people with the ethnicity code -0.31685", 1720, white)
    classes = sorted({value for name in DRUGS for value in found[name]})
    _expect(faults, file, "classes", [f"CL{k}" for k in range(7)], classes)
    return found


def _patients(needed: list[str], size: int) -> Callable[[list[list[str]], Faults, str], Columns]:
    def read(rows: list[list[str]], faults: Faults, file: str) -> Columns:
        head, people = rows[0], rows[1:]
        missing = sorted(set(needed) - set(head))
        _expect(faults, file, "columns missing", [], missing)
        _expect(faults, file, "rows", size, len(people))
        faults.raise_any()
        return {name: _values([row[place] for row in people]) for place, name in enumerate(head)}

    return read


def _values(texts: list[str]) -> list[Any]:
    """Numbers where all are, texts otherwise."""
    try:
        return [_number(text) for text in texts]
    except ValueError:
        return list(texts)


READERS: dict[str, Callable[[list[list[str]], Faults, str], Columns]] = {
    "arrhythmia": _arrhythmia,
    "drug_consumption": _drug_consumption,
    "patients_holdout": _patients(["dem_race_black", "gagne_sum_t_hat", *PATIENTS], 16_099),
    "patients": _patients(["race", "gagne_sum_tm1", *PATIENTS], 48_784),
}
