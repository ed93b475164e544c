"""Finished parts of a paper are kept, so that a run that was stopped goes on where it was.

A part is computed anew when its settings, the package or the papers' own code have changed.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import joblib

import fairtrial
from fairtrial.papers._reproduction import Asked

HERE = Path(__file__).resolve().parents[1]
FOLDER: Path | None = None  # where finished parts are kept; none are when a single table is asked for
ELSEWHERE = {"workers": 0.0, "kept": 0.0}  # processor seconds outside this process, and of parts kept before


@cache
def code() -> str:
    """A digest of everything that a number may depend on."""
    digest = hashlib.sha256()
    package = Path(fairtrial.__file__).parent
    for path in [*sorted(package.rglob("*.py")), *sorted(HERE.glob("printed/*.json"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def kept(part: str, settings: dict[str, Any], compute: Callable[[], Any]) -> Any:
    """What `compute` gives, as plain JSON; taken from the folder where it is there already."""
    if FOLDER is None:
        return json.loads(json.dumps(compute()))
    named = f"{code()}|{json.dumps(settings, sort_keys=True)}"
    path = FOLDER / f"{part}-{hashlib.sha256(named.encode()).hexdigest()[:16]}.json"
    if path.exists():
        found = json.loads(path.read_text(encoding="utf-8"))
        ELSEWHERE["kept"] += found["seconds"]
        return found["value"]
    start = seconds()
    value = compute()
    text = json.dumps({"seconds": seconds() - start, "value": value})
    FOLDER.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
    print(f"{part}: {seconds() - start:.0f} s", flush=True)
    return json.loads(text)["value"]


def start() -> None:
    """Begin to count the time of a page."""
    ELSEWHERE.update(workers=0.0, kept=0.0, before=-time.process_time())


def seconds() -> float:
    """Processor time of the page so far: this process, its workers, and the parts that were kept."""
    return time.process_time() + sum(ELSEWHERE.values())


def spent() -> str:
    """What a page says of its time."""
    return f"{seconds() / 60:.1f} minutes of processor time"


def _timed(function: Callable[..., Any], item: tuple[Any, ...]) -> tuple[Any, float]:
    start = time.process_time()
    return function(*item), time.process_time() - start


def each(function: Callable[..., Any], items: Iterable[tuple[Any, ...]], jobs: int = 2) -> list[Any]:
    """`function(*item)` for every item, on two processes."""
    tasks = [joblib.delayed(_timed)(function, item) for item in items]
    done = joblib.Parallel(n_jobs=min(jobs, max(len(tasks), 1)))(tasks)
    if len(tasks) > 1:  # a single one runs here
        ELSEWHERE["workers"] += sum(time_used for _, time_used in done)
    return [value for value, _ in done]


def template(name: str) -> str:
    """A page but for its numbers. What is said in it is no code: parts that are kept stay kept when it changes."""
    return (HERE / "pages" / f"{name}.md").read_text(encoding="utf-8")


def how(asked: Asked) -> str:
    """With which numbers of repeats a page was made."""
    share = "" if asked.share == 1 else f", {asked.share:g} of the repeats"
    return f"in full{share}" if asked.full else "quick form"
