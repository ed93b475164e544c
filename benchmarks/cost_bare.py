"""Seconds of the processor of one bare grouping query: python cost_bare.py FILE KEYS MOMENTS REPEATS."""

from __future__ import annotations

import json
import sys
from typing import Any

from cost_work import MOMENTS, bare, timed


def measured(path: str, keys: tuple[str, ...], moments: bool, repeats: int) -> dict[str, Any]:
    values = MOMENTS.format("amount", 3000) if moments else ""
    lines = bare(path, keys, values)
    best = min(timed(lambda: bare(path, keys, values))[0] for _ in range(repeats))
    return {"keys": keys, "moments": moments, "cells": lines, "seconds": best}


if __name__ == "__main__":
    file, names, with_moments, times = sys.argv[1:]
    print(json.dumps(measured(file, tuple(names.split(",")), with_moments == "1", int(times))))
