"""What an audit file from somebody else may not ask for: all of it in one message, before any work.

Such a file is only data. It reads and writes beside itself, names no address, and asks for no more work than a page
of questions needs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from glob import glob
from pathlib import Path

from fairtrial._audit.files import KNOWN, split_sheet
from fairtrial._errors import Fault, InputError, Set, Words
from fairtrial._method.declaration import find_method
from fairtrial._trial.spec.key_lines import Path as Place
from fairtrial._trial.spec.load import Spec
from fairtrial._trial.spec.sections import Section

# More than this is a way to keep a machine busy, or a choice of whoever owns it.
MOST = {"depth": 4, "permutations": 1_000_000, "bootstrap": 100_000, "splits": 1_000, "budget": 100_000}
MOST_SECTIONS = 100
MOST_GROUPS = 100
MOST_FILES = 1_000
WRITTEN = (
    "results.json",
    "report.html",
    "report.pdf",
    "summary.md",
    "tables",
    "charts",
    ".lock",
    ".unfinished",
)
FOLLOWED = (
    ".numba_config.yaml"  # numba takes settings from such a file where it is started, a cache of code too
)

Refused = tuple[Place, str]


def check_untrusted(spec: Spec, out: str | os.PathLike[str] | None) -> None:
    """Raise unless the file asks for nothing that only its owner may allow."""
    found = [*_of_rows(spec), *_of_work(spec), *_of_files(spec)]
    faults = spec.faults()
    for place, text in found:
        faults.add(place, Fault("", text))
    told = [text for _, text in sorted(faults.found)]
    told += [f"its folder holds {text}" for text in _surroundings(spec.folder)]
    told += [] if out is None else [f"the output: {text}" for text in _of_output(spec.folder, Path(out))]
    if not told:
        return
    listed = "".join(f"\n  - {text}" for text in told).replace("{", "(").replace("}", ")")
    text = "asks for more than a file from others may; add {} if you wrote it or trust it. It asks:"
    raise InputError(spec.name, Fault("", Words(text + listed, Set("trust", True))))


def _of_rows(spec: Spec) -> Iterator[Refused]:
    """Where the rows would come from."""
    data = spec.data
    if data.engine == "spark":
        yield ("data", "engine"), "the rows come from a Spark session, which may reach other machines"
    elif data.source is not None:
        for text in _reading(spec.folder, data.source):
            yield ("data", "source"), text


def _of_work(spec: Spec) -> Iterator[Refused]:
    """Where work would be done, and how much of it."""
    if spec.run.parallel not in (None, "dask"):
        yield ("run", "parallel"), "the work and the data go to another program. Name it on the command line"
    processors = os.cpu_count() or 1
    if spec.run.jobs > processors:
        yield (
            ("run", "jobs"),
            f"{spec.run.jobs:,} processes at once; this machine has {processors} processors",
        )
    if len(spec.sections) > MOST_SECTIONS:
        yield (), f"{len(spec.sections):,} questions; {MOST_SECTIONS} are the most"
    if len(spec.data.groups) > MOST_GROUPS:
        yield ("data", "groups"), f"{len(spec.data.groups):,} attributes; {MOST_GROUPS} are the most"
    for section in spec.sections:
        for name, most in MOST.items():
            value = section.arguments.get(name)
            if isinstance(value, int) and value > most:
                yield (*section.path, name), f"{value:,}; {most:,} is the most"


def _of_files(spec: Spec) -> Iterator[Refused]:
    """Files that the questions name, all of which are written."""
    for section in spec.sections:
        for name in _paths_of(section):
            for text in _writing(spec.folder, str(section.arguments[name])):
                yield (*section.path, name), text


def _paths_of(section: Section) -> list[str]:
    declared = find_method(section.method).arguments
    return [part.name for part in declared if part.option.path and section.arguments.get(part.name)]


def _reading(folder: Path, named: str) -> Iterable[str]:
    """Why data may not be read there."""
    why = _not_beside(folder, named)
    if why:
        return [f"{why}, to read it"]
    path = os.path.join(folder, named)
    files = glob(path, recursive=True) if any(mark in named for mark in "*?[") else [split_sheet(path)[0]]
    if len(files) > MOST_FILES:
        return [f"reads {len(files):,} files; {MOST_FILES:,} are the most"]
    faults = [why for file in files if (why := _not_data(folder, file))]
    return list(dict.fromkeys(faults))[:1]


def _not_data(folder: Path, path: str) -> str:
    """Why a file that is there is none of the folder's data."""
    why = _not_beside(folder, path)
    if why:
        return f"{why}, to read it"
    name = path.lower().removesuffix(".gz")
    if not name.endswith(KNOWN):
        return f"reads {_short(path)}, which is no table by its name"
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        return f"reads {_short(path)}, which is no plain file"
    return ""


def _writing(folder: Path, named: str) -> Iterable[str]:
    """Why a file may not be written there."""
    why = _not_beside(folder, named)
    if why:
        return [f"{why}, to write it"]
    path = folder / named
    if path.suffix not in (".json", ".jsonl"):
        return [f"writes {_short(named)}; such a file is named .json or .jsonl"]
    if path.exists() and not _is_ours(path):
        return [f"writes over {_short(named)}, which fairtrial did not write"]
    return []


def _is_ours(path: Path) -> bool:
    """Whether a file is a watch's state or alert."""
    from fairtrial._watch.updating import is_alert

    if not path.is_file():
        return False
    if path.suffix == ".jsonl":
        with path.open("rb") as file:
            return file.read(9) == b'{"hash":"'
    return is_alert(path)


def _not_beside(folder: Path, named: str) -> str:
    """Why a path leads out of the folder or to what is hidden in it; empty where it does neither."""
    if "\0" in named or "://" in named:
        return f"goes to {_short(named)}, which is no file of this folder"
    if named.startswith("~"):
        return f"goes to {_short(named)}, in somebody's home"
    root = folder.resolve()
    try:
        target = (folder / named).resolve()
    except (OSError, RuntimeError):  # links in a circle
        return f"goes to {_short(named)}, which leads nowhere"
    lexical = Path(os.path.normpath(folder / named))
    if not (target.is_relative_to(root) and lexical.is_relative_to(os.path.normpath(folder))):
        return f"goes to {_short(named)}, outside its folder"
    if any(part.startswith(".") for part in target.relative_to(root).parts):
        return f"goes to {_short(named)}, which is hidden"
    return ""


def _surroundings(folder: Path) -> list[str]:
    """Files beside it that other programs would follow."""
    return [FOLLOWED] if (folder / FOLLOWED).exists() or Path(FOLLOWED).exists() else []


def _of_output(folder: Path, out: Path) -> list[str]:
    """Links by which the output would be written somewhere else."""
    place, root = Path(os.path.abspath(out)), Path(os.path.abspath(folder))
    if place.is_relative_to(root) and not place.resolve().is_relative_to(root.resolve()):
        return [f"{_short(str(out))} is a link out of the file's folder"]
    if place.is_symlink():
        return [f"{_short(str(out))} is a link"]
    written = [place / name for name in WRITTEN]
    inside = [path for folder in written if folder.is_dir() for path in folder.rglob("*")]
    for path in (*written, *inside):
        if path.is_symlink():
            return [f"{_short(str(path.relative_to(place)))} in it is a link"]
    return []


def _short(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= 120 else f"{shown[:120]}…"
