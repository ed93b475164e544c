"""From an audit to the plan of its publication: levels of few people are joined, attributes left with one go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.expressions import bin_labels
from fairtrial._errors import Fault, InputError, Set, Words
from fairtrial._labels import MISSING
from fairtrial._trial.publishing.plan import PublishingPlan, named_attributes
from fairtrial._trial.publishing.tables import Parts, case_roles, few, join_levels, level_counts
from fairtrial._trial.spec.load import Spec
from fairtrial._trial.spec.sections import Section

if TYPE_CHECKING:
    from fairtrial._audit.audit import Audit
from collections.abc import Iterable
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._results.column import Column
from fairtrial._results.masking import few_of, is_small
from fairtrial._results.result import Result
from fairtrial._trial.publishing.tables import MOST_CELLS, Known, people_by


def make_plan(spec: Spec, audit: Audit, sections: Sequence[Section]) -> PublishingPlan:
    """How the audit is published: coarser, so that few counts of fewer than `suppress_below` people can be told."""
    limit = spec.report.suppress_below
    if limit < 2:
        cure = Words("choose {} or more", Set("suppress_below", 10))
        required = "needs a number of people below which a count must not be found out"
        raise InputError("run", Fault("publish", required, cure=cure))
    _check_roles(audit)
    roles = case_roles(audit, sections)
    attributes = list(dict.fromkeys([*audit.groups, *named_attributes(sections)]))
    _check_everyone(audit, attributes, roles, limit)
    kept, gone = _parts(audit, attributes, roles, limit)
    tied = apart(audit, kept, roles, limit)
    kept = {name: parts for name, parts in kept.items() if name not in tied}
    labels = {name: _labels(audit, name, parts) for name, parts in kept.items() if not _cut(audit, name)}
    edges = {name: _edges(audit, name, parts) for name, parts in kept.items() if _cut(audit, name)}
    published = joined_audit(audit, [name for name in audit.groups if name in kept], labels, edges)
    stands_for = {name: _stands_for(audit, published, name, parts) for name, parts in kept.items()}
    notes = _notes(stands_for, gone, tied, limit)
    return PublishingPlan(audit, published, limit, roles, tuple(kept), stands_for, (*gone, *tied), notes)


def _check_roles(audit: Audit) -> None:
    """What counts people in ways that joining groups does not cover."""
    for name in ("order", "pair"):
        if getattr(audit, name) is not None:
            required = Words("does not cover what {} counts yet", Set(name, of="Audit"))
            raise InputError("run", Fault("publish", required, cure="Make an audit without it"))
    if audit.probable:
        probable = "does not cover groups that are known with a probability yet"
        raise InputError("run", Fault("publish", probable, cure="Make an audit without them"))


def _check_everyone(audit: Audit, attributes: Sequence[str], roles: Sequence[str], limit: int) -> None:
    """What is known of all people together, and of those without a group, must not tell of few either."""
    everyone = _totals(audit, (), roles)
    if _few(everyone, limit):
        cases = " and ".join(roles)
        required = (
            f"cannot hide that fewer than {limit} people of all have one of the combinations of {cases}"
        )
        cure = "ask for metrics that do not need both, or bring more people"
        raise InputError("run", Fault("publish", required, cure=cure))
    for name in attributes if audit.missing == "drop" else ():
        if _few(everyone - _totals(audit, (name,), roles), limit):
            required = f"cannot hide that {name!r} is missing for fewer than {limit} people of some case"
            category = Set("missing", "category", of="Audit")
            choose = Words("choose {}, or leave those rows out of the data", category)
            raise InputError("run", Fault("publish", required, cure=choose))


def _totals(audit: Audit, by: Sequence[str], roles: Sequence[str]) -> Counter[tuple[str, ...]]:
    """People of every case; a missing role is a case of its own."""
    cells = audit.cells(by, roles=roles, unknown=audit.roles.keeps_unlabelled)
    totals: Counter[tuple[str, ...]] = Counter()
    for line, rows in enumerate(cells.rows):
        totals[tuple(str(cells.roles[name][line]) for name in roles)] += int(rows)
    return totals


def _few(totals: Counter[tuple[str, ...]], limit: int) -> bool:
    return bool(few(np.array(list(totals.values()), dtype=np.int64), limit).any())


def _parts(
    audit: Audit, attributes: Sequence[str], roles: Sequence[str], limit: int
) -> tuple[dict[str, Parts], tuple[str, ...]]:
    """Per attribute the levels that are published together, and the attributes that are not published."""
    found = {}
    for name in attributes:
        _, counts = level_counts(audit, name, roles)
        found[name] = join_levels(counts, limit, in_order=_cut(audit, name))
    gone = tuple(name for name, parts in found.items() if len(parts) == 1 and len(parts[0]) > 1)
    if gone and len(gone) == len(found):
        required = (
            f"leaves nothing: every attribute has groups of fewer than {limit} people of some case throughout"
        )
        cure = "ask for metrics that do not need the outcome, or bring more people"
        raise InputError("run", Fault("publish", required, cure=cure))
    return {name: parts for name, parts in found.items() if name not in gone}, gone


def _cut(audit: Audit, name: str) -> bool:
    """Whether its levels are bins, of which neighbours are joined by leaving out the edge between them."""
    return name in audit.bins and MISSING not in audit.levels(name)


def _labels(audit: Audit, name: str, parts: Parts) -> dict[str, str]:
    levels = audit.levels(name)
    stands_for: dict[str, str] = {}
    for members in [[levels[level] for level in part] for part in parts if len(part) > 1]:
        name_of = joined_label(members)
        while name_of in levels:  # a group of the data has that name already
            name_of += " (joined)"
        stands_for |= dict.fromkeys(members, name_of)
    return stands_for


def _edges(audit: Audit, name: str, parts: Parts) -> list[float]:
    """The lower edge of every part but the first; bins without people go with those before them."""
    edges, levels = audit.bin_edges(name), audit.levels(name)
    bins = bin_labels(edges, audit.kind(name))
    return [edges[bins.index(levels[part[0]]) - 1] for part in parts[1:]]


def _stands_for(audit: Audit, published: Audit, name: str, parts: Parts) -> dict[str, str]:
    """The label that each of the data's own is published under; nothing where all are."""
    levels = audit.levels(name)
    if len(parts) == len(levels):
        return {}
    joined = published.roles.joined.get(name, {})
    if joined:
        return {label: joined.get(label, label) for label in levels}
    found = published.levels(name)
    return {levels[level]: found[place] for place, part in enumerate(parts) for level in part}


