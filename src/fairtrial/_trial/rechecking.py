"""Published numbers, checked: which of them are possible, which contradict each other, and what limits they had.

A rate that is printed with a few digits stands for every count that rounds to it. A number contradicts the others
where no count is left that fits all of them.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._errors import Fault, InputError
from fairtrial._method.declaration import find_method

COLUMNS = ("group", "n", "events", "rate", "ratio")
TOTALS = frozenset({"total", "all", "overall", "everyone"})
MOST_BYTES, MOST_LINES = 1_000_000, 1_000
MOST_PEOPLE = 10**9
NUMBER = re.compile(r"(\d[\d,]*)(?:\.(\d+))?\s*(%?)")


@dataclass(frozen=True, slots=True)
class Printed:
    """A number as it was printed: it stands for all from `low` to `high`."""

    text: str
    low: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True)
class GroupLine:
    """What was published of a group, and the counts of events that fit it."""

    group: str
    n: int | None
    events: int | None
    rate: Printed | None
    ratio: Printed | None
    fewest: int | None
    most: int | None

    @property
    def rates(self) -> tuple[Fraction, Fraction] | None:
        """The least and the greatest rate that fit."""
        if self.n and self.fewest is not None and self.most is not None and self.fewest <= self.most:
            return Fraction(self.fewest, self.n), Fraction(self.most, self.n)
        return (self.rate.low, self.rate.high) if self.rate is not None and not self.n else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recheck:
    """What was found of the published numbers."""

    possible: tuple[str, ...]
    contradictions: tuple[str, ...]
    limits: tuple[str, ...]

    def __str__(self) -> str:
        parts = {
            "These numbers contradict each other" if self.contradictions else "No number contradicts another.":
                self.contradictions,
            "Counts that fit what was published": self.possible,
            "What limits would have said (95%, each group against the others, corrected by Holm)": self.limits,
        }  # fmt: skip
        return "\n\n".join(
            "\n".join([head, *(f"  {text}" for text in texts)]) for head, texts in parts.items()
        )


def recheck(path: str | os.PathLike[str]) -> Recheck:
    """Check a table of published numbers: a line per group with some of n, events, rate and ratio.

    The ratio is to the highest rate of the table. A line "total" is that of all the others.
    """
    lines = [_line(number, told) for number, told in _read(Path(path))]
    groups = [line for line in lines if line.group.lower() not in TOTALS]
    if not groups:
        raise InputError("recheck", Fault("table", "holds no group", cure="write a line for each"))
    found = [text for line in lines for text in _of_line(line)]
    found += [text for line in lines if line not in groups for text in _of_total(line, groups)]
    found += _of_ratios(groups)
    possible = tuple(_possible(line) for line in lines)
    limits = (
        tuple(_limits(groups)) if not found else ("Not computed from numbers that contradict each other.",)
    )
    return Recheck(possible=possible, contradictions=tuple(found), limits=limits)


def _read(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The lines of the table with their numbers, by column."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(
                "recheck",
                Fault(
                    "table", "is larger than a published table", got=str(path), cure="keep what was published"
                ),
            )
        rows = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            "recheck",
            Fault("table", f"cannot be read as CSV: {error}", got=str(path), cure="save it as CSV in UTF-8"),
        ) from None
    header = [name.strip().lower() for name in rows[0]] if rows else []
    unknown = [name for name in header if name not in COLUMNS]
    if unknown or "group" not in header or len(header) < 2 or len(set(header)) < len(header):
        listed = ", ".join(COLUMNS)
        required = f"needs a first line with group and some of the other columns {listed}, each once"
        raise InputError("recheck", Fault("table", required, got=",".join(header)))
    if len(rows) > MOST_LINES:
        raise InputError(
            "recheck",
            Fault(
                "table",
                f"has {len(rows):,} lines; {MOST_LINES:,} are the most",
                cure="keep what was published",
            ),
        )
    for number, row in enumerate(rows[1:], start=2):
        if any(cell.strip() for cell in row):
            yield number, dict(zip(header, (cell.strip() for cell in row), strict=False))


def _line(number: int, told: Mapping[str, str]) -> GroupLine:
    """A line as numbers, and the counts that fit it."""
    n, events = (_count(number, name, told.get(name, "")) for name in ("n", "events"))
    rate, ratio = (_printed(number, name, told.get(name, "")) for name in ("rate", "ratio"))
    fewest, most = (0, n) if n is not None else (None, None)
    if n is not None and rate is not None:
        fewest, most = max(0, ceil(rate.low * n)), min(n, floor(rate.high * n))
    if events is not None and most is not None and fewest is not None:
        fewest, most = max(fewest, events), min(most, events)
    return GroupLine(told.get("group", ""), n, events, rate, ratio, fewest, most)


def _count(number: int, name: str, text: str) -> int | None:
    if not text:
        return None
    plain = text.replace(",", "")
    if not re.fullmatch(r"\d{1,10}", plain) or int(plain) > MOST_PEOPLE:
        raise InputError("recheck", Fault("table", f"line {number}: {name} must be a whole number", got=text))
    return int(plain)


def _printed(number: int, name: str, text: str) -> Printed | None:
    """Half a unit of the last digit to either side, the ends included: nobody knows how a half was rounded."""
    if not text:
        return None
    match = NUMBER.fullmatch(text)
    if match is None or len(text) > 30:
        raise InputError(
            "recheck", Fault("table", f"line {number}: {name} must be a number such as 0.28 or 28%", got=text)
        )
    whole, part, percent = match.group(1).replace(",", ""), match.group(2) or "", match.group(3)
    scale = 10 ** len(part) * (100 if percent else 1)
    value, half = Fraction(int(whole + part), scale), Fraction(1, 2 * scale)
    return Printed(text, max(Fraction(0), value - half), value + half)


def _of_line(line: GroupLine) -> Iterator[str]:
    """What one group's own numbers say against each other."""
    if line.rate is not None and line.rate.low > 1:
        yield f"{line.group}: a rate of {line.rate.text} is more than all."
    elif line.n is not None and line.fewest is not None and line.most is not None and line.fewest > line.most:
        if line.events is not None and line.events > line.n:
            yield f"{line.group}: {line.events:,} of {line.n:,} people is more than all."
        elif line.events is not None and line.rate is not None:
            exact = float(Fraction(line.events, line.n or 1))
            yield f"{line.group}: {line.events:,} of {line.n:,} is {exact:.2%}, and not {line.rate.text}."
        elif line.rate is not None:
            yield f"{line.group}: no number of {line.n:,} people is {line.rate.text} of them."


