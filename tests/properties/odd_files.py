"""Random data files, specs and results: damaged, hostile, or merely odd."""

from __future__ import annotations

import copy
import json
import warnings
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import fairtrial
from inside.trial import guess, load_results, load_spec, profile_file
from inside.trial import writing_render as render
from properties.random_tables import Generator
from properties.tally import Tally

ODD_BYTES = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r",
    b'"',
    b'""',
    b",",
    b"\n\n",
    b";",
    b"\t",
    b"\xe9",
    b"1e400",
    b"-0",
)


def fuzz_files(seed: int, count: int, folder: Path) -> Tally:
    """CSV files with odd bytes in them, looked at as `init` does and measured."""
    tally = Tally()
    for index in range(count):
        generator = np.random.default_rng([seed, 1, index])
        path = folder / "people.csv"
        odd = bool(generator.random() < 0.6)
        rows = _write_file(path, generator, odd)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fairtrial.FairtrialWarning)
            action = partial(_look_and_measure, path, None if odd else rows, tally)
            tally.attempt(f"seed {seed}, file {index}", action)
    return tally


def _write_file(path: Path, generator: Generator, odd: bool) -> list[tuple[str, int]]:
    size = int(generator.integers(40, 300))
    rows = [
        (str(generator.choice(["A", "B"])), int(generator.random() < 0.4), int(generator.random() < 0.5))
        for _ in range(size)
    ]
    content = b"group,hired,good\n" + b"".join(f"{g},{d},{y}\n".encode() for g, d, y in rows)
    for _ in range(int(generator.integers(1, 4)) if odd else 0):
        place = int(generator.integers(0, len(content)))
        kind = generator.integers(4)
        if kind == 0:
            content = content[:place] + ODD_BYTES[generator.integers(len(ODD_BYTES))] + content[place:]
        elif kind == 1:
            content = content[:place]
        elif kind == 2:
            content = content[:place] + content[place + int(generator.integers(1, 40)) :]
        else:
            content = b"\n" * int(generator.integers(0, 3)) + content
    path.write_bytes(content)
    return [(g, d) for g, d, _ in rows]


def _look_and_measure(path: Path, rows: list[tuple[str, int]] | None, tally: Tally) -> list[str]:
    guess(profile_file(str(path)), None)
    audit = fairtrial.Audit(str(path), decision="hired", outcome="good", groups=["group"])
    result = fairtrial.measure(audit, "selection_rate", minimum=1)
    if rows is None:
        return []
    found = []
    for row in result.estimates:
        label = str(row["group"]).removeprefix("group: ")
        decided = [d for g, d in rows if g == label]
        tally.numbers += 1
        if row["n"] != len(decided) or abs(row["rate"] - sum(decided) / len(decided)) > 1e-12:
            found.append(f"{label}: {row['n']}, {row['rate']}; the file has {len(decided)}, {sum(decided)}")
    return found


SPEC = """preset = "risk-score"
[data]
dataset = "compas"
outcome = "two_year_recid"
score = "decile_score"
threshold = 5
groups = ["race", "sex"]
[metrics.late]
value = "decile_score"
[certify]
metric = "fpr"
tolerance = 0.05
[[flag]]
metric = "fpr"
depth = 2
[run]
seed = 3
"""
PIECES = (
    "[", "]", "=", '"', "[[", "nan", "inf", "-1", "1e308", "[]", "{}", "true", "\n", "a.b.c = 1\n", "[x]\n",
    "[certify]\n", 'metric = "nonsense"\n', "tolerance = nan\n", "seed = -1\n", "\x00", "\u2028", "1979-05-27",
)  # fmt: skip


def fuzz_specs(seed: int, count: int, folder: Path) -> Tally:
    """Specs with pieces added, removed and exchanged."""
    tally = Tally()
    path = folder / "audit.toml"
    for index in range(count):
        generator = np.random.default_rng([seed, 2, index])
        text = SPEC
        for _ in range(int(generator.integers(0, 4))):
            place = int(generator.integers(0, len(text)))
            cut = int(generator.integers(0, 12)) if generator.random() < 0.5 else 0
            piece = PIECES[generator.integers(len(PIECES))] if generator.random() < 0.7 else ""
            text = text[:place] + piece + text[place + cut :]
        path.write_text(text, encoding="utf-8")
        tally.attempt(f"seed {seed}, spec {index}", lambda: [] if load_spec(path) else ["nothing was read"])
    return tally


@cache
def _results() -> str:
    trial = fairtrial.run(
        {
            "data": {"dataset": "ricci", "decision": "passed", "groups": ["race"]},
            "measure": {"metric": "selection_rate"},
            "certify": {"metric": "selection_rate", "tolerance": 0.05},
        }
    )
    return json.dumps(trial.to_dict())


def fuzz_results(seed: int, count: int, folder: Path) -> Tally:
    """Results with values exchanged, keys lost and bytes damaged, rendered as `fairtrial report` does."""
    tally = Tally()
    path = folder / "results.json"
    for index in range(count):
        generator = np.random.default_rng([seed, 3, index])
        content = json.loads(_results())
        for _ in range(int(generator.integers(0, 3))):
            _exchange(content, generator)
        text = json.dumps(content)
        if generator.random() < 0.2:
            place = int(generator.integers(0, len(text)))
            text = text[:place] + str(generator.choice(["", "x", "[" * 5000, '"'])) + text[place + 3 :]
        path.write_text(text, encoding="utf-8")
        tally.attempt(f"seed {seed}, results {index}", partial(_render, path))
    return tally


def _render(path: Path) -> list[str]:
    page = render(load_results(path))
    return [] if "</html>" in page else ["no page"]


ODD_VALUES: tuple[Any, ...] = (
    None,
    -1,
    1e308,
    10**400,
    "",
    "x" * 5000,
    [],
    {},
    True,
    "<script>alert(1)</script>",
    0,
)


def _exchange(content: Any, generator: Generator) -> None:
    """Walk to a random place and put something odd there, or take it away."""
    node, act = content, _replace
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = keys[int(generator.integers(len(keys)))]
        inner = node[key]
        if not isinstance(inner, dict | list) or not inner or generator.random() < 0.15:
            act(node, key, generator)
            return
        node = inner


def _replace(node: Any, key: Any, generator: Generator) -> None:
    if generator.random() < 0.2:
        del node[key]
    else:
        node[key] = copy.deepcopy(ODD_VALUES[int(generator.integers(len(ODD_VALUES)))])
