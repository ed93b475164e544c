"""Run the board: cells in parallel, each kept in a file as soon as it is done, so that a stop loses nothing."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairtrial.errors import InputError
from fairtrial.validity.board import METHODS, Cell, Judged, cells, judge


@dataclass(frozen=True, slots=True)
class Board:
    """All judged cells of one run."""

    judged: tuple[Judged, ...]
    form: str
    seed: int
    seconds: float

    @property
    def as_expected(self) -> bool:
        return all(line.as_expected for line in self.judged)


def run_board(
    *,
    form: str = "long",
    methods: Sequence[str] = METHODS,
    seed: int = 0,
    jobs: int = 1,
    folder: Path | None = None,
    tell: Callable[[Judged, int, int], None] | None = None,
) -> Board:
    """Judge every cell of the methods named; results in `folder` are used again."""
    unknown = [name for name in methods if name not in METHODS]
    if unknown:
        raise InputError("validity", f"'method' must be one of {list(METHODS)}, got {unknown[0]!r}")
    started = time.monotonic()
    chosen = [cell for method in methods for cell in cells(method)]
    found = {cell.key: judged for cell in chosen if (judged := _load(folder, cell, form, seed)) is not None}
    waiting = [cell for cell in chosen if cell.key not in found]
    done = len(found)
    for cell, judged in _judge_all(waiting, form, seed, jobs):
        found[cell.key] = judged
        _save(folder, judged, form, seed)
        done += 1
        if tell is not None:
            tell(judged, done, len(chosen))
    return Board(tuple(found[cell.key] for cell in chosen), form, seed, time.monotonic() - started)


def _judge_all(waiting: list[Cell], form: str, seed: int, jobs: int) -> Iterator[tuple[Cell, Judged]]:
    if jobs == 1:
        for cell in waiting:
            yield cell, judge(cell, _repeats(cell, form), seed)
        return
    from joblib import Parallel, delayed

    # cells hold functions, so workers look them up by name
    by_key = {cell.key: cell for cell in waiting}
    calls = (delayed(_judge_by_key)(cell.method, cell.name, form, seed) for cell in waiting)
    for key, repeats, error, tail in Parallel(n_jobs=jobs, return_as="generator_unordered")(calls):
        yield by_key[key], Judged(by_key[key], repeats, error, tail)


def _judge_by_key(method: str, name: str, form: str, seed: int) -> tuple[str, int, float, float]:
    cell = next(cell for cell in cells(method) if cell.name == name)
    judged = judge(cell, _repeats(cell, form), seed)
    return cell.key, judged.repeats, judged.error, judged.tail


def _repeats(cell: Cell, form: str) -> int:
    return cell.long if form == "long" else cell.short


def _path(folder: Path, cell: Cell, form: str, seed: int) -> Path:
    from fairtrial import __version__

    identity = f"{cell.key}|{_repeats(cell, form)}|{seed}|{__version__}"
    return folder / f"{hashlib.sha256(identity.encode()).hexdigest()[:24]}.json"


def _load(folder: Path | None, cell: Cell, form: str, seed: int) -> Judged | None:
    if folder is None or not (path := _path(folder, cell, form, seed)).exists():
        return None
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return Judged(cell, content["repeats"], content["error"], content["tail"])


def _save(folder: Path | None, judged: Judged, form: str, seed: int) -> None:
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    content = {"cell": judged.cell.key, "repeats": judged.repeats, "error": judged.error, "tail": judged.tail}
    target = _path(folder, judged.cell, form, seed)
    partial = target.with_suffix(".part")
    partial.write_text(json.dumps(content), encoding="utf-8")
    partial.replace(target)
