"""The first sentence of a report is read back, and its counts and direction are counted from the file again."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fairtrial as ft
from inside.cli import program
from known_counts import BERKELEY, RESUMES, TITANIC, rows
from truth.first_sentence import NOT_READ, faults

COUNTED = pd.DataFrame(
    [("women", "yes", 40), ("women", "no", 160), ("men", "yes", 90), ("men", "no", 110)],
    columns=["sex", "dismissed", "count"],
)
ROLES: dict[str, dict[str, Any]] = {
    "compas": {"outcome": "two_year_recid", "score": "decile_score", "threshold": 5, "groups": ["race", "sex"]},
    "german": {}, "ricci": {}, "loans": {}, "care": {}, "adult": {},
}  # fmt: skip
FILES = {
    **dict.fromkeys(ROLES),
    "berkeley": rows(BERKELEY, ("Gender", "Dept", "Admit"), ("Admitted", "Rejected")),
    "resumes": rows(RESUMES, ("race", "callback")),
    "titanic": rows(TITANIC, ("Sex", "Survived"), ("Yes", "No")),
    "counts": COUNTED,
}


def proposed(name: str, folder: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """The audit that `init --yes` proposes for a file."""
    data = FILES[name]
    frame = pd.DataFrame(ft.load(name)) if data is None else data
    people, spec = folder / f"{name}.csv", folder / "audit.toml"
    frame.to_csv(people, index=False)
    done = CliRunner().invoke(program, ["init", str(people), "--yes", "--out", str(spec)])
    assert done.exit_code == 0, done.output
    return ft.run(spec).to_dict(), pd.read_csv(people, keep_default_na=False)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FILES)
def test_the_first_sentence_of_any_file_is_so(name: str, tmp_path: Path) -> None:
    content, frame = proposed(name, tmp_path)
    assert faults(content, {column: frame[column].to_numpy() for column in frame}) == []


def small() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    data = rows({("women",): (30, 100), ("men",): (60, 100)}, ("sex", "hired"))
    spec = {
        "data": {"decision": "hired", "groups": ["sex"], "favourable": 1},
        "measure": {"metric": "selection_rate"},
    }
    return ft.run(spec, data=data).to_dict(), {name: data[name].to_numpy() for name in data}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, None),
        ({"rate": 0.31}, "31 of 100 are 30.00 in the file"),
        ({"rate": 0.6, "target_rate": 0.3}, "the direction is the other one in the file"),
        ({"people": "men", "others": "women"}, "30 of 100 are 60.00 in the file"),
        ({"people": "elves"}, NOT_READ),
    ],
)
def test_the_check_notices(change: dict[str, Any], fault: str | None) -> None:
    content, columns = small()
    told = copy.deepcopy(content)
    told["ledger"][0] |= change
    found = faults(told, columns)
    assert bool(found) == (fault is not None)
    assert fault is None or any(fault in text for text in found), found
