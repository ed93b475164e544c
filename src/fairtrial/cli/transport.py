"""`fairtrial transport`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fairtrial.cli import options as o
from fairtrial.results.result import Result

app = typer.Typer(add_completion=False)
_ASK, _COST = "Question", "What a move costs"


@app.command(
    help="How little would have to change? The smallest move across the boundary that makes rates equal."
)
@o.asks()
def transport(
    audit: Any,
    criterion: Annotated[
        str, typer.Option(help="equal_opportunity, equalized_odds, … or a metric.", rich_help_panel=_ASK)
    ] = "statistical_parity",
    group: Annotated[
        list[str] | None,
        typer.Option(help="Compare only these levels of --by; repeat it.", rich_help_panel=_ASK),
    ] = None,
    strata: Annotated[
        list[str] | None, typer.Option(help="Compare within the strata of this column.", rich_help_panel=_ASK)
    ] = None,
    tolerance: Annotated[
        float, typer.Option(help="Rates may differ by this much, e.g. 0.05.", rich_help_panel=_ASK)
    ] = 0.0,
    direction: Annotated[
        str, typer.Option(help="differs, above or below the reference.", rich_help_panel=_ASK)
    ] = "differs",
    target: Annotated[
        str | None, typer.Option(help="Reference group: race=Caucasian.", rich_help_panel=_ASK)
    ] = None,
    calibration: Annotated[
        str, typer.Option(help="pooled, or paper (as published, does not hold).", rich_help_panel=_ASK)
    ] = "pooled",
    bandwidth: Annotated[
        float | None, typer.Option(help="Of the paper's calibration.", rich_help_panel=_ASK)
    ] = None,
    distance: Annotated[
        str | None, typer.Option(help="score, log-odds or a column of distances.", rich_help_panel=_COST)
    ] = None,
    linear: Annotated[
        str | None,
        typer.Option(
            help='JSON file of a linear rule: {"coefficients": {…}, "intercept": …}.', rich_help_panel=_COST
        ),
    ] = None,
    norm: Annotated[str, typer.Option(help="l1, l2 or linf.", rich_help_panel=_COST)] = "l2",
    units: Annotated[
        str | None, typer.Option(help="model or standard (deviations).", rich_help_panel=_COST)
    ] = None,
    immutable: Annotated[
        list[str] | None, typer.Option(help="Feature that may not move; repeat it.", rich_help_panel=_COST)
    ] = None,
    discrete: Annotated[
        list[str] | None, typer.Option(help="Feature that jumps at a fixed cost.", rich_help_panel=_COST)
    ] = None,
    step_cost: Annotated[
        float | None, typer.Option(help="What changing the discrete features costs.", rich_help_panel=_COST)
    ] = None,
    minimum: Annotated[int, typer.Option(help="Smaller groups are not compared.", rich_help_panel=_ASK)] = 30,
    confidence_level: o.Level = 0.95,
    seed: o.Seed = 0,
) -> Result:
    from fairtrial.errors import InputError
    from fairtrial.methods.transport.method import transport as run

    if linear is not None and distance is not None:
        raise InputError("transport", "'--linear' and '--distance' exclude each other")
    return run(
        audit, criterion, by=_groups(list(audit.groups), group), distance=_rule(linear) if linear else distance,
        tolerance=tolerance,
        direction=direction, target=o.parse_target(target) if target else None, strata=strata or None,
        calibration=calibration, bandwidth=bandwidth, norm=norm, units=units,  # type: ignore[arg-type]
        immutable=immutable or (), discrete=discrete or (), step_cost=step_cost, minimum=minimum,
        confidence_level=confidence_level, seed=seed,
    )  # fmt: skip


def _groups(by: list[str], levels: list[str] | None) -> list[Any]:
    """The attributes, or chosen levels of the one attribute."""
    from fairtrial.errors import InputError

    if not levels:
        return list(by)
    if len(by) != 1:
        raise InputError("transport", "'--group' chooses levels of one attribute: give --by once")
    return [{by[0]: level} for level in levels]


def _rule(path: str) -> Any:
    """A linear rule from a JSON file; plain data, nothing is executed."""
    import json as json_module
    from pathlib import Path

    from fairtrial.errors import InputError

    try:
        content = json_module.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError("transport", f"'--linear' {path!r} could not be read: {error}") from None
    if not isinstance(content, dict):
        raise InputError("transport", f"'--linear' {path!r} must hold a JSON object with 'coefficients'")
    return content
