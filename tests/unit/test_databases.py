"""Tables that live in databases and lakes: the same counts as of the frame they were made from."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from fairtrial import Audit, InputError, flag
from requirements import require_delta, require_ibis, require_postgres

ROLES = {"decision": "decision", "groups": ["race", "sex"]}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    random = np.random.default_rng(7)
    race = random.choice(["A", "B", "C"], 2_000)
    table = {
        "race": race,
        "sex": random.choice(["F", "M"], 2_000),
        "decision": (random.random(2_000) < np.where(race == "B", 0.3, 0.5)).astype(int),
    }
    return pd.DataFrame(table)


def _same(data: Any, people: pd.DataFrame) -> None:
    found, wanted = (
        flag(Audit(each, **ROLES), "selection_rate", depth=2, target="rest") for each in (data, people)
    )
    assert found.estimates == wanted.estimates


def test_a_duckdb_relation_and_a_connection(people: pd.DataFrame) -> None:
    import duckdb

    connection = duckdb.connect()
    connection.execute("create table people as select * from people")
    _same(connection.table("people"), people)
    _same(connection.sql("select * from people"), people)
    _same(connection, people)
    connection.execute('create view "some ""people""" as select * from people')
    with pytest.raises(InputError, match=r"holds 2: 'people', 'some \"people\"'.*connection\.table"):
        Audit(connection, **ROLES)
    connection.execute('drop view "some ""people"""; alter table people rename to "a ""b"""')
    _same(connection, people)
    with pytest.raises(InputError, match="holds 0: none"):
        Audit(duckdb.connect(), **ROLES)


def test_hive_partitions_are_columns(people: pd.DataFrame, tmp_path: Path) -> None:
    for (race, sex), part in people.groupby(["race", "sex"]):
        folder = tmp_path / f"race={race}" / f"sex={sex}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"decision": part["decision"].to_numpy()}), folder / "part.parquet")
    audit = Audit(str(tmp_path / "*" / "*" / "*.parquet"), **ROLES)
    assert audit.levels("race") == ("A", "B", "C")
    _same(str(tmp_path / "*" / "*" / "*.parquet"), people)


def test_an_arrow_dataset_is_read_in_parts(people: pd.DataFrame, tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pandas(people), tmp_path / "people.parquet")
    _same(ds.dataset(tmp_path / "people.parquet"), people)


def test_a_delta_table(people: pd.DataFrame, tmp_path: Path) -> None:
    require_delta()
    import deltalake

    deltalake.write_deltalake(tmp_path / "people", pa.Table.from_pandas(people))
    _same(deltalake.DeltaTable(tmp_path / "people"), people)


@pytest.mark.filterwarnings("default")  # Ibis asks pandas for options that are to go
def test_ibis_on_sqlite(people: pd.DataFrame, tmp_path: Path) -> None:
    require_ibis()
    import ibis

    with contextlib.closing(sqlite3.connect(tmp_path / "people.sqlite")) as file:
        people.to_sql("people", file, index=False)
    connection = ibis.sqlite.connect(tmp_path / "people.sqlite")
    _same(connection.table("people"), people)
    connection.disconnect()


@pytest.fixture(scope="module")
def postgres() -> Iterator[Path]:
    """A real PostgreSQL server of its own, on a socket in a folder; as root it runs as the user postgres."""
    programs = require_postgres()
    folder = Path(tempfile.mkdtemp(prefix="fairtrial-postgres-"))  # pytest's own folders are closed to others
    start: list[str] = []
    if programs.user is not None:
        shutil.chown(folder, programs.user)
        start = ["runuser", "-u", programs.user, "--"]
    data = folder / "data"
    subprocess.run([*start, programs.initdb, "-D", data, "-A", "trust", "-U", "postgres"], check=True,
                   capture_output=True)  # fmt: skip
    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}'"
    log = folder / "log"
    subprocess.run([*start, programs.pg_ctl, "-D", data, "-o", options, "-l", log, "-w", "start"], check=True,
                   capture_output=True)  # fmt: skip
    yield folder
    subprocess.run([*start, programs.pg_ctl, "-D", data, "-m", "immediate", "stop"], check=True,
                   capture_output=True)  # fmt: skip
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Ibis asks pandas for options that are to go
def test_ibis_on_postgresql(people: pd.DataFrame, postgres: Path) -> None:
    require_ibis()
    import ibis

    connection = ibis.postgres.connect(host=str(postgres), user="postgres", database="postgres")
    connection.create_table("people", people)
    _same(connection.table("people"), people)
    connection.disconnect()
