"""What an unfinished run keeps, and all that it may be taken up again for."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from fairtrial import _work as work
from fairtrial._audit.audit import Audit
from fairtrial._errors import Fault, InputError, Set, Words
from fairtrial._method.declaration import read_result
from fairtrial._results.result import Result
from fairtrial._trial.spec.load import Spec
from fairtrial._trial.spec.sections import Section
from fairtrial._work import FileStore
from fairtrial._work.kept_files import sameness, write_whole

FOLDER, LOCK = ".unfinished", ".lock"
MADE_FROM = "made-from.json"
WORDS = {"data": "the data", "spec": "the columns' roles or the seed", "versions": "the versions installed"}


def identity_of(
    spec: Spec,
    audit: Audit,
    sections: Sequence[Section],
    facts: Mapping[str, Any],
    versions: Mapping[str, str],
) -> dict[str, Any]:
    """All that the numbers of any section depend on: the values and order of every column that one names, too."""
    said = [spec.content, *(section.arguments for section in sections)]
    found = audit.fingerprint(mentioned(said, audit.source.columns))
    return {
        "data": [facts["digest"], facts["sha256"], *found],
        "spec": [spec.data.roles, spec.run.seed, facts["roles"], facts["missing_rule"], *_groups(audit)],
        "versions": dict(versions),
    }


def _groups(audit: Audit) -> list[Any]:
    """What the groups are: those of a publication are others than the owner's."""
    roles = audit.roles
    return [audit.groups, roles.merge, roles.joined, audit.bins, roles.words, roles.rate]


def mentioned(said: Sequence[Any], columns: Sequence[str]) -> list[str]:
    """The columns whose names stand anywhere in what is said, alone or in a condition such as 'age<25, sex=F'."""
    texts = {text for part in said for text in _texts(part)}
    return [name for name in columns if name in texts]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        yield from (part.strip() for part in re.split(r"[=<>!≤≥,:]", value))
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _texts(key)
            yield from _texts(part)
    elif isinstance(value, Sequence):
        for part in value:
            yield from _texts(part)


def section_key(section: Section, identity: Mapping[str, Any]) -> str:
    """Names all that a section's numbers depend on."""
    content = {"section": [section.method, section.arguments], **identity}
    return f"{section.id}-{sameness(content)[:24]}"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One run at a time in a folder. The lock is the system's, which frees it however its process ends."""
    path = folder / LOCK
    required = "is used by another run"
    try:
        held = FileLock(path).acquire(timeout=0)
    except Timeout:
        with contextlib.suppress(OSError):  # it may just have ended
            required += f" (process {path.read_text()})"
        cure = Words("wait for it or choose another folder with {}", Set("out"))
        raise InputError("run", Fault("out", required, cure=cure, subject=f"the folder {folder}")) from None
    with held:
        with contextlib.suppress(OSError):  # only a help to who comes second
            path.write_text(str(os.getpid()))
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # while it is held, so that no other run's is taken away
                path.unlink()


class Keeper:
    """The folder of an unfinished run; a section is found again only for the same data, arguments and seed."""

    def __init__(self, out: Path, *, resume: bool) -> None:
        self.folder = out / FOLDER
        if self.folder.exists() and not resume:
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.batches = FileStore(self.folder / "batches")
        self.damaged = 0
        self.changed: list[str] = []

    def begin(self, identity: Mapping[str, Any], sections: Sequence[Section]) -> None:
        """Compare what this run is made from with what the kept one was, and write it down."""
        path = self.folder / MADE_FROM
        parts = {name: sameness(identity[name]) for name in WORDS}
        asked = {section.id: sameness([section.method, section.arguments]) for section in sections}
        try:
            before = json.loads(path.read_bytes())
            other = [WORDS[name] for name in WORDS if before["parts"][name] != parts[name]]
            other += [
                f"the question {name}"
                for name in asked
                if before["asked"].get(name, asked[name]) != asked[name]
            ]
        except FileNotFoundError:
            other = []
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.damaged += 1
            other = []
        self.changed = other
        write_whole(path, json.dumps({"parts": parts, "asked": asked}))

    @property
    def damage(self) -> str:
        """What is said of kept files that are not as they were written; nothing where all are."""
        count = self.damaged + self.batches.damaged
        if not count:
            return ""
        files = "1 kept file was" if count == 1 else f"{count} kept files were"
        return f"{files} not as written (damaged or changed) and computed again."

    @property
    def said(self) -> list[str]:
        """What a reader must know of the kept files: nothing where all of them are as they were and still apply."""
        notes = [self.damage] if self.damage else []
        if self.changed:
            changed = f"Not as in the run that was to go on: {', '.join(self.changed)}."
            notes.insert(0, f"{changed} What depends on it is computed anew.")
        return notes

    def load(self, key: str) -> Result | None:
        """A finished section, or None when it is not there or is not what was written."""
        try:
            check, _, content = (self.folder / f"{key}.json").read_bytes().partition(b"\n")
        except OSError:
            return None
        if check == work.checksum(key, content).hex().encode():
            with contextlib.suppress(Exception):  # not ours, whatever it is
                return read_result(json.loads(content))
        self.damaged += 1
        return None

    def save(self, key: str, result: Result) -> None:
        """Keep a finished section, behind a checksum of it and of its key."""
        content = json.dumps(result.to_dict()).encode()
        check = work.checksum(key, content).hex().encode()
        write_whole(self.folder / f"{key}.json", check + b"\n" + content)

    def discard(self) -> None:
        """The run is complete: nothing needs to be kept."""
        shutil.rmtree(self.folder, ignore_errors=True)
