"""Optional packages: the command that installs them where this Python finds them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from fairtrial._errors import MissingExtra


def lacking(said: str, extra: str) -> MissingExtra:
    """The error of a part whose optional packages are not there: what needs them, and what to type."""
    return MissingExtra(f"{said}: {installing(packages(extra))}")


def installing(wanted: Sequence[str]) -> str:
    """What to type: the packages by name, so that it works from a clone as from a release."""
    named = " ".join(f'"{one}"' if {"<", ">"} & set(one) else one for one in wanted)
    here = shlex.quote(sys.executable)
    return f"{here} -m pip install {named}" if find_spec("pip") else f"pip --python {here} install {named}"


def packages(extra: str) -> list[str]:
    """What the extra of that name brings, with its lower bounds."""
    from importlib import metadata  # takes a while, and is needed only where something is missing

    try:
        listed = metadata.requires("fairtrial") or []
    except metadata.PackageNotFoundError:  # run from the folder of its files
        return [f"fairtrial[{extra}]"]
    split = [line.partition(";") for line in listed]
    marks = (f'extra == "{extra}"', f"extra == '{extra}'")
    return [name.strip() for name, _, mark in split if mark.strip() in marks]
