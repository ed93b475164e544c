"""fairtrial: put a decision system on a fair trial, with statistics that hold."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# public name -> where it lives; loaded on first use, so that `import fairtrial` stays light
_PUBLIC = {
    "Audit": "fairtrial.audit",
    "Metric": "fairtrial.metrics",
    "METRICS": "fairtrial.metrics",
    "CRITERIA": "fairtrial.metrics",
    "role": "fairtrial.metrics",
    "Result": "fairtrial.results",
    "InputError": "fairtrial.errors",
    "load": "fairtrial.datasets",
    "measure": "fairtrial.measure",
    "certify": "fairtrial.certify",
    "flag": "fairtrial.flag",
    "plan": "fairtrial.plan",
    "scan": "fairtrial.scan",
    "scan_all": "fairtrial.scan",
    "transport": "fairtrial.transport",
    "explain": "fairtrial.explain",
    "compare": "fairtrial.explain",
    "improve": "fairtrial.improve",
    "run": "fairtrial.trial",
    "Trial": "fairtrial.trial",
}

# kind of result -> the class that holds it
RESULTS = {
    "measure": "fairtrial.measure:MeasureResult",
    "certify": "fairtrial.certify:CertifyResult",
    "flag": "fairtrial.flag:FlagResult",
    "plan": "fairtrial.plan:PlanResult",
    "scan": "fairtrial.scan:ScanResult",
    "scan_all": "fairtrial.scan:ScanAllResult",
    "transport": "fairtrial.transport:TransportResult",
    "explain": "fairtrial.explain:ExplainResult",
    "compare": "fairtrial.explain:CompareResult",
    "improve": "fairtrial.improve:ImproveResult",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'fairtrial' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])


class _Package(ModuleType):
    """`fairtrial.measure` is always the function, also after its module of the same name was imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _PUBLIC and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

if TYPE_CHECKING:
    from fairtrial.audit import Audit as Audit
    from fairtrial.datasets import load as load
    from fairtrial.errors import InputError as InputError
    from fairtrial.measure import measure as measure
    from fairtrial.metrics import CRITERIA as CRITERIA
    from fairtrial.metrics import METRICS as METRICS
    from fairtrial.metrics import Metric as Metric
    from fairtrial.metrics import role as role
    from fairtrial.results import Result as Result
