"""The tables of an audit.toml beside its questions: each key is a declared argument, of the Audit or of the file."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

from fairtrial import _options as options
from fairtrial._audit.audit import Audit
from fairtrial._audit.schema import split_groups
from fairtrial._method.arguments import MetricOrCriterion, Metrics, OneMetric
from fairtrial._metrics.values import Metric
from fairtrial._options import Argument, Option, arguments_of

Preset = Literal["general", "employment", "lending", "insurance", "risk-score", "healthcare", "public-sector"]
PRESETS: tuple[str, ...] = get_args(Preset)

SEED = Option("Same seed, same numbers.", least=0)
JOBS = Option("Parallel workers; numbers do not depend on it.", least=1, most=1024)
PARALLEL = Option(
    "Where long loops run: dask for a cluster of this machine's processes, or the address of a Dask scheduler."
)
PUBLISH = Option(
    "For strangers: small groups are joined, and what would tell of few people is left out as far as that is known."
)
ALPHA = Option("Chance of even one false finding in the whole trial.", above=0, below=0.5)
Correction = Literal["holm", "max-t"]
CORRECTION = Option("holm needs no assumption; max-t uses how tests of the same people depend on each other.")


@dataclass(frozen=True, slots=True)
class RowSource:
    """Where the rows are; a threshold may be the sample's own median."""

    source: Annotated[str | None, Option("CSV, Excel, Parquet, Arrow or JSON file, or a glob of them.")] = (
        None
    )
    dataset: Annotated[str | None, Option("A bundled dataset by name, such as compas.")] = None
    engine: Annotated[
        Literal["duckdb", "spark"],
        Option("What reads the rows: duckdb in this process, or spark in the session that is there."),
    ] = "duckdb"
    table: Annotated[
        str | None, Option("With engine spark: a table of its catalogue, such as prod.loans.")
    ] = None
    sql: Annotated[str | None, Option("With engine spark: a query whose answer is audited.")] = None
    threshold: Annotated[
        float | Literal["median"] | None,
        Option("Decision = score at or above it; median: above the sample's median."),
    ] = None


@dataclass(frozen=True, slots=True)
class Report:
    """What the page says around the numbers."""

    title: Annotated[str, Option("The heading of the page.")] = "Fairness audit"
    author: Annotated[str, Option("Who answers for the audit.")] = ""
    context: Annotated[str, Option("What the system does, for whom, and since when.")] = ""
    decision: Annotated[str, Option("What will be decided on the strength of the report.")] = ""
    suppress_below: Annotated[int, Option("Numbers about fewer people are masked.", least=0)] = 10


@dataclass(frozen=True, slots=True)
class Run:
    """How the numbers are made."""

    seed: Annotated[int, SEED] = 0
    jobs: Annotated[int, JOBS] = 1
    parallel: Annotated[str | None, PARALLEL] = None
    alpha: Annotated[float, ALPHA] = 0.05
    correction: Annotated[Correction, CORRECTION] = "holm"
    publish: Annotated[bool, PUBLISH] = False


@dataclass(frozen=True, slots=True)
class Wording:
    """What sentences call the people, what was decided of them, and the codes of their groups."""

    people: Annotated[str, Option("What the people are called, in the plural: applicants.")] = "people"
    decision: Annotated[str | None, Option("What decision 1 means, said of people: were denied.")] = None
    not_decision: Annotated[str | None, Option("What decision 0 means: were approved.")] = None
    outcome: Annotated[str | None, Option("What outcome 1 means, said of people: defaulted.")] = None
    not_outcome: Annotated[str | None, Option("What outcome 0 means: repaid.")] = None
    score: Annotated[str | None, Option("What the score is: estimated risk of default.")] = None
    rate: Annotated[str | None, Option("What the share of decision 1 is called: denial rate.")] = None
    groups: Annotated[
        Mapping[str, Any] | None,
        Option('What labels mean: sex = { 1 = "men", 2 = "women" }; a text alone says what yes or 1 means.'),
    ] = None


@dataclass(frozen=True, slots=True)
class Employment:
    """Settings of the employment preset."""

    smallest_category: Annotated[
        float, Option("Categories under this share of the people are left out of ratios.", least=0, below=0.5)
    ] = 0.02
    requisition: Annotated[
        str | None, Option("Column of the requisition: selections are compared within each, and pooled.")
    ] = None
    tool: Annotated[str, Option("The tool that was audited.")] = ""
    audit_date: Annotated[str, Option("When the audit was made.")] = ""
    distribution_date: Annotated[str, Option("Since when the tool is in use.")] = ""
    data_source: Annotated[str, Option("Where the data come from and what they are.")] = ""
    justification: Annotated[str, Option("Why small categories are left out of the ratios.")] = ""


