"""`fairtrial measure`."""

from __future__ import annotations

import typer

from fairtrial.cli import options as o

app = typer.Typer()


@app.command(help="What are the rates? Rates, differences and ratios with intervals that hold.")
def measure(
    data: o.Data,
    by: o.By,
    outcome: o.Outcome = None,
    decision: o.Decision = None,
    score: o.Score = None,
    threshold: o.Threshold = None,
    positive: o.Positive = None,
    bins: o.Bins = None,
    missing: o.Missing = "error",
    weight: o.Weight = None,
    unit: o.Unit = None,
    metric: o.MetricNames = ["selection_rate"],  # noqa: B006
    depth: o.Depth = 1,
    target: o.TargetText = "rest",
    interval: str | None = typer.Option(
        None, help="wilson, likelihood, half-count, exact; t, empirical-likelihood."
    ),
    minimum: int = typer.Option(30, help="Smaller groups are listed as not tested."),
    confidence_level: o.Level = 0.95,
    json: o.Json = None,
    csv: o.Csv = None,
    chart: o.Chart = None,
) -> None:
    from fairtrial.measure import measure as run

    audit = o.open_audit(
        data, by=by, outcome=outcome, decision=decision, score=score, threshold=threshold, positive=positive, bins=bins,
        missing=missing, weight=weight, unit=unit,
    )  # fmt: skip
    result = run(
        audit, metric, depth=depth, target=o.parse_target(target), interval=interval, minimum=minimum,
        confidence_level=confidence_level,
    )  # fmt: skip
    o.emit(result, json=json, csv=csv, chart=chart)
