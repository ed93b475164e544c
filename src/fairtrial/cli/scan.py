"""`fairtrial scan`."""

from __future__ import annotations

from typing import Any

import typer

from fairtrial.cli import options as o
from fairtrial.results.result import Result

app = typer.Typer(add_completion=False)

_SCAN = "Scan"


@app.command(
    help="Which unknown subgroups are harmed? Search all of them, with a p-value for the whole search."
)
@o.asks("features")
def scan(
    audit: Any,
    metric: o.MetricName = "fpr",
    protected: str | None = typer.Option(
        None,
        help="Protected class, e.g. race=African-American; without it every value is scanned.",
        rich_help_panel=_SCAN,
    ),
    reference: str | None = typer.Option(
        None, help="Compare with this group only: race=Caucasian.", rich_help_panel=_SCAN
    ),
    direction: str | None = typer.Option(
        None, help="above, below or both; default: what hurts.", rich_help_panel=_SCAN
    ),
    condition: str | None = typer.Option(
        None, help="0, 1 or any, instead of the metric's own.", rich_help_panel=_SCAN
    ),
    penalty: float = typer.Option(1.0, help="Cost of every listed value.", rich_help_panel=_SCAN),
    search: str = typer.Option("auto", help="auto, exact or restarts.", rich_help_panel=_SCAN),
    null: str = typer.Option(
        "stratified", help="stratified, bootstrap, propensity, global or none.", rich_help_panel=_SCAN
    ),
    permutations: int | None = typer.Option(
        None,
        help="Draws; default 999, or enough for the correction when every value is scanned.",
        rich_help_panel=_SCAN,
    ),
    top: int = typer.Option(5, help="How many subgroups to list.", rich_help_panel=_SCAN),
    ridge: float = typer.Option(0.01, help="Ridge of the logistic models.", rich_help_panel=_SCAN),
    sigma: str = typer.Option(
        "estimated", help="estimated or a number, for mean scores.", rich_help_panel=_SCAN
    ),
    expectation: str = typer.Option("logistic", help="logistic or doubly-robust.", rich_help_panel=_SCAN),
    unsupported: str = typer.Option(
        "flag", help="People without a counterpart: flag or drop.", rich_help_panel=_SCAN
    ),
    scores: str = typer.Option(
        "exact", help="exact, or bins (see --bins) for many rows.", rich_help_panel=_SCAN
    ),
    probability: str = typer.Option(
        "score", help="score, or outcome-rate when the score is no probability.", rich_help_panel=_SCAN
    ),
    confidence_level: o.Level = 0.95,
    seed: o.Seed = 0,
    jobs: o.Jobs = 1,
) -> Result:
    from fairtrial.methods.scan.method import scan as run
    from fairtrial.methods.scan.method import scan_all as run_all

    options: dict[str, Any] = {
        "direction": direction,
        "condition": int(condition) if condition in ("0", "1") else condition,
        "penalty": penalty,
        "search": search,
        "null": None if null == "none" else null,
        "top": top,
        "ridge": ridge,
        "sigma": _number(sigma),
        "expectation": expectation,
        "unsupported": unsupported,
        "scores": scores,
        "probability": probability,
        "confidence_level": confidence_level,
        "seed": seed,
        "jobs": jobs,
        "progress": o.show_progress(),
    }
    if protected is None:
        return run_all(audit, metric, permutations=permutations or "enough", **options)
    group = _group(protected)
    others = [name for name in audit.groups if name not in group]
    return run(
        audit, metric, protected=group, reference=None if reference is None else _group(reference),
        features=[*dict.fromkeys([*others, *audit.features])], permutations=permutations or 999, **options,
    )  # fmt: skip


def _group(text: str) -> Any:
    """`race=African-American` or `race=A,sex=F`; `race=A|B` admits two values."""
    from fairtrial.errors import InputError

    parts = [part.partition("=") for part in text.split(",")]
    if not all(name and equals and values for name, equals, values in parts):
        raise InputError("scan", f"a group must look like race=African-American, got {text!r}")
    return {name: values.split("|") for name, _, values in parts}


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
