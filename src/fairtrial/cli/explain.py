"""`fairtrial explain`."""

from __future__ import annotations

from typing import Annotated

import typer

from fairtrial.cli import options as o
from fairtrial.errors import InputError

app = typer.Typer(add_completion=False)

_ASK = "Question"
Model = Annotated[
    str, typer.Option(help="Classifier to fit: logistic, tree, forest or boosting.", rich_help_panel=_ASK)
]
Coalitions = Annotated[
    str,
    typer.Option(
        help="What leaving a feature out means: retrain (refit without it) or marginal (impute it).",
        rich_help_panel=_ASK,
    ),
]
Sensitive = Annotated[
    str | None,
    typer.Option(help="Does the model see --by? player, always or absent.", rich_help_panel=_ASK),
]
Allocation = Annotated[
    str, typer.Option(help="shapley, equal_surplus, solidarity, consensus or lsp.", rich_help_panel=_ASK)
]
Baseline = Annotated[str, typer.Option(help="random, prior or a number.", rich_help_panel=_ASK)]
Reference = Annotated[
    str | None, typer.Option(help="Group the others are compared with: sex=Female.", rich_help_panel=_ASK)
]
Test = Annotated[
    str | None,
    typer.Option(help="Share of rows evaluated (0.3), or a column of train/test.", rich_help_panel=_ASK),
]
Budget = Annotated[
    int | None,
    typer.Option(help="Coalitions to evaluate when there are many features.", rich_help_panel=_ASK),
]
Averaged = Annotated[
    str, typer.Option(help="With marginal: average decisions or probabilities.", rich_help_panel=_ASK)
]
Background = Annotated[int, typer.Option(help="With marginal: background rows.", rich_help_panel=_ASK)]


@app.command(
    help="Which features carry the disparity? Contributions with intervals, from refitted or imputed models."
)
def explain(
    data: o.Data,
    by: o.By,
    feature: o.Features,
    outcome: o.Outcome = None,
    decision: o.Decision = None,
    positive: o.Positive = None,
    bins: o.Bins = None,
    missing: o.Missing = "error",
    metric: o.MetricName = "tpr",
    model: Model = "logistic",
    coalitions: Coalitions = "retrain",
    sensitive: Sensitive = None,
    allocation: Allocation = "shapley",
    baseline: Baseline = "random",
    reference: Reference = None,
    test: Test = None,
    budget: Budget = None,
    averaged: Averaged = "decisions",
    background: Background = 100,
    confidence_level: o.Level = 0.95,
    seed: o.Seed = 0,
    jobs: o.Jobs = 1,
    json: o.Json = None,
    csv: o.Csv = None,
    chart: o.Chart = None,
) -> None:
    from fairtrial.methods.explain.method import explain as run

    audit = o.open_audit(
        data,
        by=by,
        features=feature,
        outcome=outcome,
        decision=decision,
        positive=positive,
        bins=bins,
        missing=missing,
    )
    base = _number(baseline)
    result = run(
        audit,
        metric,
        model=model,
        coalitions=coalitions,
        sensitive=sensitive,
        allocation=allocation,
        baseline="random" if base is None else base,
        reference=_group(reference),
        test=_number(test),
        budget=budget,
        averaged=averaged,
        background=background,
        confidence_level=confidence_level,
        seed=seed,
        jobs=jobs,
        progress=o.show_progress(),
    )
    o.emit(result, json=json, csv=csv, chart=chart)


def _number(text: str | None) -> str | float | None:
    """A number where the text is one."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _group(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    pairs = [part.split("=", 1) for part in text.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise InputError("--reference", f"must look like sex=Female, got {text!r}")
    return {name.strip(): value.strip() for name, value in pairs}
