"""`fairtrial measure`."""

from __future__ import annotations

from typing import Any

import typer

from fairtrial.cli import options as o
from fairtrial.results.result import Result

app = typer.Typer(add_completion=False)


@app.command(help="What are the rates? Rates, differences and ratios with intervals that hold.")
@o.asks("weight", "unit")
def measure(
    audit: Any,
    metric: o.MetricNames = ["selection_rate"],  # noqa: B006
    depth: o.Depth = 1,
    target: o.TargetText = "rest",
    interval: str | None = typer.Option(
        None, help="wilson, likelihood, half-count, exact; t, empirical-likelihood."
    ),
    minimum: o.Minimum = 30,
    confidence_level: o.Level = 0.95,
) -> Result:
    from fairtrial.methods.measure.method import measure as run

    return run(
        audit, metric, depth=depth, target=o.parse_target(target), interval=interval, minimum=minimum,
        confidence_level=confidence_level,
    )  # fmt: skip
