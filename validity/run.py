"""Run the board: cells in parallel, each kept in a file as soon as it is done, so that a stop loses nothing.

A kept line is used again only for the same line, repeats, seed and code: a long run never takes over a short run's
line, and no line survives a change of the code that it depends on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Iterator, Sequence
from pathlib import Path
from typing import Any

from fairtrial import InputError, __version__
from inside.ground import Fault
from validity.board import SECTIONS, Cell, Judged, cells, judge, module_of
from validity.code import LIBRARIES, ONLY_SHOWS, code_digest, modules_of
from validity.results import Board, judged, record

README = """Finished lines of the validity board (`python -m validity --keep`), so that a stopped run goes on.

One file per line. Its name is a hash of the line's name, design, claim and nominal level, the number of repeats, the
seed, and the code: the board's files that list the line, and every Python file that the functions which run it import,
directly or not, but those that only show results ({shows}), and the versions of
{libraries}. So a long run never uses a line of a short one, and no line outlives a change of the code it depends on.
`seconds` is the processor time the line took when it was computed; the page adds these up.
Lines of older code are not read any more: this folder may be deleted at any time.
"""


def run_board(
    *,
    form: str = "long",
    methods: Sequence[str] = SECTIONS,
    lines: Container[str] | None = None,
    seed: int = 0,
    jobs: int = 1,
    folder: Path | None = None,
    tell: Callable[[Judged, int, int], None] | None = None,
) -> Board:
    """Judge every cell of the methods named, or those among them whose key is in `lines`; results in `folder` are
    used again."""
    unknown = [name for name in methods if name not in SECTIONS]
    if unknown:
        raise InputError("validity", Fault("method", f"must be one of {list(SECTIONS)}", got=unknown[0]))
    chosen = [cell for method in methods for cell in cells(method) if _repeats(cell, form) or cell.exact]
    chosen = [cell for cell in chosen if lines is None or cell.key in lines]
    found = {cell.key: line for cell in chosen if (line := _load(folder, cell, form, seed)) is not None}
    waiting = [cell for cell in chosen if cell.key not in found]
    done = len(found)
    for cell, line in _judge_all(waiting, form, seed, jobs):
        found[cell.key] = line
        _save(folder, line, form, seed)
        done += 1
        if tell is not None:
            tell(line, done, len(chosen))
    return Board(tuple(found[cell.key] for cell in chosen), form, seed, __version__)


def _judge_all(waiting: list[Cell], form: str, seed: int, jobs: int) -> Iterator[tuple[Cell, Judged]]:
    if jobs == 1:
        for cell in waiting:
            yield cell, judge(cell, _repeats(cell, form), seed)
        return
    from joblib import Parallel, delayed

    # cells hold functions, so workers look them up by name
    by_key = {cell.key: cell for cell in waiting}
    calls = (delayed(_judge_by_key)(cell.method, cell.name, form, seed) for cell in waiting)
    for key, *numbers in Parallel(n_jobs=jobs, return_as="generator_unordered")(calls):
        yield by_key[key], Judged(by_key[key], *numbers)


def _judge_by_key(method: str, name: str, form: str, seed: int) -> tuple[str, *tuple[Any, ...]]:
    cell = next(cell for cell in cells(method) if cell.name == name)
    line = judge(cell, _repeats(cell, form), seed)
    return cell.key, line.repeats, line.error, line.holds, line.bound, line.seconds, line.rival


def _repeats(cell: Cell, form: str) -> int:
    return cell.long if form == "long" else cell.short


def code_of(cell: Cell) -> str:
    """A hash of the code that the line depends on."""
    return code_digest(module_of(cell.method), modules_of(cell.run, cell.rival))


def _path(folder: Path, cell: Cell, form: str, seed: int) -> Path:
    what = (cell.key, cell.design, cell.claim, cell.nominal, _repeats(cell, form), seed, code_of(cell))
    return folder / f"{hashlib.sha256(json.dumps(what).encode()).hexdigest()[:24]}.json"


def _load(folder: Path | None, cell: Cell, form: str, seed: int) -> Judged | None:
    if folder is None or not (path := _path(folder, cell, form, seed)).exists():
        return None
    return judged(cell, json.loads(path.read_text(encoding="utf-8")))


def _save(folder: Path | None, line: Judged, form: str, seed: int) -> None:
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(
        README.format(shows=", ".join(ONLY_SHOWS), libraries=", ".join(LIBRARIES)), encoding="utf-8"
    )
    target = _path(folder, line.cell, form, seed)
    partial = target.with_suffix(".part")
    partial.write_text(json.dumps(record(line, code_of(line.cell))), encoding="utf-8")
    partial.replace(target)
