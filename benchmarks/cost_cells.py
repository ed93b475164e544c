"""What cells and groups cost once they are counted: python cost_cells.py REPEATS.

Few rows over many cells: five attributes of five values crossed by two, 275 groups, beside three, 90 groups.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np

from cost_work import timed

ROWS = 30_000


def table(attributes: int) -> Any:
    import pyarrow as pa

    random = np.random.default_rng(attributes)
    columns: dict[str, Any] = {
        f"a{number}": pa.array(random.integers(0, 5, ROWS).astype(str)) for number in range(attributes)
    }
    columns["outcome"] = pa.array(random.integers(0, 2, ROWS))
    columns["decision"] = pa.array(random.integers(0, 2, ROWS))
    return pa.table(columns)


def asked(name: str, data: Any, attributes: int) -> Any:
    import fairtrial

    audit = fairtrial.Audit(
        data, outcome="outcome", decision="decision", groups=[f"a{number}" for number in range(attributes)]
    )
    if name == "measure":
        return fairtrial.measure(audit, ["selection_rate", "tpr", "fpr", "ppv"], depth=2)
    if name == "certify":
        return fairtrial.certify(audit, "fpr", tolerance=0.05, depth=2)
    return fairtrial.flag(audit, "fpr", depth=2, tolerance=0.02)


def measured(repeats: int) -> dict[str, Any]:
    """Per question: cells, groups and seconds of the small and of the large table."""
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {}
    for attributes in (3, 5):
        data = table(attributes)
        keys = [f"a{number}" for number in range(attributes)]
        cells = data.group_by([*keys, "outcome", "decision"]).aggregate([]).num_rows
        groups = 5 * attributes + 25 * attributes * (attributes - 1) // 2
        for name in ("measure", "certify", "flag"):
            asked(name, data, attributes)
            seconds = min(
                timed(lambda name=name, data=data, k=attributes: asked(name, data, k))[0]
                for _ in range(repeats)
            )
            found.setdefault(name, []).append({"cells": cells, "groups": groups, "seconds": seconds})
    return found


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]))))
