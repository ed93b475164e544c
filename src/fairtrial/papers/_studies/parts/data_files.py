"""Where the files of the papers are that the package does not hold."""

from __future__ import annotations

import os
from pathlib import Path

from fairtrial.papers._data import FILES


def find(name: str, given: Path | None) -> Path | None:
    """The file as given, in the folder given or in that of FAIRTRIAL_DATA; None where it is not."""
    named = os.environ.get("FAIRTRIAL_DATA")
    place = given or (Path(named) if named else None)
    if place is None:
        return None
    if place.is_dir():
        place = place / FILES[name]
    return place if place.is_file() and (place.name == FILES[name] or given is not None) else None