def _of_total(total: GroupLine, groups: Sequence[GroupLine]) -> Iterator[str]:
    """Whether the groups add up to what was published of all."""
    people = [line.n for line in groups]
    if total.n is not None and None not in people and sum(people) != total.n:  # type: ignore[arg-type]
        yield f"{total.group}: the groups have {sum(people):,} people together, and not {total.n:,}."  # type: ignore[arg-type]
    ends = [(line.fewest, line.most) for line in groups]
    known = [(low, high) for low, high in ends if low is not None and high is not None and low <= high]
    if len(known) < len(groups) or total.fewest is None or total.most is None or total.fewest > total.most:
        return
    low, high = sum(low for low, _ in known), sum(high for _, high in known)
    if total.most < low or total.fewest > high:
        said = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        own = f"{total.fewest:,}" if total.fewest == total.most else f"{total.fewest:,} to {total.most:,}"
        yield f"{total.group}: the groups have {said} events together, and not {own}."


def _of_ratios(groups: Sequence[GroupLine]) -> Iterator[str]:
    """Whether each ratio is that of the group's rate to the highest rate."""
    known = [rates for line in groups if (rates := line.rates) is not None]
    if len(known) < len(groups):
        return
    best = max(low for low, _ in known), max(high for _, high in known)
    for line, (low, high) in zip(groups, known, strict=True):
        if line.ratio is None or not best[0]:
            continue
        least, largest = low / best[1], min(high / best[0], Fraction(1))
        if line.ratio.high < least or line.ratio.low > largest:
            between = f"{float(least):.3f}"
            between += "" if f"{float(largest):.3f}" == between else f" to {float(largest):.3f}"
            yield f"{line.group}: a ratio of {line.ratio.text} does not follow from the rates; they give {between}."


def _possible(line: GroupLine) -> str:
    if line.n is None or line.fewest is None or line.most is None:
        return f"{line.group}: not known without n."
    if line.fewest > line.most:
        return f"{line.group}: none."
    if line.fewest == line.most:
        return f"{line.group}: {line.fewest:,} of {line.n:,}."
    return f"{line.group}: {line.fewest:,} to {line.most:,} of {line.n:,}."


def _limits(groups: Sequence[GroupLine]) -> Iterator[str]:
    """Each group against the others with limits; where several counts fit, the one in the middle."""
    told = [(line.group, line.n, line.fewest, line.most) for line in groups]
    whole = [
        (name, n, low, high) for name, n, low, high in told if n and low is not None and high is not None
    ]
    if len(whole) < len(groups) or len(groups) < 2:
        yield "They need n and a rate or events of two groups or more."
        return
    if any(high - low > 0.05 * n for _, n, low, high in whole):
        yield "They need rates with more digits, or events."
        return
    yield from _gaps([(name, n, (low + high) // 2) for name, n, low, high in whole])


def _gaps(counts: Sequence[tuple[str, int, int]]) -> Iterator[str]:
    import pyarrow as pa

    rows = [
        (name, value, people) for name, n, k in counts for value, people in ((1, k), (0, n - k)) if people
    ]
    columns = dict(zip(("group", "decision", "people"), map(list, zip(*rows, strict=True)), strict=True))
    audit = Audit(pa.table(columns), decision="decision", groups=["group"], count="people")
    found = find_method("measure").function(audit=audit, metric="selection_rate", minimum=1)
    for row in found.estimates:
        yield f"{row['group']}: {_gap(row)}"


def _gap(row: Mapping[str, Any]) -> str:
    values = [row.get(name) for name in ("rate", "difference", "difference_low", "difference_high")]
    if not all(isinstance(value, float) for value in values):
        return "no limits (everybody has the same decision, or the group is all there is)."
    rate, gap, low, high = (100 * float(value) for value in values if isinstance(value, float))
    adjusted = row.get("p_adjusted")
    p = f", p {adjusted:.2g}" if isinstance(adjusted, float) else ""
    return f"{rate:.1f}%, {gap:+.1f} points ({low:+.1f} to {high:+.1f}){p}"
