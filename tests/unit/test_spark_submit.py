"""The example's job by spark-submit itself: it reads where the rows lie and writes the report to a path."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fairtrial
from requirements import require_java

pytestmark = [pytest.mark.spark, pytest.mark.slow]
EXAMPLE = Path(__file__).parents[2] / "examples" / "spark"


def test_the_job_writes_the_report_to_a_path(tmp_path: Path) -> None:
    require_java()
    shutil.copy(EXAMPLE / "audit.toml", tmp_path)
    fairtrial.load("compas").to_parquet(tmp_path / "compas.parquet")
    submit = [
        str(Path(sys.executable).parent / "spark-submit"), "--master", "local[1]",
        "--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=1",
        str(EXAMPLE / "audit_job.py"), "audit.toml", str(tmp_path / "report"),
    ]  # fmt: skip
    surroundings = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    done = subprocess.run(
        submit, capture_output=True, text=True, timeout=600, cwd=tmp_path, env=surroundings, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert f"report: {tmp_path}/report/report.html" in done.stdout
    assert (tmp_path / "report" / "report.html").exists()
    there = json.loads((tmp_path / "report" / "results.json").read_text(encoding="utf-8"))
    here = fairtrial.run(
        {"data": {"dataset": "compas", "outcome": "two_year_recid", "score": "decile_score", "threshold": 5,
                  "favourable": 0, "groups": ["race", "sex"]},
         "flag": {"metric": "fpr", "depth": 2}}
    )  # fmt: skip
    found = next(part for part in there["sections"] if part["id"] == "flag")["result"]["estimates"]
    wanted = {(row["group"], row["n"]) for row in here.results["flag"].estimates}
    shown = [
        (row["group"], row["n"]) for row in found if isinstance(row["n"], int)
    ]  # small groups are masked
    assert len(shown) > 10
    assert set(shown) <= wanted
