"""What an unfinished run keeps: finished sections and batches, each written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairtrial.methods.declaration import read_result
from fairtrial.results.result import Result
from fairtrial.trial.spec import Section
from fairtrial.trial.whole_files import write_whole
from fairtrial.work import FileStore

FOLDER = ".unfinished"


class Keeper:
    """The folder of an unfinished run; a section is found again only for the same data, arguments and seed."""

    def __init__(self, out: Path, *, resume: bool) -> None:
        self.folder = out / FOLDER
        if self.folder.exists() and not resume:
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.batches = FileStore(self.folder / "batches")

    def load(self, key: str) -> Result | None:
        """A finished section, or None when it is not there or was not written whole."""
        try:
            content = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
            return read_result(content)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, key: str, result: Result) -> None:
        """Keep a finished section."""
        write_whole(self.folder / f"{key}.json", json.dumps(result.to_dict()))

    def discard(self) -> None:
        """The run is complete: nothing needs to be kept."""
        shutil.rmtree(self.folder, ignore_errors=True)


def section_key(section: Section, facts: Mapping[str, Any]) -> str:
    """Names all that a section's numbers depend on."""
    identity = json.dumps(
        {"section": [section.method, section.arguments], **facts}, sort_keys=True, default=str
    )
    return f"{section.id}-{hashlib.sha256(identity.encode()).hexdigest()[:24]}"
