"""What certify promises of audits to come: `members_needed`, `rows_needed`, `detectable`, each with 80% power.

The public function is asked about one table; audits are then drawn as it says, and reach their goal as often or not.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from inside.gaps import certified
from inside.inference import Comparison, CountedGaps, Gaps, KnownRateGaps, make_gaps
from validity.board import Cell
from validity.certify_designs import atoms_of

Random = np.random.Generator
What = Literal["members_needed", "rows_needed", "detectable"]
POWER = 0.8


@dataclass(frozen=True, slots=True)
class Table:
    """Events and people of a group and of its reference, or a known rate."""

    events: int
    people: int
    others_events: int = 0
    others: int = 0
    known: float | None = None
    tolerance: float | None = 0.05

    @property
    def rate(self) -> float:
        """Of both sides if there were no gap, as `certify` takes it: half an event is added."""
        if self.known is not None:
            return self.known
        return (self.events + self.others_events + 0.5) / (self.people + self.others + 1.0)

    @property
    def words(self) -> str:
        against = (
            f"a known {self.known:g}"
            if self.known is not None
            else f"{self.others_events} of {self.others:,}"
        )
        within = "" if self.tolerance is None else f", tolerance {self.tolerance:g}"
        return f"{self.events} of {self.people:,} against {against}{within}"


@cache
def promised(table: Table, what: What) -> float:
    """The number that the public function prints for the group."""
    import pyarrow as pa

    from fairtrial import Audit, certify

    counts = ((table.events, table.people), (table.others_events, table.others))
    decision = np.concatenate([np.arange(n) < k for k, n in counts]).astype(np.int64)
    group = np.repeat(["a", "b"], [table.people, table.others])
    audit = Audit(pa.table({"group": group, "decision": decision}), decision="decision", groups=["group"])
    target: Any = {"group": "b"} if table.known is None else table.known
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row = certify(
            audit, "selection_rate", by=[{"group": "a"}], target=target, tolerance=table.tolerance
        ).estimates[0]
    if not isinstance(row[what], int | float):
        raise ValueError(f"certify promises nothing after {table.words}: {row[what]}")
    return float(row[what])


def reached(repeats: int, random: Random, *, table: Table, what: What) -> np.ndarray:
    """Audits of the promised size that certify equal rates, or of today's size that find the promised gap."""
    promise, rate = promised(table, what), table.rate
    members, others = table.people, table.others
    if what == "members_needed":
        members = int(promise)
    elif what == "rows_needed":
        factor = promise / (members + others)
        members, others = round(members * factor), round(others * factor)
    own = rate + promise if what == "detectable" else rate
    ones = random.binomial(members, own, repeats) * 1.0
    gaps = _gaps(table, ones, members, random.binomial(others, rate, repeats) * 1.0, others)
    band = table.tolerance or 0.0
    if what == "detectable":
        p = gaps.p_inside(-band, band) if band else gaps.p_equal(0.0)
        return np.asarray(p <= 0.05, dtype=np.float64)
    return certified(gaps, (-band, band), 0.9).astype(float)


def _gaps(table: Table, ones: np.ndarray, members: int, theirs: np.ndarray, others: int) -> Gaps:
    size = np.full(ones.shape, float(members))
    if table.known is not None:
        return KnownRateGaps(size, ones, np.full(ones.shape, table.known))
    return CountedGaps(ones, size, theirs, np.full(ones.shape, float(others)))


# -- mean scores -----------------------------------------------------------------------------------------------
def means_certified(
    repeats: int, random: Random, *, people: int, others: int, tolerance: float
) -> np.ndarray:
    """The same for skewed scores: what certify says of a sample that looks as its distribution does."""
    import pyarrow as pa
    from scipy.stats import gamma

    from fairtrial import Audit, certify

    typical = [gamma.ppf((np.arange(n) + 0.5) / n, 4.0) for n in (people, others)]
    table = pa.table(
        {"group": np.repeat(["a", "b"], [people, others]), "score": np.concatenate(typical) / 20.0}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked = Audit(table, score="score", groups=["group"])
        by: Any = [{"group": "a"}]
        row = certify(asked, "mean_score", by=by, target={"group": "b"}, tolerance=tolerance).estimates[0]
    size, found = int(row["members_needed"]), np.zeros(repeats)
    group = np.array([[True, False]])
    for i in range(repeats):
        values = [random.gamma(4.0, 1.0, n) / 20.0 for n in (size, others)]
        gaps = make_gaps(atoms_of(values), Comparison(group, ~group))
        found[i] = certified(gaps, (-tolerance, tolerance), 0.9)[0]
    return found


# -- the board -------------------------------------------------------------------------------------------------
def _cell(what: What, table: Table, short: int = 400) -> Cell:
    def run(repeats: int, random: Random) -> np.ndarray:
        return reached(repeats, random, table=table, what=what)

    words = what.replace("_", " ")
    return Cell("certify", f"{words}: {table.words}", f"the promise of 80% after {table.words}", "power", run, POWER,
                short=short, long=20_000, covers=(f"certify.{what}",))  # fmt: skip


# what stays as it is, nobody with the event, few events, a large reference, a known rate
_CERTIFY = (
    Table(90, 300, 300, 1000), Table(0, 40, 8, 400, tolerance=0.04), Table(3, 60, 20, 500, tolerance=0.06),
    Table(12, 200, 120, 2000, tolerance=0.03), Table(286, 300, 1900, 2000, tolerance=0.02), Table(0, 40, known=0.05),
    Table(30, 100, known=0.3),
)  # fmt: skip
_FIND = (
    Table(0, 40, 8, 400, tolerance=None), Table(0, 40, 8, 400), Table(3, 60, 20, 500, tolerance=None),
    Table(90, 300, 300, 1000, tolerance=None), Table(57, 60, 480, 500, tolerance=None),
    Table(0, 40, known=0.05, tolerance=None), Table(1, 35, 2, 50, tolerance=None),
)  # fmt: skip

CELLS: list[Cell] = [
    *(_cell("members_needed", table) for table in _CERTIFY),
    *(_cell("rows_needed", table) for table in _CERTIFY if table.known is None),
    *(_cell("detectable", table) for table in _FIND),
    Cell("certify", "members needed: mean scores", "80 skewed scores against 400, tolerance a tenth of their mean",
         "power", lambda n, random: means_certified(n, random, people=80, others=400, tolerance=0.02), POWER,
         short=0, long=300, whole_analysis=True, covers=("certify.members_needed",)),
]  # fmt: skip
