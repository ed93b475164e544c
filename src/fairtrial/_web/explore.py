"""Looking: every group's rates, gaps, impact ratios and verdicts at one threshold, tolerance and scale."""

from __future__ import annotations

import json
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Literal
from weakref import WeakKeyDictionary

from fairtrial._audit.audit import Audit
from fairtrial._audit.frames import Counted
from fairtrial._audit.source import Source, count_alike
from fairtrial._compare.method import certify, measure
from fairtrial._errors import FairtrialWarning
from fairtrial._metrics.table import METRICS
from fairtrial._metrics.values import Role
from fairtrial._results.column import reason, scalar
from fairtrial._results.masking import mask_result
from fairtrial._trial.spec import open_audit
from fairtrial._trial.spec.load import load_spec
from fairtrial._trial.spec.tables import WHERE, Report
from fairtrial._web.views import more_people

KEPT = 32  # audits that are kept open, each threshold of one by itself
ROLES = ("decision", "outcome", "score", "weight", "unit")
# What may be said of data whose rows alike are counted once: all that needs no row of its own.
PLAIN = {
    "decision",
    "outcome",
    "score",
    "threshold",
    "groups",
    "positive",
    "favourable",
    "score_favours",
    "missing",
}


@dataclass(frozen=True, slots=True)
class LookRequest:
    """What is to be seen."""

    metric: str
    by: tuple[str, ...]
    target: str | Mapping[str, str] = "rest"
    threshold: float | None = None
    tolerance: float | None = None
    scale: Literal["difference", "ratio"] = "difference"
    sizes: bool = True  # and how many more people whoever is undetermined would need, which takes longest


class RatesExplorer:
    """Keeps a few audits open, where it can as counts of people alike: moving a slider reads no row again."""

    def __init__(self) -> None:
        self.audits: OrderedDict[tuple[Any, ...], Audit] = OrderedDict()
        self.rates: WeakKeyDictionary[Audit, dict[str, Any]] = WeakKeyDictionary()
        self.lock = Lock()

    def see(self, content: Mapping[str, Any], place: Path, asked: LookRequest) -> dict[str, Any]:
        """The answers of `measure` and, with a tolerance, of `certify`, masked as the report masks them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairtrialWarning)  # the answers' notes say the same
            return self._seen(content, place, asked)

    def _seen(self, content: Mapping[str, Any], place: Path, asked: LookRequest) -> dict[str, Any]:
        from fairtrial._compare.needed import without_sizes  # with scipy, which a start does without

        audit = self.audit(content, place, asked)
        below = _masked_below(content)
        by = list(asked.by)
        answer: dict[str, Any] = {
            "measure": _told(self._rates(audit, asked), below),
            "certify": None,
            "needed": [],
            "people": audit.count_rows(),
        }
        if asked.tolerance is not None:
            with nullcontext() if asked.sizes else without_sizes():
                judged = certify(
                    audit, asked.metric, by=by, target=asked.target, tolerance=asked.tolerance, scale=asked.scale
                )  # fmt: skip
            answer["certify"] = _told(judged, below)
            answer["needed"] = more_people(answer["certify"]["estimates"]) if asked.sizes else []
        return answer

    def _rates(self, audit: Audit, asked: LookRequest) -> Any:
        """The rates, which another tolerance or scale leaves as they are."""
        with self.lock:
            known = self.rates.setdefault(audit, {})
        name = repr((asked.metric, asked.by, asked.target))
        if name not in known:
            known[name] = measure(audit, asked.metric, by=list(asked.by), target=asked.target)
        return known[name]

    def audit(self, content: Mapping[str, Any], place: Path, asked: LookRequest) -> Audit:
        """The audit of the spec's data, with the threshold in place of its own."""
        data = {name: value for name, value in content["data"].items() if name not in (*WHERE, "features")}
        cut = asked.threshold is not None and bool(data.get("score"))
        if cut:
            data["threshold"] = asked.threshold
            data.pop("decision", None)
        named = {name: value for name, value in data.items() if not (cut and name == "threshold")}
        counts = _counts_suffice(data, asked.metric)
        key = (str(place), place.stat().st_mtime, json.dumps(named, sort_keys=True), asked.by, cut, counts)
        found = self._kept(key, lambda: _opened(data, place, asked, counts=counts))
        if not cut or asked.threshold is None:
            return found
        assert found.threshold is not None
        return self._kept((*key, asked.threshold), partial(found.at, asked.threshold))

    def _kept(self, key: tuple[Any, ...], make: Callable[[], Audit]) -> Audit:
        """The audit of before, or a new one, of which nothing is counted twice."""
        with self.lock:
            found = self.audits.get(key)
        if found is None:
            found = make().keeping_cells()
        with self.lock:
            self.audits[key] = found
            self.audits.move_to_end(key)
            while len(self.audits) > KEPT:
                self.audits.popitem(last=False)
        return found


