"""Looking: every group's rates, gaps, impact ratios and verdicts at one threshold, tolerance and scale."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from fairtrial.data.audit import Audit
from fairtrial.data.source import Source
from fairtrial.methods.certify.method import certify
from fairtrial.methods.measure.method import measure
from fairtrial.results.masking import mask_result
from fairtrial.trial.spec import load_spec, open_audit

KEPT = 4  # tables in memory
BELOW = 10  # people; numbers about fewer are masked, as in the report


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be seen."""

    metric: str
    by: tuple[str, ...]
    target: str | Mapping[str, str] = "rest"
    threshold: float | None = None
    tolerance: float | None = None
    scale: Literal["difference", "ratio"] = "difference"


class Explorer:
    """Keeps the columns of a few files in memory, so that moving a slider reads nothing again."""

    def __init__(self) -> None:
        self.tables: OrderedDict[tuple[str, float, tuple[str, ...]], Any] = OrderedDict()
        self.lock = Lock()

    def table(self, place: Path, columns: tuple[str, ...]) -> Any:
        """The columns of a file."""
        key = (str(place), place.stat().st_mtime, columns)
        with self.lock:
            if key not in self.tables:
                source = Source(str(place))  # whose connection must live while it is read
                self.tables[key] = source.lazy(columns).collect("pyarrow").to_native()
                while len(self.tables) > KEPT:
                    self.tables.popitem(last=False)
            self.tables.move_to_end(key)
            return self.tables[key]

    def see(self, content: Mapping[str, Any], place: Path, asked: Asked) -> dict[str, Any]:
        """The answers of `measure` and, with a tolerance, of `certify`, masked as the report masks them."""
        audit = self.audit(content, place, asked)
        by = list(asked.by)
        rates = measure(audit, asked.metric, by=by, target=asked.target)
        answer = {"measure": mask_result(rates, BELOW), "certify": None, "people": audit.count_rows()}
        if asked.tolerance is not None:
            judged = certify(
                audit, asked.metric, by=by, target=asked.target, tolerance=asked.tolerance, scale=asked.scale
            )
            answer["certify"] = mask_result(judged, BELOW)
        return answer

    def audit(self, content: Mapping[str, Any], place: Path, asked: Asked) -> Audit:
        """The audit of the spec's data, with the threshold in place of its own."""
        data = dict(content["data"])
        if asked.threshold is not None and data.get("score"):
            data["threshold"] = asked.threshold
            data.pop("decision", None)
        names = [
            name for role in ("decision", "outcome", "score", "weight", "unit") if (name := data.get(role))
        ]
        groups = [data["groups"]] if isinstance(data.get("groups"), str) else list(data.get("groups", ()))
        columns = tuple(dict.fromkeys([*names, *groups, *asked.by]))
        kept = {name: value for name, value in data.items() if name not in ("source", "dataset", "features")}
        question = {"metrics": asked.metric, "by": list(asked.by)}
        spec = load_spec({"data": kept, "measure": question}, rows_at_hand=True)
        return open_audit(spec, self.table(place, columns))
