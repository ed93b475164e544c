"""What the tables of the field share: what was asked, who is in which group, and the favourable decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._audit.groups import compared_groups
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.request import Request
from fairtrial._compare.strata import adjusted_cells
from fairtrial._compare.words import LISTED
from fairtrial._errors import Fault, NotApplicable, Set, Words
from fairtrial._labels import MISSING
from fairtrial._metrics.groups import Group
from fairtrial._metrics.table import METRICS
from fairtrial._metrics.values import Metric, role
from fairtrial._results.text import counted

WHO = "tabulate"
MOST_NAMED = 3
NOT_STATED = "not stated"
REFUSED = ("weight", "unit", "pair")  # the tables count people
WHY_REFUSED = "the table counts people, each once"


@dataclass(frozen=True, slots=True, eq=False)
class BuiltTable:
    """The lines of a table, where each of them belongs, what is stated beside them, and a sentence about them."""

    rows: list[dict[str, Any]]
    places: list[list[list[str]]]
    sentence: str
    stated: dict[str, str] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)
    verdict: str = "tabulated"


def need(audit: Audit, *roles: str) -> None:
    """The roles without which a table has nothing to show."""
    for name in roles:
        if not audit.has(name):
            cure = Words("name its column with {}", Set(name, of="Audit"))
            raise NotApplicable(WHO, Fault("table", f"needs the {name}", cure=cure))


def known_groups(request: Request) -> list[Group]:
    """The groups that `by` asks for, without unknown ones."""
    groups, _ = compared_groups(WHO, request.audit, request.by, request.depth, None)
    return [group for group in groups if all(MISSING not in values for _, values in group.where)]


def attributes_of(groups: Sequence[Group]) -> tuple[str, ...]:
    """Every attribute that the groups are made of, once."""
    return tuple(dict.fromkeys(name for group in groups for name in group.attributes))


def as_dicts(groups: Sequence[Group]) -> list[dict[str, Any]]:
    return [dict(group.to_dict()) for group in groups]


def favourable_metric(audit: Audit) -> Metric:
    """The rate of the decision that is good for a person; 1 where nobody said which that is."""
    if audit.favourable == 0:
        return Metric("favourable_rate", role.not_decision, label=audit.roles.good_rate)
    return audit.roles.in_words(METRICS["selection_rate"])


def stated(options: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    """What the field asks to be said beside the numbers; what nobody said is said to be missing."""
    return {title: str(options.get(name) or NOT_STATED) for name, title in names.items()}


def adjusted(found: Disparities, level: float, index: int) -> dict[str, Any]:
    return {} if found.within is None else adjusted_cells(found.within, level, index)


def compared_words(rows: Sequence[Mapping[str, Any]]) -> str:
    """Who is compared with whom; no number of a group, which may be mrequest."""
    told = [row for row in rows if row["state"] == LISTED.code]
    if not told:
        return "no group could be compared"
    what = " and ".join(dict.fromkeys(str(row["metric"]).replace("_", " ") for row in told[:MOST_NAMED]))
    groups = counted(len({row["group"] for row in told}), "group")
    return f"{what} of {groups}, each compared with {told[0]['target']}"
