"""`fairtrial flag`."""

from __future__ import annotations

import typer

from fairtrial.cli import options as o
from fairtrial.errors import InputError

app = typer.Typer()


@app.command(
    help="Which known groups are harmed? One test per group and intersection, one correction over all."
)
def flag(
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
    depth: o.Depth = 2,
    target: o.TargetText = "rest",
    tolerance: str | None = typer.Option(None, help="0.05, or two numbers low,high such as -0.02,0.05."),
    direction: str | None = typer.Option(
        None, help="above, below, outside or differs; default: the side that harms."
    ),
    fdr: float = typer.Option(0.05, help="Expected share of wrong flags that is accepted."),
    correction: str = typer.Option("bh", help="bh, by (any dependence) or holm (no wrong flag at all)."),
    likelihood: str = typer.Option("empirical", help="empirical or euclidean."),
    minimum: int = typer.Option(30, help="Smaller groups are listed as not tested."),
    confidence_level: o.Level = 0.95,
    json: o.Json = None,
    csv: o.Csv = None,
    chart: o.Chart = None,
) -> None:
    from fairtrial.flag import flag as run

    audit = o.open_audit(
        data, by=by, outcome=outcome, decision=decision, score=score, threshold=threshold, positive=positive,
        bins=bins, missing=missing,
    )  # fmt: skip
    result = run(
        audit, metric, depth=depth, target=o.parse_target(target), tolerance=parse_tolerance("flag", tolerance),
        direction=direction, fdr=fdr, correction=correction, likelihood=likelihood, minimum=minimum,
        confidence_level=confidence_level,
    )  # fmt: skip
    o.emit(result, json=json, csv=csv, chart=chart)


def parse_tolerance(who: str, text: str | None) -> float | list[float] | None:
    """`0.05`, or `low,high`."""
    if text is None:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(who, f"'tolerance' must be a number or low,high, got {text!r}") from None
    return numbers[0] if len(numbers) == 1 else numbers
