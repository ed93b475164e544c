"""A first look at a file that was brought, in a process of its own: whatever is in it, the server goes on.

python -m fairtrial._web.look FILE FOLDER MEMORY UNPACKED
"""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairtrial._audit.files import Files
from fairtrial._audit.files.encodings import unpacked as unpacked_bytes
from fairtrial._errors import FairtrialError, Fault, InputError
from fairtrial._labels import canonical, is_missing
from fairtrial._trial.spec.cards import cards
from fairtrial._trial.spec.guess import Guess, guess, make_answerable
from fairtrial._trial.spec.name_words import good_for_a_person, positive_label
from fairtrial._trial.spec.one_hot import REST, Family, families
from fairtrial._trial.spec.profile import Profile, first_rows, profile_file
from fairtrial._trial.spec.score_direction import settle_score_favours
from fairtrial._trial.spec.spellings import alike_labels
from fairtrial._trial.spec.table_of_counts import in_people
from fairtrial._web.store import COPY
from fairtrial._work.memory import limit_memory

MOST_COLUMNS = 2_000
MOST_ROWS = 100_000_000
LONGEST_LINE = 2 * 1024**2
PART = 1024**2
LABELS_SHOWN = 30
ROWS_SHOWN = 6
LARGE = 16 * 1024**2  # bytes of a CSV file that is not read anew for every look
LARGE_SHEET = 1024**2  # of an Excel file, which takes longer
EXCEL = (".xlsx", ".xlsm")
BINARY = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
TEXT_SHOWN = 60


def main(place: str, folder: str, memory: str, unpacked: str) -> None:
    """Say what the file holds, or what is wrong with it, as one line of JSON; what is made of it goes to the folder."""
    limit_memory(int(memory))
    try:
        answer = looked_at(Path(place), Path(folder), int(unpacked))
    except FairtrialError as error:
        answer = {"status": 422, "faults": str(error).splitlines()}
    except MemoryError:
        answer = {"status": 422, "faults": ["file: needs more memory to be read than one may use here."]}
    sys.stdout.write(json.dumps(answer, ensure_ascii=True, default=str))


def looked_at(place: Path, folder: Path | None = None, unpacked: int = 0) -> dict[str, Any]:
    """Where the rows are now, what each column holds, and a proposal of roles for a person to check.

    Of a large file the folder gets a copy that is quicker to read. `unpacked` is the most bytes that it may unpack to;
    0 is for files that are trusted to be what they seem.
    """
    if place.suffix in EXCEL:
        _check_unpacked(place, unpacked)
    elif place.suffix not in BINARY:
        _count_lines(place, unpacked)
    files = Files(str(place))
    names = files.columns
    if len(names) > MOST_COLUMNS:
        cure = "leave out those that the audit does not need"
        raise InputError(
            "file", Fault("", f"has {len(names):,} columns; {MOST_COLUMNS:,} are the most", cure=cure)
        )
    plain = Path(files.paths[0])
    count = _count_lines(plain, 0) - 1 if files.csv else _parquet_rows(plain, unpacked)
    if folder is not None and (_is_slow(place) if files.csv else plain != place):
        files.copy_typed(folder / COPY)
    profiles = profile_file(str(place))
    rows = first_rows(str(place), ROWS_SHOWN)
    found = guess(profiles)
    make_answerable(found)
    if place.stat().st_size < LARGE:
        settle_score_favours(found, str(place))
    people = in_people(profiles, found.count or found.total)
    return {
        "stored": place.name,
        "columns": [_column(profile) for profile in people],
        "written": [_written(family) for family in families(people)],
        "rows_looked_at": profiles[0].rows if profiles else 0,
        "rows": count,
        "people": count if people == profiles else people[0].rows,
        "read": files.said(()),
        "first_rows": [[_shown(row.get(name)) for name in names] for row in rows],
        "proposal": {**asdict(found), "groups": _columns_compared(found)},
        "cards": [asdict(card) for card in cards(found, profiles)],
    }


def _is_slow(place: Path) -> bool:
    return place.stat().st_size > (LARGE_SHEET if place.suffix in EXCEL else LARGE)


