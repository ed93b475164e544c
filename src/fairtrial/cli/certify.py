"""`fairtrial certify`."""

from __future__ import annotations

from typing import Any

import typer

from fairtrial.cli import options as o
from fairtrial.results.result import Result

app = typer.Typer(add_completion=False)


@app.command(help="Is it fair? Joint test, every group's disparity, and a verdict against a tolerance.")
@o.asks()
def certify(
    audit: Any,
    metric: o.MetricName,
    depth: o.Depth = 1,
    target: o.TargetText = "rest",
    tolerance: o.ToleranceText = None,
    likelihood: o.Likelihood = "empirical",
    target_method: str = typer.Option("profile", help="profile, orthogonal, scaled; plug-in (not valid)."),
    rule: str = typer.Option(
        "equivalence", help="equivalence, or paper (certifies whatever is not rejected)."
    ),
    minimum: o.Minimum = 30,
    confidence_level: o.Level = 0.95,
    seed: o.Seed = 0,
) -> Result:
    from fairtrial.methods.certify.method import certify as run

    return run(
        audit, metric, depth=depth, target=o.parse_target(target), tolerance=o.parse_tolerance("certify", tolerance),
        likelihood=likelihood, target_method=target_method, rule=rule, minimum=minimum,
        confidence_level=confidence_level, seed=seed,
    )  # fmt: skip
