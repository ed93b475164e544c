"""What do the tables of the field show? The numbers that a law or a practice asks for, each as one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from json import JSONDecodeError, loads
from typing import Annotated, Any, Literal

from fairtrial._audit.audit import Audit
from fairtrial._compare.results import TabulateResult
from fairtrial._method import arguments as a
from fairtrial._method.declaration import method
from fairtrial._options import Option


def entry(text: str) -> Any:
    """One entry of a record, typed as JSON.

    >>> entry('{"group": {"race": "Black"}, "threshold": 0.05}')["threshold"]
    0.05
    """
    try:
        return loads(text)
    except JSONDecodeError:
        raise ValueError('{"group": {"race": "Black"}, "hazard": "…", "threshold": 0.05}') from None


def statement(text: str) -> tuple[str, str]:
    """One statement, typed as its name and its text.

    >>> statement("tool=Screener 2")
    ('tool', 'Screener 2')
    """
    name, _, said = text.partition("=")
    if not said:
        raise ValueError("tool=Screener 2")
    return name, said


Which = Annotated[
    Literal[
        "local-law-144",
        "adverse-impact",
        "credit-decisions",
        "score-and-price",
        "score-quantiles",
        "pay",
        "bias-record",
    ],
    Option("The table, by the name of the law or practice that asks for it."),
]
Smallest = Annotated[
    float,
    Option(
        "Categories under this share of the people have no impact ratio (local-law-144).", least=0, below=0.5
    ),
]
About = Annotated[
    Mapping[str, Any] | None,
    Option(
        "What the law asks to be stated beside the numbers (local-law-144): tool, audit_date, distribution_date, "
        "data_source, and the justification where small categories are left out; tool=Screener 2 on the command line.",
        form=statement,
        many=True,
        must="a table of tool, audit_date, distribution_date, data_source and justification",
    ),
]
Price = Annotated[str | None, Option("Column of a price, such as an interest rate (score-and-price).")]
PriceUnit = Annotated[
    Literal["percent", "fraction"],
    Option("Whether a price of 5% is written 5 or 0.05, for basis points (score-and-price)."),
]
Denominator = Annotated[
    Literal["groups", "everyone", "target"],
    Option("Whose standard deviation a standardized difference is in (score-and-price)."),
]
Quantiles = Annotated[int, Option("Into how many parts scores are cut (score-quantiles).", least=2, most=100)]
Records = Annotated[
    Sequence[Mapping[str, Any]] | None,
    Option(
        "Entries with group, hazard, measure, threshold, scale, target, mitigation and review, on the command line as "
        "JSON (bias-record); default: one per group.",
        form=entry,
        many=True,
        flag="record",
    ),
]


@method(
    question="What do the tables of the field show?",
    short="Field table",
    help="What do the tables of the field show? Local Law 144, adverse impact, credit and more.",
    order=15,
    shows="disparity",
    result=TabulateResult,
    not_published="a law's table shows the counts that the law asks for, of the groups that it names: publishing it is "
    "its owner's choice",
    variant_of="measure",
    complete_rows=False,
    evidence=("weight", "unit", "pair"),  # of a bias record; the tables that count people refuse them
)
def tabulate(
    audit: Audit,
    table: Which,
    *,
    by: a.By = None,
    depth: a.Depth = 2,
    target: a.AnyTarget = "rest",
    within: a.Within = None,
    smallest: Smallest = 0.02,
    about: About = None,
    price: Price = None,
    price_unit: PriceUnit = "percent",
    denominator: Denominator = "groups",
    quantiles: Quantiles = 10,
    records: Records = None,
    confidence_level: a.Level = 0.95,
) -> TabulateResult:
    """Tabulate the numbers that a law or a field's practice asks for.

    Parameters
    ----------
    table : str
        The table, by the name of the law or practice that asks for it. One of 'local-law-144',
        'adverse-impact', 'credit-decisions', 'score-and-price', 'score-quantiles', 'pay', 'bias-record'.
    by : str or dict or list or None, default None
        Attributes whose groups are compared, or groups such as race=Caucasian; default: the audit's
        groups.
    depth : int, default 2
        Intersections of up to this many attributes.
    target : str or float or dict, default 'rest'
        What each group is compared with: rest, overall, a number, or a reference group such as
        race=Caucasian.
    within : str or list or None, default None
        Columns people must be alike in, such as job and grade: gaps are compared within them.
    smallest : float, default 0.02
        Categories under this share of the people have no impact ratio (local-law-144).
    about : dict or None, default None
        What the law asks to be stated beside the numbers (local-law-144): tool, audit_date,
        distribution_date, data_source, and the justification where small categories are left out;
        tool=Screener 2 on the command line.
    price : str or None, default None
        Column of a price, such as an interest rate (score-and-price).
    price_unit : {'percent', 'fraction'}, default 'percent'
        Whether a price of 5% is written 5 or 0.05, for basis points (score-and-price).
    denominator : {'groups', 'everyone', 'target'}, default 'groups'
        Whose standard deviation a standardized difference is in (score-and-price).
    quantiles : int, default 10
        Into how many parts scores are cut (score-quantiles).
    records : list or None, default None
        Entries with group, hazard, measure, threshold, scale, target, mitigation and review, on the
        command line as JSON (bias-record); default: one per group.
    confidence_level : float, default 0.95
        Of the intervals.

    Returns
    -------
    TabulateResult
        One row per group with the table's numbers, and what the field asks to be stated beside them.

    Examples
    --------
    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("ricci"), decision="passed", groups=["race"])
    >>> result = fairtrial.tabulate(audit, "adverse-impact", target={"race": "W"})
    >>> print(result.verdict.text)
    2 of 2 groups shown to differ from W (exact test at 5%, corrected over the table)
    """
    from fairtrial._compare.request import Request
    from fairtrial._compare.tables import answer, refuse_others

    own = {
        "smallest": smallest, "about": about, "price": price, "price_unit": price_unit, "denominator": denominator,
        "quantiles": quantiles, "records": records,
    }  # fmt: skip
    refuse_others(table, {**own, "target": target, "within": within})
    request = Request(
        who="tabulate", audit=audit, by=by, depth=depth, target=target, within=within, level=confidence_level,
        options=own,
    )  # fmt: skip
    return answer(table, request)
