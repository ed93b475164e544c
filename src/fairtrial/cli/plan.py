"""`fairtrial plan`."""

from __future__ import annotations

import typer

from fairtrial.cli import options as o

app = typer.Typer(add_completion=False)


@app.command(help="How many people are needed to certify a tolerance or to detect a disparity?")
def plan(
    metric: o.MetricName,
    rate: float | None = typer.Option(None, help="The target's assumed rate (binary metrics)."),
    deviation: float | None = typer.Option(None, help="Assumed standard deviation (real-valued metrics)."),
    tolerance: str | None = typer.Option(None, help="To certify: 0.05, or low,high."),
    disparity: float | None = typer.Option(None, help="To detect: this disparity."),
    target_known: bool = typer.Option(False, help="The target is a known number."),
    target_ratio: float = typer.Option(1.0, help="Members of the target per member of the group."),
    groups: int = typer.Option(1, help="How many groups will be tested."),
    power: float = typer.Option(0.8, help="Chance of success."),
    confidence_level: o.Level = 0.95,
    json: o.Json = None,
    csv: o.Csv = None,
    chart: o.Chart = None,
) -> None:
    from fairtrial.methods.plan.method import plan as run

    result = run(
        metric, rate=rate, deviation=deviation, tolerance=o.parse_tolerance("plan", tolerance), disparity=disparity,
        target_known=target_known, target_ratio=target_ratio, groups=groups, power=power,
        confidence_level=confidence_level,
    )  # fmt: skip
    o.emit(result, json=json, csv=csv, chart=chart)
