"""Where the table begins and ends among the rows of an office file: titles above it, merged headers, totals below."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

LOOKED_AT = 200  # rows; no table begins further down
_NUMBER = re.compile(r"[-+]?[€$£¥]? ?[0-9][0-9.,' ]*%?")
_TOTAL = re.compile(
    r"(?i)((grand |sub-?)?totals?|sum|average|mean|(gesamt|zwischen|end)?summe|gesamt|insgesamt|"
    r"mittelwert|durchschnitt|total(e|es|i|en|t)?|totaal|moyenne|somme|suma|soma|media|ogółem|razem|итого|всего|"
    r"toplam|yhteensä|i alt|合計|総計|小計|計|总计|合计|小计|합계|총계|Σ)\b.*"
)
_REMARK = re.compile(
    r"(?i)(sources?|notes?|remarks?|quellen?|anmerkung(en)?|hinweis|bemerkung|stand|fuente|nota|fonte|bron|opmerking|"
    r"källa|kilde|lähde|źródło|uwaga|источник|примечание|exported|generated|printed|created|report|page|confidential|"
    r"seite|erstellt|vertraulich|export(é|iert)|généré|confidentiel|出典|注|備考|作成)\b.*|[*†‡©※¹].*|\(c\).*"
)

Row = Sequence[str]


class TableStart(NamedTuple):
    """The header found: the place of its last row, the names, and the rows above that are no part of it."""

    row: int
    names: list[str]
    titles: list[str]
    merged: bool  # whether the header has two rows


def filled(row: Row) -> list[int]:
    """Places of the cells that hold anything."""
    return [place for place, cell in enumerate(row) if cell.strip()]


def _extent(row: Row) -> int:
    places = filled(row)
    return places[-1] + 1 if places else 0


def table_width(rows: Sequence[Row]) -> int:
    """How many columns the table has: the last filled one of the rows that have as many cells as most."""
    lengths = Counter(len(row) for row in rows if len(row) > 1)
    if not lengths:
        return 1
    most = max(lengths, key=lambda length: (lengths[length], length))
    return max(1, *(_extent(row) for row in rows if len(row) == most), 0)


def is_even(rows: Sequence[Row]) -> bool:
    """Whether the first row is a header over its whole width and the others have as many cells."""
    if not rows or not rows[0]:
        return False
    width = len(rows[0])
    return len(filled(rows[0])) == width > 1 and all(len(row) == width for row in rows[1:] if row)


def find_start(rows: Sequence[Row]) -> TableStart | None:
    """The header under titles, or of two rows whose upper one has merged cells; None where there is no such thing."""
    width = table_width(rows)
    if width < 2:
        return None
    for place, row in enumerate(rows):
        if _is_data(row, width):
            return None
        if len(filled(row)) == width == _extent(row) and _is_names(row):
            above = [other for other in rows[:place] if filled(other)]
            group = above[-1] if above and _is_group_row(above[-1], row, rows[place + 1 :], width) else None
            names = [cell.strip() for cell in row] if group is None else _joined(group, row)
            return TableStart(
                place, names[:width], _texts(above if group is None else above[:-1]), group is not None
            )
        below = rows[place + 1] if place + 1 < len(rows) else ()
        if _completes(row, below, width) and numbers_under(below, rows[place + 2 :]):
            return TableStart(place + 1, _joined(row, below)[:width], _texts(rows[:place]), True)
        if not _is_title(row, width) and not _may_be_group(row, below, width):
            return None
    return None


def _is_names(row: Row) -> bool:
    cells = [row[place].strip() for place in filled(row)]
    return len(cells) > 1 and not any(_NUMBER.fullmatch(cell) for cell in cells)


def _is_data(row: Row, width: int) -> bool:
    """A row of the table's width that holds numbers: the header would stand above it."""
    return _extent(row) == width and len(filled(row)) > 1 and not _is_names(row)


def _is_title(row: Row, width: int) -> bool:
    return len(filled(row)) <= 1 or _extent(row) < width


def _may_be_group(row: Row, below: Row, width: int) -> bool:
    """Merged cells leave what is to the right of a name empty."""
    return bool(row) and 0 < len(filled(row)) < width and len(filled(below)) == width and bool(row[0].strip())


def _is_group_row(group: Row, row: Row, data: Sequence[Row], width: int) -> bool:
    """Whether the row above the names says what several of them have in common."""
    places = filled(group)
    if not 1 < len(places) < width and not (len(places) == 1 and places[0] > 0):
        return False
    twice = len({cell.strip() for cell in row}) < width
    return twice or (_is_names([*group, "x"]) and bool(numbers_under(row, data)) and _extent(group) > 2)


def _completes(top: Row, bottom: Row, width: int) -> bool:
    """Whether each column has its name in one of two rows, and the lower one fills what the upper one merged."""
    upper, lower = set(filled(top)), set(filled(bottom))
    if not (upper and lower and _is_names([*bottom, "x"])) or _NUMBER.fullmatch(top[0].strip()):
        return False
    return (
        0 in upper
        and upper | lower == set(range(width))
        and bool(lower - upper)
        and lower != set(range(width))
    )


def numbers_under(names: Row, data: Sequence[Row]) -> bool:
    """Whether a column that has a text for its name holds numbers below it."""
    for place in filled(names):
        below = [row[place].strip() for row in data if place < len(row) and row[place].strip()]
        if below and all(_NUMBER.fullmatch(cell) for cell in below):
            return True
    return False


def _joined(top: Row, bottom: Row) -> list[str]:
    """One name for each column: the lower one; with the upper one before it where two would be alike."""
    width = max(len(top), len(bottom))
    upper = [cell.strip() for cell in top] + [""] * (width - len(top))
    lower = [cell.strip() for cell in bottom] + [""] * (width - len(bottom))
    reach = ""
    over = [reach := cell or (reach if lower[place] else "") for place, cell in enumerate(upper)]
    names = [below or above for above, below in zip(upper, lower, strict=True)]
    counts = Counter(names)
    return [
        f"{above} {name}" if counts[name] > 1 and above and above != name else name
        for above, name in zip(over, names, strict=True)
    ]


def _texts(rows: Iterable[Row]) -> list[str]:
    return [" ".join(cell.strip() for cell in row if cell.strip()) for row in rows if filled(row)]


def count_footer(rows: Sequence[Row], width: int) -> int:
    """How many of the last rows are no part of the table: blank ones, totals, remarks under a blank row.

    The rows are the last ones of the file, and more of them than can be a footer.
    """
    first_cells = Counter(row[0].strip() for row in rows if row)
    cut = kept = len(rows)
    while kept > 1:
        row = rows[kept - 1]
        places = filled(row)
        text = row[places[0]].strip() if places else ""
        if not places:
            after_gap = kept
            kept -= 1
            if _all_remarks(rows[after_gap:cut], width) or cut == after_gap:
                cut = kept
            continue
        total = _TOTAL.fullmatch(text) and first_cells[text] == 1 and _only_numbers(row, places[1:])
        remark = len(places) == 1 and width > 1 and _REMARK.fullmatch(text)
        if total or remark:
            cut = kept = kept - 1
        elif len(places) < width and _extent(row) < width and len(places) <= 2:
            kept -= 1  # a remark of its own words, if a blank row stands above it
        else:
            break
    return len(rows) - cut


def _only_numbers(row: Row, places: Sequence[int]) -> bool:
    return all(_NUMBER.fullmatch(row[place].strip()) for place in places)


def _all_remarks(rows: Sequence[Row], width: int) -> bool:
    return all(_extent(row) < width for row in rows)