def _masked_below(content: Mapping[str, Any]) -> int:
    """Numbers about fewer people are masked, as in the report."""
    given = content.get("report", {}).get("suppress_below")
    return given if isinstance(given, int) and given >= 0 else Report().suppress_below


def _told(result: Any, below: int) -> dict[str, Any]:
    """As the report tells it; where it comes from is the audit's to say, not a look's."""
    told = mask_result(result, below)
    return {name: value for name, value in told.items() if name != "provenance"}


def _opened(data: dict[str, Any], place: Path, asked: LookRequest, *, counts: bool) -> Audit:
    names = [name for role in ROLES if (name := data.get(role))]
    columns = tuple(dict.fromkeys([*names, *listed(data.get("groups")), *asked.by]))
    rows = _counted(place, columns, data.get("outcome")) if counts else None
    question = {"metric": asked.metric, "by": list(asked.by)}
    spec = load_spec({"data": data, "measure": question}, rows_at_hand=True)
    audit = open_audit(spec, str(place) if rows is None else rows)
    audit.count_rows()  # the same at every threshold
    return audit


def _counts_suffice(data: Mapping[str, Any], metric: str) -> bool:
    """Whether the rate is one of decisions and outcomes, and nothing else about single rows is declared."""
    found = METRICS.get(metric)
    if found is None or found.each is not None or not isinstance(found.value, Role):
        return False
    plain = set(data) <= PLAIN and isinstance(data.get("groups"), str | list)
    return (
        plain and data.get("threshold") != "median" and (found.value.binary or found.value.name == "outcome")
    )


def _counted(place: Path, columns: tuple[str, ...], outcome: str | None) -> Counted | None:
    """The rows alike, counted; None where few are, or the outcome is no yes or no."""
    source = Source(str(place))  # whose connection must live while it is read
    if not columns or not set(columns) <= set(source.columns):
        return None  # what is wrong is said when the audit is opened
    found = count_alike(source.lazy(columns), columns)
    if found is None or (outcome is not None and len(found.table[outcome].unique().drop_null()) > 2):
        return None
    return found


def listed(groups: Any) -> list[str]:
    """The attributes that a spec's [data] compares."""
    found = [groups] if isinstance(groups, str) else groups if isinstance(groups, list | dict) else []
    return [name for name in found if isinstance(name, str)]


def table_rows(seen: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a look shows as rows: the rates, the verdict against the tolerance, and how many would be needed."""
    judged = {row["group"]: row for row in (seen["certify"] or {"estimates": []})["estimates"]}
    needed = {row["group"]: row for row in seen["needed"]}
    rows = []
    for row in seen["measure"]["estimates"]:
        told = {name: scalar(cell) for name, cell in row.items()}
        verdict = judged.get(row["group"], {})
        told["against_tolerance"] = verdict.get("state")
        more = needed.get(row["group"], {})
        told |= {name: more.get(name) for name in ("members_needed", "more", "rows_needed")}
        told["reason"] = next((text for cell in row.values() if (text := reason(cell))), None)
        rows.append(told)
    return rows
