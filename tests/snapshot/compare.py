"""Compares the tree that is imported with the kept records, which are read through renames.toml.

python tests/snapshot/compare.py [--only PREFIX] [--fast] [--spark] [--times] [--show N]
Whole numbers, texts, states and faults must be equal; reals to 1e-12 of max(1, |x|), p-values also to 1e-6 of
themselves. Options that stand at their default, and places of a row that hold nothing, are not looked at. Ends with
status 1 when anything differs. Only called otherwise? Say it in renames.toml. Meant so? Say it in moved.md, then run
take.py --only that part.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")
if __package__ in (None, ""):
    sys.path[:0] = [str(folder) for folder in Path(__file__).resolve().parents[1:3]]

from snapshot.kept import SEPARATOR, Flat, read
from snapshot.renames import Renames, read_renames
from snapshot.take import chosen_cases, options, run_cases, show_times

# Other releases of solvers and root finders differ in later digits: `make test-lowest` asks for fewer of them.
TOLERANCE = float(os.environ.get("FAIRTRIAL_SNAPSHOT_TOLERANCE", "1e-12"))
OF_P_VALUES = max(1e-6, 1000 * TOLERANCE)  # of themselves: a p-value of 1e-40 must not become one of 1e-30
ABSENT = object()
COLUMN_NAME = re.compile(r"columns/\d+/0")
COLUMN_TITLE = re.compile(r"columns/\w+/title")
ABOUT_COLUMNS = ("name", "title", "kind", "shown")


@dataclass(frozen=True)
class Difference:
    """One place of a record that is not as it was."""

    case: str
    path: str
    old: Any
    new: Any

    def __str__(self) -> str:
        if self.old is ABSENT:
            return f"{self.path}: new, {_shown(self.new)}"
        if self.new is ABSENT:
            return f"{self.path}: gone, was {_shown(self.old)}"
        if (
            isinstance(self.old, str)
            and isinstance(self.new, str)
            and max(len(self.old), len(self.new)) > 100
        ):
            start = next((i for i, (a, b) in enumerate(zip(self.old, self.new, strict=False)) if a != b), 0)
            start = max(0, start - 30)
            was, now = _shown(self.old[start:]), _shown(self.new[start:])
            return f"{self.path}, from character {start}:\n      was {was}\n      is  {now}"
        return f"{self.path}: was {_shown(self.old)}, is {_shown(self.new)}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:157]}…"


def columns_by_name(flat: Mapping[str, Any]) -> Flat:
    """The record with each listed column under its name: a new one between two others moves none of them."""
    names = {path.split(SEPARATOR)[1]: name for path, name in flat.items() if COLUMN_NAME.fullmatch(path)}
    if not names:
        return dict(flat)
    found: Flat = {}
    for path, value in flat.items():
        parts = path.split(SEPARATOR)
        if parts[0] != "columns":
            found[path] = value
        elif parts[2] != "0":
            found[f"columns/{names[parts[1]]}/{ABOUT_COLUMNS[int(parts[2])]}"] = value
    return found


def differences(case: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """Every place that differs."""
    before, new, found = columns_by_name(old), columns_by_name(new), []
    if ("error" in before) != ("error" in new):
        return [Difference(case, "the call", _outcome(before), _outcome(new))]
    for path in dict.fromkeys([*before, *new]):
        one, other = before.get(path, ABSENT), new.get(path, ABSENT)
        if not same(path, one, other):
            found.append(Difference(case, path, one, other))
    was, now = _shared_columns(before, new), _shared_columns(new, before)
    if was != now:
        found.append(Difference(case, "columns", " ".join(was), " ".join(now)))
    return found


def _shared_columns(flat: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The listed columns that both have, in their order."""
    shared = [path for path in flat if COLUMN_TITLE.fullmatch(path) and path in other]
    return [path.split(SEPARATOR)[1] for path in shared]


def _outcome(flat: Mapping[str, Any]) -> str:
    """What a call came to, in a line."""
    if "error" not in flat:
        return str(flat.get("verdict/text", "an answer"))
    return f"{flat['error']}: {flat.get('faults/0', flat.get('text', ''))}"


def same(path: str, old: Any, new: Any) -> bool:
    """Equal, or near enough when both are reals."""
    if isinstance(old, float) and isinstance(new, float):
        if math.isnan(old) or math.isnan(new) or math.isinf(old) or math.isinf(new):
            return old == new or (math.isnan(old) and math.isnan(new))
        close = abs(old - new) <= TOLERANCE * max(1.0, abs(old))
        if close and path.split(SEPARATOR)[-1] in ("p_value", "p_adjusted", "adjusted"):
            return abs(old - new) <= OF_P_VALUES * abs(old) + 1e-300
        return close
    if isinstance(old, str) and isinstance(new, str) and "\n" in old:
        return _unpadded(old) == _unpadded(new)
    return type(old) is type(new) and bool(old == new)


def _unpadded(text: str) -> str:
    """Lines without the widths of a table's columns, which follow its headings, and without the wrapping of notes."""
    return re.sub(r" {2,}", "  ", re.sub(r"\n  (?=\S)", " ", text))


def compare(
    only: str = "",
    fast: bool = False,
    spark: bool = False,
    times: dict[str, float] | None = None,
    renames: Renames | None = None,
) -> list[Difference]:
    """Runs the cases and lists what differs from the kept records."""
    kept, renames = _kept(), renames or read_renames()
    cases, was = chosen_cases(only, fast, spark), renames.cases(kept)
    if not cases:
        return [Difference(only, "the case", ABSENT, "no case has such a name")]
    found: list[Difference] = []
    for case in cases:
        if case.name in was:
            new = run_cases([case], times)[case.name]
            for old in was[case.name]:
                listed = differences(case.name, renames.record(old, kept[old]), new)
                found += [
                    one for one in listed if one.old is not ABSENT or not renames.adds(case.name, one.path)
                ]
        elif not renames.adds(case.name):
            found.append(Difference(case.name, "the case", ABSENT, "not in the snapshot: run take.py --only"))
    asked = {case.name for case in chosen_cases(only, False, True)}
    for name in was:
        if name.startswith(only) and name not in asked and not fast:
            found.append(Difference(name, "the case", "in the snapshot", ABSENT))
    return found


_kept = cache(read)


def report(found: Sequence[Difference], show: int = 4, most: int = 40) -> str:
    """The first differences of each case, and how many there are."""
    by_case: dict[str, list[Difference]] = {}
    for one in found:
        by_case.setdefault(one.case, []).append(one)
    lines = []
    for case, listed in list(by_case.items())[:most]:
        lines.append(f"{case}: {len(listed)} differences" if len(listed) > 1 else f"{case}:")
        lines += [f"    {one}" for one in listed[:show]]
    if len(by_case) > most:
        lines.append(f"… and {len(by_case) - most} more cases")
    lines.append(f"{len(found):,} differences in {len(by_case):,} cases" if found else "no differences")
    return "\n".join(lines)


def main() -> None:
    parser: argparse.ArgumentParser = options("Compare this tree's numbers with the snapshot.")
    parser.add_argument("--show", type=int, default=4, metavar="N", help="differences shown per case")
    given = parser.parse_args()
    times: dict[str, float] = {}
    clock = time.perf_counter()
    found = compare(given.only, given.fast, given.spark, times)
    print(report(found, given.show))
    print(f"{len(times)} cases in {time.perf_counter() - clock:.0f} s")
    if given.times:
        show_times(times)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