def _notes(
    stands_for: Mapping[str, Mapping[str, str]], gone: Sequence[str], tied: Sequence[str], limit: int
) -> list[str]:
    """What a reader must know of the groups."""
    notes = [
        "Published for strangers: groups are joined where one of their counts (by decision and outcome) is "
        f"under {limit}, numbers have three digits, and what would tell of few people is left out. That makes "
        "small counts hard to find; it does not hide them from whoever subtracts two releases or overlapping "
        "groups. Nobody is not few: a rate may be 0% or 100%."
    ]
    for name, names in stands_for.items():
        joined = sorted({published for label, published in names.items() if label != published})
        if joined:
            notes.append(f"Joined groups of {name}: {'; '.join(joined)}.")
    if gone:
        notes.append(f"Not published, because no two groups are large enough: {', '.join(gone)}.")
    if tied:
        notes.append(
            f"Not published beside the others: {', '.join(tied)}. Its groups overlap theirs so that counts of fewer "
            f"than {limit} people could be worked out."
        )
    return notes


# -- An audit whose groups are coarser: labels joined into one, bins with fewer edges.
def joined_audit(
    audit: Audit,
    groups: Sequence[str],
    labels: Mapping[str, Mapping[str, str]],
    edges: Mapping[str, Sequence[float]],
) -> Audit:
    """A copy of the audit with these groups, `labels` that stand for others and other `edges` of bins."""
    return audit.with_roles(
        groups=tuple(groups),
        joined={name: dict(stands_for) for name, stands_for in labels.items()},
        words={name: _joined_words(told, labels.get(name, {})) for name, told in audit.roles.words.items()},
        bins={**audit.bins, **{name: list(cut) for name, cut in edges.items()}},
    )


