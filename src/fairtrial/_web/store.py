"""What is kept on disk: files that were brought, and audits of them, each in a folder of its own."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import secrets
import shutil
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fairtrial._errors import Fault, InputError, NotWritten
from fairtrial._work.kept_files import write_whole

IDENTITY = re.compile(r"[0-9a-f]{16}")
WATCH = re.compile(r"[\w-]{1,60}")  # what a watch may be called
UNSAFE = re.compile(r"[^\w. -]")  # in the name of a file that is a link, and no pattern of several files
COPY = "data.typed.parquet"  # of a large CSV file, which would take long to read at every look
KINDS = (
    ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz", ".jsonl", ".jsonl.gz", ".ndjson", ".json", ".parquet",
    ".arrow", ".feather", ".xlsx", ".xlsm",
)  # fmt: skip


UNUSED_DAYS = 7  # that a file without an audit is kept


class Missing(Exception):
    """There is no such file or audit."""


def now() -> str:
    """The time, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def earlier(*, days: int) -> str:
    """The time so many days ago."""
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")


class Folder:
    """Records of one kind: a folder with a `meta.json` each."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.lock = threading.RLock()
        place.mkdir(parents=True, exist_ok=True, mode=0o700)

    def make(self, **facts: Any) -> str:
        """A new record."""
        identity = secrets.token_hex(8)
        (self.place / identity).mkdir(mode=0o700)
        self.change(identity, id=identity, made=now(), **facts)
        return identity

    def path(self, identity: str) -> Path:
        """The record's folder."""
        place = self.place / identity
        if not IDENTITY.fullmatch(identity) or not place.is_dir():
            raise Missing(identity)
        return place

    def read(self, identity: str) -> dict[str, Any]:
        """What is known of the record."""
        try:
            found: dict[str, Any] = json.loads(
                (self.path(identity) / "meta.json").read_text(encoding="utf-8")
            )
        except (OSError, ValueError):
            raise Missing(identity) from None
        return found

    def change(self, identity: str, **facts: Any) -> dict[str, Any]:
        """Add facts to the record, or put them in the place of others."""
        with self.lock, self.writing(identity) as folder:
            place = folder / "meta.json"
            known: dict[str, Any] = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
            known |= facts
            write_whole(place, json.dumps(known, ensure_ascii=False, indent=1))
        return known

    @contextlib.contextmanager
    def writing(self, identity: str) -> Iterator[Path]:
        """The record's folder, to write into; a record that is deleted meanwhile is a missing one."""
        folder = self.path(identity)
        try:
            yield folder
        except (OSError, NotWritten):
            if folder.is_dir():
                raise
            raise Missing(identity) from None

    def all(self) -> list[dict[str, Any]]:
        """Every record, the newest first."""
        found = []
        for place in self.place.iterdir():
            try:
                found.append(self.read(place.name))
            except Missing:
                continue  # being made, or being deleted
        return sorted(found, key=lambda meta: str(meta.get("made")), reverse=True)

    def delete(self, identity: str) -> None:
        """The record and everything in it; from the first moment on there is no such record."""
        with self.lock:
            going = self.place / f".{identity}.going"
            try:
                self.path(identity).rename(going)
            except OSError:
                raise Missing(identity) from None  # another request was quicker
        shutil.rmtree(going, ignore_errors=True)


def watched(meta: Mapping[str, Any]) -> set[str]:
    """Names of the watches that an audit adds to."""
    asked = meta.get("content", {}).get("watch")
    parts = asked if isinstance(asked, list) else [asked]
    names = (part.get("state") for part in parts if isinstance(part, dict))
    return {name for name in names if isinstance(name, str) and WATCH.fullmatch(name)}


class Store:
    """Everything that the server keeps."""

    def __init__(self, home: Path) -> None:
        self.files = Folder(home / "files")
        self.audits = Folder(home / "audits")
        self.watches, self.shown = home / "watches", home / "shown"
        for place in (self.watches, self.shown):
            place.mkdir(exist_ok=True, mode=0o700)
        self._tidy()

    def _tidy(self) -> None:
        """What an interrupted deletion left, and files that were brought long ago and never audited."""
        for folder in (self.files, self.audits):
            for going in folder.place.glob(".*.going"):
                shutil.rmtree(going, ignore_errors=True)
        used = {meta.get("file") for meta in self.audits.all()}
        for meta in self.files.all():
            if meta["id"] not in used and meta["made"] < earlier(days=UNUSED_DAYS):
                self.files.delete(meta["id"])

    def delete_audit(self, identity: str) -> None:
        """An audit, and its file and its watches where no other audit is of them."""
        gone = self.audits.read(identity)
        self.audits.delete(identity)
        others = self.audits.all()
        if all(meta.get("file") != gone.get("file") for meta in others):
            with contextlib.suppress(Missing):
                self.files.delete(gone.get("file", ""))
        for name in watched(gone).difference(*map(watched, others)):
            for place in self.watches.glob(f"{name}.jsonl*"):
                place.unlink(missing_ok=True)

    def mark_shown(self, file: str) -> None:
        """From now on a plan for these data is no longer made before any rate was shown."""
        (self.shown / self._data(file)).touch()

    def was_shown(self, file: str) -> bool:
        """Whether rates of these data were shown here: in this audit or another, kept or deleted since."""
        return (self.shown / self._data(file)).exists()

    def _data(self, file: str) -> str:
        return str(self.files.read(file).get("digest", file))

    def data_path(self, identity: str) -> Path:
        """Where the rows of a file are."""
        meta = self.files.read(identity)
        place = Path(meta["path"]) if meta.get("path") else self.files.path(identity) / str(meta["stored"])
        if not place.is_file():
            raise Missing(identity)
        return place

    def data_name(self, identity: str) -> str:
        """What reports and code call the file: by its own name, of the kind that its rows are kept in."""
        name = str(self.files.read(identity)["name"])
        own = name[: -len(kind_of(name))]
        return (UNSAFE.sub("_", own).strip(". ") or "data") + kind_of(self.data_path(identity).name)

    def link_data(self, audit: str, file: str) -> None:
        """The rows beside the audit, under their own name."""
        with self.audits.writing(audit) as folder:
            made = folder / f"{secrets.token_hex(8)}.part"  # two requests may be here at once
            made.symlink_to(self.data_path(file).resolve())
            made.replace(folder / self.data_name(file))

    def look_path(self, identity: str) -> Path:
        """What checks and looks read: the rows themselves, or the copy that was made of a large file."""
        copy, place = self.files.path(identity) / COPY, self.data_path(identity)
        return copy if copy.is_file() and copy.stat().st_mtime >= place.stat().st_mtime else place


def kind_of(name: str) -> str:
    """The ending of a file that can be read."""
    found = next((kind for kind in sorted(KINDS, key=len, reverse=True) if name.lower().endswith(kind)), None)
    if found is None:
        required = f"must be one of {', '.join(KINDS)}"
        raise InputError("file", Fault("name", required, got=Path(name).name[-80:]))
    return found


def digest_of(place: Path) -> str:
    """SHA-256 of a file: the same data brought twice are the same data."""
    with place.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
