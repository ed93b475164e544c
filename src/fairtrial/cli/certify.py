"""`fairtrial certify`."""

from __future__ import annotations

import typer

from fairtrial.cli import options as o

app = typer.Typer()


@app.command(help="Is it fair? Joint test, every group's disparity, and a verdict against a tolerance.")
def certify(
    data: o.Data,
    by: o.By,
    metric: o.MetricName,
    outcome: o.Outcome = None,
    decision: o.Decision = None,
    score: o.Score = None,
    threshold: o.Threshold = None,
    positive: o.Positive = None,
    bins: o.Bins = None,
    missing: o.Missing = "error",
    depth: o.Depth = 1,
    target: o.TargetText = "rest",
    tolerance: str | None = typer.Option(None, help="0.05, or two numbers low,high such as -0.02,0.05."),
    likelihood: str = typer.Option("empirical", help="empirical or euclidean."),
    target_method: str = typer.Option("profile", help="profile, orthogonal, scaled; plug-in (not valid)."),
    rule: str = typer.Option(
        "equivalence", help="equivalence, or paper (certifies whatever is not rejected)."
    ),
    minimum: int = typer.Option(30, help="Smaller groups are listed as not tested."),
    confidence_level: o.Level = 0.95,
    seed: o.Seed = 0,
    json: o.Json = None,
    csv: o.Csv = None,
    chart: o.Chart = None,
) -> None:
    from fairtrial.certify import certify as run
    from fairtrial.cli.flag import parse_tolerance

    audit = o.open_audit(
        data, by=by, outcome=outcome, decision=decision, score=score, threshold=threshold, positive=positive,
        bins=bins, missing=missing,
    )  # fmt: skip
    result = run(
        audit, metric, depth=depth, target=o.parse_target(target), tolerance=parse_tolerance("certify", tolerance),
        likelihood=likelihood, target_method=target_method, rule=rule, minimum=minimum,
        confidence_level=confidence_level, seed=seed,
    )  # fmt: skip
    o.emit(result, json=json, csv=csv, chart=chart)
