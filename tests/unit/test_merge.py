"""Labels that mean the same: an audit that merges them gives what one of cleaned data gives, on every engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import fairtrial
from fairtrial import Audit, InputError

MERGE = {"sex": {"M": ["m", " m", "Male"], "F": ["F", "Female"]}}
RAW = ["M", "m", " m", "Male", "F", "Female", "f"]
CLEAN = ["M", "M", "M", "M", "F", "F", "f"]
HIRED = [1, 0, 1, 1, 0, 0, 1, 1, 0]


def table(labels: list[str], rows: int = 630) -> dict[str, list[Any]]:
    return {
        "sex": [labels[i % 7] for i in range(rows)],
        "hired": [HIRED[i % 9] for i in range(rows)],
        "code": [(2, 1, 7)[i % 3] for i in range(rows)],
        "x": [float(i % 5) for i in range(rows)],
    }


def written_csv(columns: dict[str, list[Any]], folder: Path) -> str:
    path = folder / "people.csv"
    pandas.DataFrame(columns).to_csv(path, index=False)
    return str(path)


def written_parquet(columns: dict[str, list[Any]], folder: Path) -> str:
    path = folder / "people.parquet"
    parquet.write_table(pa.table(columns), path)
    return str(path)


SOURCES: dict[str, Callable[[dict[str, list[Any]], Path], Any]] = {
    "dict": lambda columns, _: columns,
    "pandas": lambda columns, _: pandas.DataFrame(columns),
    "polars": lambda columns, _: polars.DataFrame(columns).lazy(),
    "pyarrow": lambda columns, _: pa.table(columns),
    "csv": written_csv,
    "parquet": written_parquet,
}
pytestmark = pytest.mark.filterwarnings("ignore:.*differ only by case or blanks")


@pytest.mark.parametrize("source", SOURCES)
def test_merged_labels_give_what_clean_data_give(source: str, tmp_path: Path) -> None:
    merged = Audit(SOURCES[source](table(RAW), tmp_path), decision="hired", groups="sex", merge=MERGE)
    clean = Audit(table(CLEAN), decision="hired", groups="sex")
    assert merged.levels("sex") == clean.levels("sex") == ("F", "M", "f")
    for options in ({}, {"target": {"sex": "M"}}):
        one = fairtrial.measure(merged, "selection_rate", **options)
        other = fairtrial.measure(clean, "selection_rate", **options)
        assert one.estimates == other.estimates
    said = [note.text for note in one.notes if note.code == "merged-labels"]
    assert said == [
        "Labels of 'sex' that mean the same: 'm', ' m' and 'Male' count as 'M'; 'Female' counts as 'F'."
    ]
    assert one.provenance["merge"]["sex"]["Male"] == "M"


def test_codes_are_merged_as_labels() -> None:
    audit = Audit(
        table(RAW), decision="hired", groups="code", merge={"code": {"local": [1, 7], "abroad": "2"}}
    )
    assert audit.levels("code") == ("abroad", "local")


def test_definitions_features_and_scans_know_merged_labels() -> None:
    roles: dict[str, Any] = {"decision": "hired", "groups": "sex", "features": ["sex", "x"]}
    merged = Audit(table(RAW), **roles, merge=MERGE, define={"men at 2": {"sex": "M", "x": 2}})
    clean = Audit(table(CLEAN), **roles, define={"men at 2": {"sex": "M", "x": 2}})
    counted = [audit.cells(("men at 2",)).rows.tolist() for audit in (merged, clean)]
    assert counted[0] == counted[1]
    assert merged.features_frame().equals(clean.features_frame())
    found = [
        fairtrial.scan(audit, "selection_rate", protected={"sex": "M"}, seed=1) for audit in (merged, clean)
    ]
    assert found[0].estimates == found[1].estimates


@pytest.mark.parametrize(
    ("merge", "said"),
    [
        ({"gender": {"M": "m"}}, "names the unknown column 'gender'"),
        ({"sex": "M"}, "must be a table such as"),
        ({"sex": {"M": []}}, "must be a table such as"),
        ({"sex": {"M": ["m"], "F": ["m", "f"]}}, "merges the label 'm' of 'sex' into more than one"),
        ({"hired": {"1": [1]}}, "neither a group nor a feature"),
        ({"x": {"low": [0, 1]}}, "is cut into bins"),
        (["sex"], "merge"),
    ],
)
def test_what_cannot_be_merged_is_said(merge: Any, said: str) -> None:
    with pytest.raises(InputError, match="merge") as error:
        Audit(table(RAW), decision="hired", groups=["sex", "x"], bins={"x": 2}, merge=merge)
    assert said in str(error.value)


def test_the_command_line_and_the_file_merge(
    tmp_path: Path, typed: Callable[..., tuple[int, str, str]]
) -> None:
    path = written_csv(table(RAW), tmp_path)
    spec = tmp_path / "audit.toml"
    spec.write_text(
        f'[data]\nsource = "{Path(path).name}"\ndecision = "hired"\ngroups = ["sex"]\n'
        'merge = { sex = { M = ["m", " m", "Male"], F = ["F", "Female"] } }\n[measure]\nmetric = "selection_rate"\n',
        encoding="utf-8",
    )
    trial = fairtrial.run(spec)
    assert trial.complete
    code, out, err = typed(
        "measure", path, "--decision", "hired", "--by", "sex", "--metric", "selection_rate",
        "--merge", "sex: M=m| m|Male, F=F|Female",
    )  # fmt: skip
    assert code == 0, err
    assert "Male" not in out.replace("'Male'", "")
