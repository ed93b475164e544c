"""`fairtrial improve`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fairtrial.cli import options as o
from fairtrial.errors import InputError
from fairtrial.results.result import Result

app = typer.Typer(add_completion=False)

_ASK, _RULES, _TEST = "Question", "Candidates and constraints", "Test"
_Groups = Annotated[
    list[str] | None,
    typer.Option("--group", help="Group to compare, race=Caucasian; repeat it.", rich_help_panel=_ASK),
]
_Accuracy = Annotated[str, typer.Option(help="Metric that must not get worse.", rich_help_panel=_ASK)]
_Fairness = Annotated[
    list[str], typer.Option(help="Metric whose gap must shrink; repeat it.", rich_help_panel=_ASK)
]
_Pooled = Annotated[bool, typer.Option(help="Accuracy of everybody together.", rich_help_panel=_ASK)]
_Scale = Annotated[str, typer.Option(help="ratio or difference.", rich_help_panel=_ASK)]
_Direction = Annotated[
    str, typer.Option(help="both; below or above: only such gaps to --target count.", rich_help_panel=_ASK)
]
_Target = Annotated[str | None, typer.Option(help="Reference group, race=Caucasian.", rich_help_panel=_ASK)]
_Delta = Annotated[
    str, typer.Option(help="Accuracy Δ per group and fairness Δ, joined by commas.", rich_help_panel=_ASK)
]
_Candidates = Annotated[
    list[str],
    typer.Option(
        "--candidate",
        help="portfolio, reductions, group-thresholds, F.5, F.6, P', or a column; repeat it.",
        rich_help_panel=_RULES,
    ),
]
_Elsewhere = Annotated[
    bool, typer.Option(help="Candidate columns were not fitted on these rows.", rich_help_panel=_RULES)
]
_Capacity = Annotated[
    str | None, typer.Option(help="Share selected, or 'status quo'.", rich_help_panel=_RULES)
]
_Blind = Annotated[bool, typer.Option(help="Rules may not know the group.", rich_help_panel=_RULES)]
_Banned = Annotated[list[str] | None, typer.Option(help="Feature rules may not use.", rich_help_panel=_RULES)]
_Monotone = Annotated[
    list[str] | None, typer.Option(help="Direction of a feature: income=1, debt=-1.", rich_help_panel=_RULES)
]
_Splits = Annotated[int, typer.Option(help="Number of random splits.", rich_help_panel=_TEST)]
_Share = Annotated[float, typer.Option(help="Share of rows to fit and choose on.", rich_help_panel=_TEST)]
_Method = Annotated[str, typer.Option(help="smooth, or paper (rejects too often).", rich_help_panel=_TEST)]
_Aggregate = Annotated[str, typer.Option(help="median, running-median or single.", rich_help_panel=_TEST)]
_Bootstrap = Annotated[int, typer.Option(help="Bootstrap draws per split.", rich_help_panel=_TEST)]


@app.command(help="Was there a fairer way, just as good? A test for a less discriminatory alternative.")
@o.asks("features", by_needed=False)
def improve(
    audit: Any,
    group: _Groups = None,
    accuracy: _Accuracy = "accuracy",
    fairness: _Fairness = ["selection_rate"],  # noqa: B006
    delta: _Delta = "0,0,0",
    pooled: _Pooled = False,
    scale: _Scale = "ratio",
    direction: _Direction = "both",
    target: _Target = None,
    candidate: _Candidates = ["portfolio"],  # noqa: B006
    fitted_elsewhere: _Elsewhere = False,
    capacity: _Capacity = None,
    blind: _Blind = True,
    banned: _Banned = None,
    monotone: _Monotone = None,
    splits: _Splits = 7,
    train_share: _Share = 0.5,
    method: _Method = "smooth",
    aggregate: _Aggregate = "median",
    bootstrap: _Bootstrap = 10_000,
    confidence_level: o.Level = 0.95,
    seed: o.Seed = 0,
    jobs: o.Jobs = 1,
) -> Result:
    from fairtrial.methods.improve.method import improve as run

    groups = [o.parse_target(text) for text in group] if group else None
    return run(
        audit, accuracy, fairness, by=groups, candidates=candidate, delta=_numbers("--delta", delta),
        splits=splits, train_share=train_share, capacity=_capacity(capacity), blind=blind, banned=banned or (),
        monotone=dict(_direction(text) for text in monotone or []), method=method, aggregate=aggregate,
        bootstrap=bootstrap, scale=scale, pooled=pooled, direction=direction,
        target=o.parse_target(target) if target else None, fitted_elsewhere=fitted_elsewhere,
        confidence_level=confidence_level, seed=seed, jobs=jobs, progress=o.show_progress(),
    )  # fmt: skip


def _numbers(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(option, f"must be numbers joined by commas, got {text!r}") from None


def _capacity(text: str | None) -> float | str | None:
    if text is None or text == "status quo":
        return text
    return _numbers("--capacity", text)[0]


def _direction(text: str) -> tuple[str, int]:
    name, _, sign = text.rpartition("=")
    if sign not in ("1", "+1", "-1") or not name:
        raise InputError("--monotone", f"must look like income=1 or debt=-1, got {text!r}")
    return name, int(sign)
