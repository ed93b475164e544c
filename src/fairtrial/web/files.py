"""A file that was brought: stored within the limit, looked at in a process of its own, and kept with what it holds."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool

from fairtrial.datasets import DATASETS
from fairtrial.errors import Fault, InputError, check_choice
from fairtrial.web.look import looked_at
from fairtrial.web.settings import MEGABYTE, Settings
from fairtrial.web.store import Store, digest_of, kind_of

STALLED = 30  # seconds without a byte of an upload
LOOK_SECONDS, MORE_PER_MEGABYTE = 120, 1
LOOK_MEMORY = 4096 * MEGABYTE


class TooLarge(Exception):
    """More bytes came than one file may have."""


class Unreadable(Exception):
    """What a first look at a file found wrong with it."""

    def __init__(self, status: int, faults: list[str]) -> None:
        super().__init__(*faults)
        self.status, self.faults = status, faults


async def receive(store: Store, settings: Settings, name: str, body: AsyncIterator[bytes]) -> str:
    """Store what is uploaded; nothing is kept of a file that is too large or cannot be read."""
    kind = kind_of(name)
    identity = store.files.make(name=Path(name).name[-120:], stored=f"data{kind}")
    place = store.files.path(identity) / f"data{kind}"
    size = 0
    try:
        with open(place, "wb") as file:
            async for part in _flowing(body):
                size += len(part)
                if size > settings.most_upload:
                    raise TooLarge
                await run_in_threadpool(file.write, part)
        digest = await run_in_threadpool(digest_of, place)
        seen = await run_in_threadpool(look, place, place.parent, settings.most_upload)
        store.files.change(identity, bytes=size, digest=digest, stored=seen.pop("stored"), seen=seen)
    except BaseException:
        store.files.delete(identity)
        raise
    return identity


async def _flowing(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The parts as they come; one that does not come holds nothing open for long."""
    while True:
        try:
            yield await asyncio.wait_for(anext(body), STALLED)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Unreadable(408, [f"file: nothing more came for {STALLED} seconds."]) from None


def look(place: Path, folder: Path, unpacked: int = 0) -> dict[str, Any]:
    """What the file holds; whatever is wrong with it ends a process of its own."""
    command = [
        sys.executable,
        "-m",
        "fairtrial.web.look",
        str(place),
        str(folder),
        str(LOOK_MEMORY),
        str(unpacked),
    ]
    seconds = LOOK_SECONDS + MORE_PER_MEGABYTE * place.stat().st_size // MEGABYTE
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        seen: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise Unreadable(422, [f"file: reading it took more than {seconds} seconds."]) from None
    except ValueError:
        raise Unreadable(422, ["file: cannot be read; it may need too much memory."]) from None
    if "faults" in seen:
        raise Unreadable(seen["status"], seen["faults"])
    return seen


def dataset(store: Store, name: str) -> str:
    """A bundled dataset as a file."""
    check_choice("file", "dataset", name, DATASETS)
    place = str(resources("fairtrial.datasets").joinpath(f"{name}.parquet"))
    return store.files.make(name=f"{name}.parquet", path=place, dataset=name, **_bundled(place))


@cache
def _bundled(place: str) -> dict[str, Any]:
    return {"digest": digest_of(Path(place)), "seen": looked_at(Path(place))}


def local(store: Store, settings: Settings, name: str) -> str:
    """A file of the folder that was named when the server started; nothing outside it."""
    if settings.folder is None:
        cure = "start the server with --folder"
        raise InputError("file", Fault("path", "cannot be opened: no folder was named", cure=cure))
    folder = settings.folder.resolve()
    place = (folder / name).resolve() if "\0" not in name else folder
    if not place.is_relative_to(folder) or not place.is_file():
        raise InputError(
            "file", Fault("path", "must be a file in the folder of this server", got=name[-120:])
        )
    if kind_of(place.name) not in OPENED_IN_PLACE:
        cure = "upload it: it is read once and kept as Parquet"
        raise InputError("file", Fault("path", "cannot be opened where it lies", got=place.name, cure=cure))
    identity = store.files.make(name=place.name, path=str(place))
    try:
        store.files.change(identity, digest=digest_of(place), seen=look(place, store.files.path(identity)))
    except BaseException:
        store.files.delete(identity)
        raise
    return identity


OPENED_IN_PLACE = (".csv", ".csv.gz", ".tsv", ".parquet")


def listed(settings: Settings) -> list[str]:
    """The files of the folder that can be opened."""
    folder = settings.folder
    found = [] if folder is None else sorted(path.name for path in folder.iterdir() if path.is_file())
    return [name for name in found if name.lower().endswith(OPENED_IN_PLACE)][:500]
