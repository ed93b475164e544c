"""An audit over Spark Connect: a server of its own, in another process, since a process has one kind of session."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairtrial import Audit, flag
from requirements import _present, require_java

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning"),
]
SCRIPT = """
import json, sys, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
from fairtrial import Audit, flag

session = SparkSession.builder.remote("local[1]").config("spark.ui.enabled", "false") \\
    .config("spark.sql.shuffle.partitions", "1").getOrCreate()
frame = session.read.parquet(sys.argv[1])
answers = [flag(Audit(frame, decision="decision", groups="race", **more), "selection_rate", target="rest").estimates
           for more in ({}, {"weight": "weight"}, {"unit": "person"})]
print("ANSWER" + json.dumps([type(session).__module__, answers], default=str))
session.stop()
"""


def test_the_numbers_of_duckdb_over_spark_connect(tmp_path: Path) -> None:
    require_java()
    if importlib.util.find_spec("grpc") is None:
        _present(None, "the packages of Spark Connect are not installed")
    random = np.random.default_rng(2)
    race = random.choice(["A", "B"], 2_000)
    table = {
        "race": race,
        "decision": (random.random(2_000) < np.where(race == "B", 0.3, 0.5)).astype(int),
        "weight": random.uniform(0.5, 3.0, 2_000),
        "person": random.integers(0, 900, 2_000),
    }
    path = str(tmp_path / "people.parquet")
    pq.write_table(pa.table(table), path)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, path],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=tmp_path,
        check=False,
    )
    told = [line for line in done.stdout.splitlines() if line.startswith("ANSWER")]
    assert told, done.stderr[-2_000:]
    kind, answers = json.loads(told[0].removeprefix("ANSWER"))
    assert kind.startswith("pyspark.sql.connect")
    for more, there in zip(({}, {"weight": "weight"}, {"unit": "person"}), answers, strict=True):
        here = flag(Audit(path, decision="decision", groups="race", **more), "selection_rate", target="rest")
        for one, other in zip(here.estimates, there, strict=True):
            for name in ("n", "rate", "difference", "difference_low", "difference_high", "p_value"):
                assert other[name] == pytest.approx(one[name], rel=1e-10), name
