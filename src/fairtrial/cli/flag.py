"""`fairtrial flag`."""

from __future__ import annotations

from typing import Any

import typer

from fairtrial.cli import options as o
from fairtrial.results.result import Result

app = typer.Typer(add_completion=False)


@app.command(
    help="Which known groups are harmed? One test per group and intersection, one correction over all."
)
@o.asks()
def flag(
    audit: Any,
    metric: o.MetricName,
    depth: o.Depth = 2,
    target: o.TargetText = "rest",
    tolerance: o.ToleranceText = None,
    direction: str | None = typer.Option(
        None, help="above, below, outside or differs; default: the side that harms."
    ),
    fdr: float = typer.Option(0.05, help="Expected share of wrong flags that is accepted."),
    correction: str = typer.Option("bh", help="bh, by (any dependence) or holm (no wrong flag at all)."),
    likelihood: o.Likelihood = "empirical",
    minimum: o.Minimum = 30,
    confidence_level: o.Level = 0.95,
) -> Result:
    from fairtrial.methods.flag.method import flag as run

    return run(
        audit, metric, depth=depth, target=o.parse_target(target), tolerance=o.parse_tolerance("flag", tolerance),
        direction=direction, fdr=fdr, correction=correction, likelihood=likelihood, minimum=minimum,
        confidence_level=confidence_level,
    )  # fmt: skip
