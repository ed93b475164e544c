"""What an audit.toml may hold, as pydantic models; section arguments are the methods' own (see "
"sections.py)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

PRESETS = ("employment", "lending", "risk-score", "healthcare")


class _Table(BaseModel):
    """A TOML table: unknown keys are faults, and texts are not taken for numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _columns(value: Any) -> list[str]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(name, str) and name for name in listed):
        raise ValueError(f'must be a column or a list of columns, such as ["sex", "race"], got {value!r}')
    doubles = sorted({name for name in listed if listed.count(name) > 1})
    if doubles:
        raise ValueError(f"names {doubles[0]!r} twice")
    return listed


def _sources(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"must be a path or a glob of CSV or Parquet files, got {value!r}")
    if "://" in value:
        raise ValueError(f"must be a file of this machine, got the address {value!r}: download it first")
    return value


def _not_empty(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty: leave the line out instead")
    return value


def _threshold(value: Any) -> Any:
    if value == "median" or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    raise ValueError(f'must be a number (decision = score at or above it) or "median", got {value!r}')


Text = Annotated[str, AfterValidator(_not_empty)]
Columns = Annotated[list[str], BeforeValidator(_columns)]


class Data(_Table):
    """Where the rows are and which column plays which part."""

    source: Annotated[str | None, BeforeValidator(_sources)] = None
    dataset: str | None = None
    outcome: Text | None = None
    decision: Text | None = None
    score: Text | None = None
    threshold: Annotated[Any, BeforeValidator(_threshold)] = None
    groups: Columns = Field(default_factory=list)
    features: Columns = Field(default_factory=list)
    positive: Any = None
    bins: Any = None
    missing: Any = "error"
    weight: Text | None = None
    unit: Text | None = None


class Report(_Table):
    """What the page says around the numbers."""

    title: Text = "Fairness audit"
    author: str = ""
    context: str = ""
    decision: str = ""
    suppress_below: Annotated[int, Field(ge=0)] = 10


class Run(_Table):
    """How the numbers are made."""

    seed: Annotated[int, Field(ge=0)] = 0
    jobs: Annotated[int, Field(ge=1)] = 1
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05


class Employment(_Table):
    """Settings of the employment preset."""

    smallest_category: Annotated[float, Field(ge=0, lt=0.5)] = 0.02


class Frame(_Table):
    """The tables every spec may hold, apart from the sections that ask the questions."""

    preset: Literal["employment", "lending", "risk-score", "healthcare"] | None = None
    data: Data
    metrics: dict[str, dict[str, Any]] = Field(default_factory=dict)
    groups: dict[str, dict[str, Any]] = Field(default_factory=dict)
    report: Report = Field(default_factory=Report)
    run: Run = Field(default_factory=Run)
    employment: Employment = Field(default_factory=Employment)
