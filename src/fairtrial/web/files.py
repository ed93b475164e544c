"""A file that was brought: stored within the limit, looked at, and its columns' parts proposed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairtrial.datasets import DATASETS
from fairtrial.errors import Fault, InputError, MissingExtra, check_choice
from fairtrial.trial.spec.guess import guess
from fairtrial.trial.spec.profile import Profile, profile_file
from fairtrial.web.settings import MEGABYTE, Settings
from fairtrial.web.store import Store, kind_of

LABELS_SHOWN = 30
ROWS_SHOWN = 8
MOST_COLUMNS = 2_000


class TooLarge(Exception):
    """More bytes came than one file may have."""


async def receive(store: Store, settings: Settings, name: str, body: AsyncIterator[bytes]) -> str:
    """Store what is uploaded; nothing is kept of a file that is too large or cannot be read."""
    kind = kind_of(name)
    identity = store.files.make(name=Path(name).name[-120:], stored=f"data{kind}")
    place = store.files.path(identity) / f"data{kind}"
    size = 0
    try:
        with open(place, "wb") as file:
            async for part in body:
                size += len(part)
                if size > settings.most_upload:
                    raise TooLarge
                file.write(part)
        if kind in (".xlsx", ".arrow", ".feather"):
            place = converted(place, kind)
            store.files.change(identity, stored=place.name)
        store.files.change(identity, bytes=size)
        columns_of(place)
    except BaseException:
        store.files.delete(identity)
        raise
    return identity


def dataset(store: Store, name: str) -> str:
    """A bundled dataset as a file."""
    from importlib.resources import files

    check_choice("file", "dataset", name, DATASETS)
    place = files("fairtrial.datasets").joinpath(f"{name}.parquet")
    return store.files.make(name=f"{name}.parquet", path=str(place), dataset=name)


def local(store: Store, settings: Settings, name: str) -> str:
    """A file of the folder that was named when the server started; nothing outside it."""
    if settings.folder is None:
        cure = "start the server with --folder"
        raise InputError("file", Fault("path", "cannot be opened: no folder was named", cure=cure))
    folder = settings.folder.resolve()
    place = (folder / name).resolve()
    if not place.is_relative_to(folder) or not place.is_file():
        raise InputError(
            "file", Fault("path", "must be a file in the folder of this server", got=name[-120:])
        )
    kind_of(place.name)
    columns_of(place)
    return store.files.make(name=place.name, path=str(place))


def converted(place: Path, kind: str) -> Path:
    """The same rows as Parquet, which every engine reads."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    table = _excel(place) if kind == ".xlsx" else _arrow(place)
    target = place.with_name("data.parquet")
    try:
        parquet.write_table(table, target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError("file", Fault("", f"cannot be read: {str(error).splitlines()[0]}")) from None
    place.unlink()
    return target


def _arrow(place: Path) -> Any:
    import pyarrow as pa

    try:
        with pa.memory_map(str(place)) as source:
            return pa.ipc.open_file(source).read_all()
    except pa.ArrowInvalid as error:
        raise InputError(
            "file", Fault("", f"cannot be read as Arrow: {str(error).splitlines()[0]}")
        ) from None


def _excel(place: Path) -> Any:
    """The first sheet, its first row as the header; what a formula last showed, never the formula."""
    import zipfile

    import pyarrow as pa

    try:
        import openpyxl
    except ImportError:
        raise MissingExtra(
            "Excel files need the package 'openpyxl'. Install it, or save the sheet as CSV."
        ) from None
    with zipfile.ZipFile(place) as archive:
        if sum(item.file_size for item in archive.infolist()) > 1024 * MEGABYTE:
            raise TooLarge
    rows = (
        openpyxl.load_workbook(place, read_only=True, data_only=True)
        .worksheets[0]
        .iter_rows(values_only=True)
    )
    names = [str(name) for name in next(rows, ()) if name is not None]
    values = [[None if value is None else str(value) for value in row[: len(names)]] for row in rows]
    columns = zip(*values, strict=True) if values else [()] * len(names)
    return pa.table(
        {name: pa.array(column, pa.string()) for name, column in zip(names, columns, strict=True)}
    )


def columns_of(place: Path) -> list[Profile]:
    """What each column could be, from the first rows."""
    profiles = profile_file(str(place))
    if len(profiles) > MOST_COLUMNS:
        raise InputError("file", Fault("", f"has {len(profiles):,} columns; {MOST_COLUMNS:,} are the most"))
    return profiles


def described(place: Path, preset: str | None = None) -> dict[str, Any]:
    """The columns, the first rows' labels, and a proposal of roles for a person to check."""
    profiles = columns_of(place)
    found = guess(profiles, preset)
    return {
        "columns": [_column(profile) for profile in profiles],
        "rows_looked_at": profiles[0].rows if profiles else 0,
        "proposal": asdict(found),
    }


def _column(profile: Profile) -> dict[str, Any]:
    kind = (
        "yes or no"
        if profile.binary
        else "numbers"
        if profile.numeric
        else "groups"
        if profile.category
        else "text"
    )
    alike = len({label.strip().casefold() for label in profile.labels}) < len(profile.labels)
    return {
        "name": profile.name,
        "kind": "identifier" if profile.identifier and not profile.numeric else kind,
        "labels": list(profile.labels[:LABELS_SHOWN]) if profile.category or profile.binary else [],
        "missing": profile.missing,
        "rows": profile.rows,
        "low": profile.low,
        "high": profile.high,
        "numeric": profile.numeric,
        "messy": alike and profile.category,
    }
