"""office: a file of a German Excel (Windows-1252, semicolons, decimal commas), beside the same rows as plain CSV."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from harness import Row, in_subprocess, limit

# Time is of the processor, and memory the most of a whole process: neither depends on what else runs.
WORK = """
import sys, time

def prepare():
    import fairtrial
    fairtrial.Audit, fairtrial.measure

def work():
    import fairtrial
    begun = time.process_time()
    names = sys.argv[2].split("|")
    audit = fairtrial.Audit(sys.argv[1], decision=names[0], score=names[1], groups=names[2])
    found = fairtrial.measure(audit, ["selection_rate", "mean_score"])
    return [time.process_time() - begun, [row["rate"] for row in found.estimates]]
"""
NAMES = ("Eingestellt", "Wert", "Größe")
LABELS = np.array(["Müller", "Groß", "klein", "Ähre"])
DRAWN = 100_000  # rows; the file repeats them
TIMES, MORE = 2.0, 1.25  # the most time, and the most memory, of the plain file's


def run(quick: bool) -> list[Row]:
    """The peer is the plain file; the limits are twice its time and its memory with a quarter for noise."""
    megabytes = 20 if quick else 200
    with tempfile.TemporaryDirectory() as folder:
        plain, office = written(Path(folder), megabytes)
        told = {path.name: in_subprocess(WORK, str(path), "|".join(NAMES)) for path in (plain, office)}
    (plain_seconds, rates), (seconds, same) = (told[name]["result"] for name in (plain.name, office.name))
    if rates != same:
        raise AssertionError("the two files must give the same rates")
    peaks = [told[path.name]["peak_mb"] for path in (plain, office)]
    name = f"{megabytes} MB of Windows-1252 with ; and decimal commas"
    return [
        limit(
            f"{name}: processor time",
            seconds,
            TIMES * plain_seconds,
            note=f"plain CSV: {plain_seconds:.1f} s",
        ),
        limit(
            f"{name}: peak memory", peaks[1], MORE * peaks[0], unit="MB", note=f"plain CSV: {peaks[0]:.0f} MB"
        ),
    ]


def written(folder: Path, megabytes: int) -> tuple[Path, Path]:
    """The same rows twice, until the office file has its size."""
    draw = np.random.default_rng(1)
    label, hired = LABELS[draw.integers(4, size=DRAWN)], draw.integers(2, size=DRAWN)
    value, other = draw.uniform(0, 1, DRAWN).round(4), draw.uniform(-50, 50, DRAWN).round(2)
    lines = [
        f"{who};{yes};{amount};{more}"
        for who, yes, amount, more in zip(label, hired, value, other, strict=True)
    ]
    texts = {
        "plain.csv": ("\r\n".join(lines).replace(";", ","), "utf-8", ","),
        "office.csv": ("\r\n".join(lines).replace(".", ","), "cp1252", ";"),
    }
    times = megabytes * 1_000_000 // len(texts["office.csv"][0].encode("cp1252"))
    for name, (text, encoding, delimiter) in texts.items():
        header = delimiter.join(("Größe", "Eingestellt", "Wert", "Anderes")) + "\r\n"
        with open(folder / name, "wb") as file:
            file.write(header.encode(encoding))
            for _ in range(times):
                file.write((text + "\r\n").encode(encoding))
        os.sync()
    return folder / "plain.csv", folder / "office.csv"