@dataclass(frozen=True, slots=True)
class Lending:
    """Settings of the lending preset, and of insurance."""

    references: Annotated[
        Mapping[str, Any] | None,
        Option('The group that others are compared with: { sex = "Male" }; default: everyone else.'),
    ] = None
    within: Annotated[
        str | list[str] | None, Option("Columns people must be alike in: the gap is shown within them too.")
    ] = None
    price: Annotated[str | None, Option("Column of the price, such as an interest rate or a premium.")] = None
    price_unit: Annotated[
        Literal["percent", "fraction"], Option("Whether a price of 5% is written 5 or 0.05.")
    ] = "percent"
    denominator: Annotated[
        Literal["groups", "everyone", "target"], Option("Whose standard deviation differences are in.")
    ] = "groups"


@dataclass(frozen=True, slots=True)
class Bias:
    """The bias record of insurance, healthcare and public-sector."""

    records: Annotated[
        list[Any] | None,
        Option("Entries with group, hazard, measure, threshold, scale, target, mitigation and review."),
    ] = None


WHERE = ("source", "dataset", "engine", "table", "sql")  # keys that say where the rows are


@dataclass(frozen=True, slots=True)
class Data:
    """The rows of a spec and the roles of their columns, as far as they are written."""

    source: str | None = None
    dataset: str | None = None
    engine: str = "duckdb"
    table: str | None = None
    sql: str | None = None
    roles: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: dict[str, Any]) -> Data:
        """From the keys of the table."""
        own = {key: value for key, value in given.items() if key in WHERE}
        return cls(**own, roles={key: value for key, value in given.items() if key not in WHERE})

    @property
    def name(self) -> str | None:
        """The rows as a report names them."""
        return self.dataset or self.source or self.table or self.sql

    @property
    def groups(self) -> list[str]:
        """The attributes to compare."""
        named, _ = split_groups(self.roles.get("groups", []))
        return [named] if isinstance(named, str) else list(named)  # type: ignore[call-overload]


# table -> the function whose arguments are its keys
TABLES: dict[str, Callable[..., Any]] = {
    "report": Report,
    "run": Run,
    "words": Wording,
    "employment": Employment,
    "lending": Lending,
    "insurance": Lending,
    "bias": Bias,
}


def keys_of(table: type) -> dict[str, Argument]:
    """The keys of one of the file's own tables."""
    return {argument.name: argument for argument in arguments_of(table.__init__)}  # type: ignore[misc]


def role_keys() -> dict[str, Argument]:
    """The arguments of the Audit that say what the columns mean."""
    return {
        argument.name: argument
        for argument in arguments_of(Audit.__init__)
        if not (argument.required or argument.option.python_only)
    }


def data_keys() -> dict[str, Argument]:
    """The keys of [data]: where the rows are, and the arguments of the Audit."""
    return {**role_keys(), **keys_of(RowSource)}


def run_keys() -> dict[str, Argument]:
    """The keys of [run]: what is set once for the whole trial."""
    return keys_of(Run)


# -- What a declared argument is about: metrics, groups or columns. The declaration says it, never the name.
def admits_metrics(argument: Argument) -> bool:
    """Whether a metric may be its value, or part of it."""
    return _mentions(argument.hint, Metric)


def is_metric(argument: Argument) -> bool:
    """Whether it is declared as `OneMetric` or `Metrics`, and so takes nothing but metrics."""
    return argument.option in (typing.get_args(OneMetric)[1], typing.get_args(Metrics)[1])


def is_criterion(argument: Argument) -> bool:
    """Whether it is declared as `MetricOrCriterion`: a metric, or the name of a criterion that joins some."""
    return argument.option is typing.get_args(MetricOrCriterion)[1]


def admits_groups(argument: Argument) -> bool:
    """Whether a group such as {"race": "Caucasian"} may be its value, or part of it."""
    return argument.option.form in (options.group, options.compared, options.target)


def is_attributes(argument: Argument) -> bool:
    """Whether it lists attributes and groups to compare, in place of the audit's groups."""
    return argument.flag == role_keys()["groups"].flag


def is_target(argument: Argument) -> bool:
    """Whether it says what groups are compared with."""
    return argument.option.form is options.target


def _mentions(hint: object, wanted: type) -> bool:
    return hint is wanted or any(_mentions(part, wanted) for part in typing.get_args(hint))
