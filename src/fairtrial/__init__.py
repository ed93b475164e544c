"""fairtrial: put a decision system on a fair trial, with statistics that hold."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# public name -> where it lives; loaded on first use, so that `import fairtrial` stays light
_PUBLIC = {
    "Audit": "fairtrial.data.audit",
    "Metric": "fairtrial.metrics.metric",
    "METRICS": "fairtrial.metrics.table",
    "CRITERIA": "fairtrial.metrics.table",
    "role": "fairtrial.metrics.values",
    "Result": "fairtrial.results.result",
    "InputError": "fairtrial.errors",
    "load": "fairtrial.datasets",
    "measure": "fairtrial.methods.measure.method",
    "certify": "fairtrial.methods.certify.method",
    "flag": "fairtrial.methods.flag.method",
    "plan": "fairtrial.methods.plan.method",
    "scan": "fairtrial.methods.scan.method",
    "scan_all": "fairtrial.methods.scan.method",
    "transport": "fairtrial.methods.transport.method",
    "explain": "fairtrial.methods.explain.method",
    "compare": "fairtrial.methods.explain.method",
    "improve": "fairtrial.methods.improve.method",
    "run": "fairtrial.trial",
    "Trial": "fairtrial.trial",
}

# kind of result -> the class that holds it
RESULTS = {
    "measure": "fairtrial.methods.measure.method:MeasureResult",
    "certify": "fairtrial.methods.certify.result:CertifyResult",
    "flag": "fairtrial.methods.flag.method:FlagResult",
    "plan": "fairtrial.methods.plan.method:PlanResult",
    "scan": "fairtrial.methods.scan.method:ScanResult",
    "scan_all": "fairtrial.methods.scan.method:ScanAllResult",
    "transport": "fairtrial.methods.transport.method:TransportResult",
    "explain": "fairtrial.methods.explain.method:ExplainResult",
    "compare": "fairtrial.methods.explain.method:CompareResult",
    "improve": "fairtrial.methods.improve.method:ImproveResult",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'fairtrial' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])


if TYPE_CHECKING:
    from fairtrial.data.audit import Audit as Audit
    from fairtrial.datasets import load as load
    from fairtrial.errors import InputError as InputError
    from fairtrial.methods.measure.method import measure as measure
    from fairtrial.metrics.metric import Metric as Metric
    from fairtrial.metrics.table import CRITERIA as CRITERIA
    from fairtrial.metrics.table import METRICS as METRICS
    from fairtrial.metrics.values import role as role
    from fairtrial.results.result import Result as Result