def _joined_words(told: Mapping[str, str], stands_for: Mapping[str, str]) -> dict[str, str]:
    """The file's words for labels that are joined: those of all that were, where each has some."""
    words = {label: text for label, text in told.items() if label not in stands_for}
    for name in dict.fromkeys(stands_for.values()):
        members = [label for label, published in stands_for.items() if published == name]
        if all(label in told for label in members):
            words[name] = joined_label([told[label] for label in members])
    return words


def joined_label(members: Sequence[str]) -> str:
    """What joined labels are called together.

    >>> joined_label(["Asian", "Other"]), joined_label(["a", "b", "c", "d", "e", "f"])
    ('Asian or Other', 'a or b or c or d or 2 others')
    """
    listed = list(members) if len(members) <= 5 else [*members[:4], f"{len(members) - 4} others"]
    return " or ".join(listed)


# -- Attributes that overlap, such as race and race in two classes: published beside each other they can tell
# of few.
# Of one attribute every published group has many people of each case. But where levels of two attributes
# exclude each other, the difference of two groups may be a few people: "x or z" of one minus "x" of the
# other.
MOST_TOGETHER = 4000  # cells of two attributes; beyond, the second one is left out


def apart(audit: Audit, parts: Mapping[str, Parts], roles: Sequence[str], limit: int) -> tuple[str, ...]:
    """The attributes that must not be published beside those before them."""
    kept: list[str] = []
    gone: list[str] = []
    for name in parts:
        tables = [[*kept, name]] if kept else []
        if tables and len(people_by(audit, tables[0], roles)[0]) > MOST_CELLS:
            tables = [[other, name] for other in kept]
        fits = all(_fits(audit, names, parts, roles, limit) for names in tables)
        (kept if fits else gone).append(name)
    return tuple(gone)


def _fits(
    audit: Audit, names: Sequence[str], parts: Mapping[str, Parts], roles: Sequence[str], limit: int
) -> bool:
    """Whether every group of these attributes may be published."""
    places, counts = people_by(audit, names, roles)
    if len(places) > MOST_TOGETHER:
        return False
    groups = [np.isin(places[:, i], part) for i, name in enumerate(names) for part in parts[name]]
    return Known(counts, limit).admit([group for group in groups if group.any()])


# -- Whether an answer tells of few people after all: by what its columns are, never by their names.
def tells_of_few(result: Result, limit: int) -> bool:
    """Whether a count, a part or a share in one of its tables, details or notes is of few people."""
    tables = [(result.estimates, result.columns)]
    tables += [(more.estimates, more.columns) for more in result.further_tables()]
    if any(_row_of_few(row, columns, limit) for rows, columns in tables for row in rows):
        return True
    if any(note.people is not None and 0 < note.people < limit for note in result.notes):
        return True
    return any(0 < count < limit for count in _counts(result.details, result.people_in_details))


def _row_of_few(row: Mapping[str, Any], columns: tuple[Column, ...], limit: int) -> bool:
    return is_small(row, columns, limit) or any(few_of(row, column, limit) for column in columns)


def _counts(value: Any, names: frozenset[str]) -> Iterable[int]:
    """Every count of people in the details, however deep."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if name in names and isinstance(item, int) and not isinstance(item, bool):
                yield item
            yield from _counts(item, names)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _counts(item, names)