def _columns_compared(found: Guess) -> list[str]:
    """The page compares by columns: of an attribute that is written as several, by each of them."""
    defined = [column for group in found.define.values() for column in group]
    return [name for name in found.groups if name not in found.define] + defined


def _shown(value: Any) -> str | None:
    return None if is_missing(value) else canonical(value)[:TEXT_SHOWN]


def _column(profile: Profile) -> dict[str, Any]:
    alike = len({label.strip().casefold() for label in profile.labels}) < len(profile.labels)
    yes = positive_label(profile)
    return {
        "name": profile.name,
        "kind": _kind(profile),
        "labels": list(profile.labels[:LABELS_SHOWN]) if profile.category or profile.binary else [],
        "counts": list(profile.counts[:LABELS_SHOWN]) if profile.category or profile.binary else [],
        "alike": alike_labels(profile),
        "missing": profile.missing,
        "rows": profile.rows,
        "low": profile.low,
        "high": profile.high,
        "numeric": profile.numeric,
        "messy": alike and profile.category,
        "yes": yes,
        "good": good_for_a_person(profile.name, yes or "") if profile.zero_one or yes else None,
    }


def _written(family: Family) -> dict[str, Any]:
    """An attribute that is written as columns of 0 and 1."""
    counts = {**family.counts, **({REST: family.rest} if family.rest else {})}
    return {"name": family.name, "counts": counts, "groups": family.definitions(), "columns": family.columns}


def _kind(profile: Profile) -> str:
    if profile.identifier and not profile.numeric:
        return "identifier"
    if profile.binary:
        return "yes or no" if set(profile.labels) <= {"0", "1"} else "two labels"
    return "numbers" if profile.numeric else "groups" if profile.category else "text"


# -- what could be meant to fill the memory ------------------------------------------------------------------------
def _count_lines(place: Path, unpacked: int) -> int:
    """Refuses a file that unpacks to more than one may have, or has a line that is not one of a table."""
    size = since_line = lines = 0
    for part in _parts(place):
        size += len(part)
        lines += part.count(b"\n")
        last = part.rfind(b"\n")
        since_line = since_line + len(part) if last < 0 else len(part) - last - 1
        if size > unpacked > 0:
            raise InputError(
                "file",
                Fault(
                    "",
                    f"is larger than {unpacked // PART:,} MB once it is unpacked",
                    cure="audit it on the command line, with fairtrial run",
                ),
            )
        if since_line > LONGEST_LINE:
            raise InputError(
                "file",
                Fault(
                    "",
                    f"has a line of more than {LONGEST_LINE // PART} MB",
                    cure="check that it is a table of one line per row",
                ),
            )
    return lines + (since_line > 0)


def _parquet_rows(place: Path, unpacked: int) -> int:
    """A few bytes of Parquet can stand for any number of rows."""
    import pyarrow.parquet as parquet

    rows = int(parquet.read_metadata(place).num_rows)
    if rows > MOST_ROWS and unpacked:
        cure = "audit it on the command line, with fairtrial run"
        raise InputError("file", Fault("", f"has {rows:,} rows; {MOST_ROWS:,} are the most", cure=cure))
    return rows


def _parts(place: Path) -> Iterator[bytes]:
    try:
        with unpacked_bytes(str(place)) as file:
            while part := file.read(PART):
                yield part
    except (OSError, EOFError) as error:
        raise InputError("file", Fault("", f"cannot be unpacked: {error}", cure="Pack it anew")) from None


def _check_unpacked(place: Path, unpacked: int) -> None:
    """Refuses a workbook that unpacks to more than one may have."""
    if not zipfile.is_zipfile(place):
        return
    with zipfile.ZipFile(place) as archive:
        if sum(item.file_size for item in archive.infolist()) > unpacked > 0:
            text = f"is larger than {unpacked // PART:,} MB once it is unpacked"
            cure = "audit it on the command line, with fairtrial run"
            raise InputError("file", Fault("", text, cure=cure))


if __name__ == "__main__":
    main(*sys.argv[1:])
