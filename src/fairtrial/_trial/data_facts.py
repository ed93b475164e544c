"""What the report says about the data: where they came from, who is in them, what is missing."""

from __future__ import annotations

import hashlib
from glob import glob
from pathlib import Path
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._audit.counting import probable_rows
from fairtrial._audit.expressions import missing_counts
from fairtrial._trial.spec import Spec

_CHUNK = 1 << 20


def data_facts(spec: Spec, audit: Audit, in_memory: bool) -> dict[str, Any]:
    """Source, digests, sizes, roles, people per group and missing values."""
    missing, total = count_missing(audit)
    roles = ("outcome", "decision", "score", "threshold", "weight", "unit", "pair")
    return {
        "source": "in memory" if in_memory else spec.data.name,
        "sha256": None if in_memory or spec.data.engine == "spark" else source_digest(spec),
        "digest": audit.digest(),
        "rows": total,
        "columns": len(audit.source.columns),
        "roles": {name: getattr(audit, name) for name in roles if getattr(audit, name) is not None},
        "features": list(audit.features),
        "missing_rule": audit.missing,
        "missing": missing,
        "groups": {name: group_sizes(audit, name) for name in audit.groups},
    }


def group_sizes(audit: Audit, attribute: str) -> list[dict[str, Any]]:
    """How many people each level of an attribute has; about how many where it is known with a probability."""
    if attribute in audit.probable:
        _, weights, _ = probable_rows("Audit", audit, attribute)
        people = zip(audit.levels(attribute), weights.sum(axis=0), strict=True)
        return [{"label": label, "n": round(float(n))} for label, n in people]
    cells = audit.cells((attribute,))
    labels = cells.labels[attribute]
    return [
        {"label": labels[int(code)], "n": int(n)} for (code,), n in zip(cells.codes, cells.rows, strict=True)
    ]


def count_missing(audit: Audit) -> tuple[list[dict[str, Any]], int]:
    """Missing values of every column the audit uses, and the number of rows."""
    names = [getattr(audit, name) for name in ("outcome", "decision", "score", "weight", "unit", "pair")]
    used = list(dict.fromkeys([*[name for name in names if name], *audit.roles.declared]))
    counts, total = missing_counts(audit.source, used)
    return [{"column": name, "missing": counts[name]} for name in used], total


def source_digest(spec: Spec) -> str:
    """SHA-256 over the content of the data files, so that a reader can check to have the same."""
    content = hashlib.sha256()
    for path in _files(spec):
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                content.update(chunk)
    return content.hexdigest()


def _files(spec: Spec) -> list[Path]:
    if spec.data.dataset is not None:
        from importlib.resources import files

        return [Path(str(files("fairtrial.datasets").joinpath(f"{spec.data.dataset}.parquet")))]
    source = spec.source
    return (
        [Path(source)]
        if Path(source).exists()
        else [Path(path) for path in sorted(glob(source, recursive=True))]
    )
