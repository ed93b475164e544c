"""watch: replaying many streams from the beginning, and one weekly update of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np

from harness import Row, alone, interleaved, limit

STREAMS = 1000


def run(quick: bool) -> list[Row]:
    periods = 100 if quick else 1000
    monitor, batches = watched(20)
    update, limits = weekly_update(monitor, batches[-1])
    times = interleaved({"replay": replay(periods), "update": update, "limits": limits}, repeats=3)
    return [
        limit(
            f"replay {STREAMS:,} streams × {periods:,} periods", times["replay"], 5.0 * periods / 1000,
            note="both claims of every stream, 100 and 100 rows a period",
        ),
        limit(
            f"one weekly update of {STREAMS:,} groups, counts to verdicts", times["update"] + times["limits"], 0.05,
            note="all e-values, all limits and the look that is kept",
        ),
        alone(
            f"limits of ratios of {STREAMS:,} groups", interleaved({"ratio": ratio_limits()}, repeats=1)["ratio"],
            most=10.0,
        ),
    ]  # fmt: skip


def rule(ratio: bool = False) -> Any:
    from inside.inference import Rule

    low, high = (0.8, 1.25) if ratio else (-0.05, 0.05)
    return Rule(low, high, ratio, math.nan, False, True, 1, 2, -math.log(0.05))


def replay(periods: int, ratio: bool = False) -> Callable[[], Any]:
    """All periods of all streams, one after the other."""
    from inside.inference import advance, new_streams

    random = np.random.default_rng(0)
    ones = random.binomial(100, 0.3, (periods, STREAMS, 2)).astype(float)
    size = np.full((STREAMS, 2), 100.0)

    def call() -> Any:
        streams = new_streams(STREAMS)
        for period in range(periods):
            cells = np.stack([size, ones[period], ones[period]], axis=2)
            advance(streams, cells, period, rule(ratio), np.zeros((0, 2)), 500.0)
        return streams

    return call


def ratio_limits() -> Callable[[], Any]:
    from inside.inference import interval

    streams = replay(20, ratio=True)()
    return lambda: interval(streams, rule(ratio=True), math.log(40.0))


def watched(periods: int) -> tuple[Any, list[dict[str, Any]]]:
    """A watch of many groups against a common rest, as its state's lines give it."""
    from inside.metrics import Target
    from inside.watch import Monitor, WatchRequest

    asked = WatchRequest(
        metric={}, label="rate", roles={}, attributes=("group",), groups=(), depth=1, target=Target("rest"),
        scale="difference", band=(-0.05, 0.05), direction="differs", period="week", bounds=None, waiting=0, window=None,
        reference=None, run_length=500, block=1, repeated="once", confidence_level=0.95, binary=True,
    )  # fmt: skip
    random = np.random.default_rng(1)
    batches = []
    for week in range(periods + 1):
        ones = random.binomial(100, 0.3, STREAMS).tolist()
        cells = [[[f"group {place:04d}"], 100, k, k] for place, k in enumerate(ones)]
        batches.append(
            {"digest": f"{week}", "periods": [{"label": f"{week}", "parts": [cells]}], "people": []}
        )
    monitor = Monitor(asked)
    for batch in batches[:-1]:
        monitor.apply(batch)
    return monitor, batches


def weekly_update(monitor: Any, batch: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The newest week taken in, and what is then said of every group; copying is not part of it."""
    from inside.inference import log_certificate

    copies = [deepcopy(monitor) for _ in range(8)]

    def update() -> Any:
        copies.pop().apply(batch)

    def limits() -> Any:
        return monitor.looks(monitor.streams, slice(None)), log_certificate(monitor.streams, monitor.rule)

    return update, limits
