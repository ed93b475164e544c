"""An audit as a Spark job: reads a specification, counts where the rows lie, and writes the report to a path.

    spark-submit examples/spark/audit_job.py examples/spark/audit.toml /reports/compas

The specification says engine = "spark" and names a table, a path or a query; the session is that of spark-submit, or of
SPARK_REMOTE where Spark Connect is used. The job fails where a question could not be answered.
"""

from __future__ import annotations

import sys

import fairtrial


def main(specification: str, out: str) -> int:
    trial = fairtrial.run(specification, out=out, trust=True)  # it names a table of this cluster
    print(trial.summary())
    print(f"report: {out}/report.html")
    return 0 if trial.complete else 4


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: spark-submit audit_job.py <audit.toml> <folder of the report>")
    raise SystemExit(main(*sys.argv[1:]))
