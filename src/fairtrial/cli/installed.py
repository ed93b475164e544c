"""Whether what the program rests on is installed as it must be: half an installation must not pass a gate."""

from __future__ import annotations

import re
from importlib import metadata

from fairtrial.errors import MissingExtra

_BOUND = re.compile(r"([A-Za-z0-9._-]+)\s*>=\s*([0-9.]+)")


def check_installed() -> None:
    """Raise unless every dependency is there, no older than its lower bound.

    With typer 0.12 and click 8.5 `fairtrial run --fail-on violated` ran nothing and left with 0.
    """
    wanted = [_BOUND.match(line) for line in metadata.requires("fairtrial") or [] if "extra ==" not in line]
    faults = [text for bound in wanted if bound is not None for text in _faults(*bound.groups())]
    if faults:
        listed = "; ".join(faults)
        text = (
            f"fairtrial is only half installed: {listed}. Install it again: pip install --upgrade fairtrial"
        )
        raise MissingExtra(text)


def _faults(name: str, least: str) -> list[str]:
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return [f"{name} is missing"]
    return [] if _numbers(found) >= _numbers(least) else [f"{name} {found} is older than {least}"]


def _numbers(version: str) -> tuple[int, ...]:
    """The release of a version: 1.10.2 of 1.10.2rc1.post3."""
    numbers = [int(part) for part in re.findall(r"\d+", re.split(r"[a-z+]", version)[0])]
    return tuple([*numbers, 0, 0, 0, 0][:4])
