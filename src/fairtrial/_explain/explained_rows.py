"""The rows that are explained: their groups, the players' columns, and which rows are fitted on and evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Coded, Rows
from fairtrial._audit.groups import by_attributes, find_groups
from fairtrial._errors import Fault, InputError, Named, Set, Words, did_you_mean
from fairtrial._explain.request import (
    WHO,
    ExplainRequest,
    Placed,
    Player,
    find_players,
    join_one_hot,
    place_sensitive,
    without_copies,
)
from fairtrial._explain.solver.esl import Floats
from fairtrial._metrics.groups import Group
from fairtrial._work import generator

LARGEST_GROUPS = 8
_TEST_LABELS = {"test": True, "true": True, "1": True, "train": False, "false": False, "0": False}


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedRows:
    """Everything about the rows that the two stages need."""

    rows: Rows
    groups: tuple[Group, ...]
    group: NDArray[np.int64]  # −1: in none of the groups asked for
    levels: tuple[int, ...]  # levels per attribute, when groups are the cells of several attributes
    players: tuple[Player, ...]
    always: tuple[str, ...]
    sensitive: str
    test: NDArray[np.intp]
    train: NDArray[np.intp]
    blocks: dict[str, Floats] = field(repr=False)
    notes: tuple[tuple[str, str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(player.name for player in self.players)

    @property
    def everybody(self) -> bool:
        """Whether every row of the groups is evaluated."""
        return self.test.size == int((self.group >= 0).sum())

    @property
    def labels(self) -> list[str]:
        return [group.label for group in self.groups]

    def columns_of(self, mask: int) -> list[str]:
        """The data columns a coalition's classifier sees."""
        chosen = [name for k, player in enumerate(self.players) if mask >> k & 1 for name in player.columns]
        return [*chosen, *(name for name in self.always if name not in chosen)]

    def names_of(self, mask: int) -> tuple[str, ...]:
        return tuple(player.name for k, player in enumerate(self.players) if mask >> k & 1)


def read_explained_rows(audit: Audit, request: ExplainRequest) -> ExplainedRows:
    """Read all columns in one query, so that every array has the same order on every engine."""
    attributes = by_attributes(WHO, audit, request.by)
    placed = place_sensitive(
        find_players(audit, request.features), attributes, request.sensitive, request.from_model
    )
    used: list[str] = []
    if request.from_model:
        listed = [name for player in placed.players for name in player.columns]
        used = list(dict.fromkeys([*listed, *placed.always]))
    rows = _read(audit, attributes, used, request)
    groups, levels = _groups(audit, request.by, attributes)
    group = _group_codes(rows, groups)
    train, test = _split(rows, group, request.test, request.seed)
    blocks = {name: _block(rows, name) for name in used}
    players, notes = _distinct_players(placed, attributes, rows, blocks, request)
    outside = int((group < 0).sum())
    if outside:
        text = f"Not evaluated, being in none of the groups compared: {outside:,} of {rows.n:,} rows."
        notes.append(("outside-groups", text))
    return ExplainedRows(
        rows, tuple(groups), group, levels, tuple(players), placed.always, placed.sensitive, test, train, blocks,
        tuple(notes),
    )  # fmt: skip


def _read(audit: Audit, attributes: Sequence[str], used: Sequence[str], request: ExplainRequest) -> Rows:
    metric, test = request.metric, request.test
    numeric = [name for name in used if _is_numeric(audit, name)]
    conditions = [key for key in metric.conditions if isinstance(key, str)]
    labelled = [*attributes, *(name for name in used if name not in numeric), *conditions]
    if isinstance(test, str):
        audit.check_column(WHO, "test", test)
        labelled.append(test)
    columns = [*numeric, metric.value] if isinstance(metric.value, str) else numeric
    return audit.rows(
        attributes=list(dict.fromkeys(labelled)), roles=_roles(audit, request), columns=list(dict.fromkeys(columns)),
        who=WHO,
    )  # fmt: skip


def _roles(audit: Audit, request: ExplainRequest) -> list[str]:
    """The outcome where the metric, the split or the baseline looks at it, and the decision where there is one."""
    audited = "score" if request.scores else "decision"
    roles = [audited] if audit.has(audited) else []
    if (
        "outcome" not in request.metric.needs
        and not request.learns_the_outcome
        and request.baseline != "prior"
    ):
        return roles
    if audit.has("outcome") and audit.outcome_is_real:
        required, cure = "holds numbers other than 0 and 1", "explain needs a binary outcome"
        raise InputError(WHO, Fault("outcome", required, cure=cure, subject="the outcome"))
    return ["outcome", *roles]


def _distinct_players(
    placed: Placed, attributes: Sequence[str], rows: Rows, blocks: dict[str, Floats], request: ExplainRequest
) -> tuple[list[Player], list[tuple[str, str]]]:
    """Who plays once copies of the attribute are out and one-hot columns are joined, with notes."""
    if not request.from_model:
        return placed.players, []
    players = without_copies(placed, attributes, rows, blocks)
    return (players, []) if isinstance(request.features, Mapping) else join_one_hot(players, blocks)


def _is_numeric(audit: Audit, name: str) -> bool:
    audit.check_column(WHO, "features", name)
    return name not in audit.bins and audit.kind(name) in ("bool", "int", "float")


def _block(rows: Rows, name: str) -> Floats:
    if name in rows.columns:
        return rows.columns[name][:, None]
    coded = rows.attributes[name]  # one-hot
    return np.asarray(coded.codes[:, None] == np.arange(len(coded.labels))[None, :], dtype=np.float64)


# -- groups ---------------------------------------------------------------------------------------------------------
def _groups(audit: Audit, by: object, attributes: tuple[str, ...]) -> tuple[list[Group], tuple[int, ...]]:
    """The groups of one attribute, the cells of several with their levels, or the groups given in their order."""
    entries = by if isinstance(by, list | tuple) else [by]
    given = [entry for entry in entries if isinstance(entry, Mapping)]
    if not given:
        depth = len(attributes)
        groups = find_groups(WHO, audit, list(attributes), depth)
        levels = tuple(len(audit.levels(name)) for name in attributes) if depth > 1 else ()
        return _checked([group for group in groups if len(group.attributes) == depth]), levels
    if len(given) < len(entries):
        raise InputError(WHO, Fault("by", "must be columns or group dicts, not both", got=by))
    return _checked(find_groups(WHO, audit, given)), ()


def _checked(groups: list[Group]) -> list[Group]:
    if len(groups) < 2:
        got = [group.label for group in groups]
        raise InputError(WHO, Fault("by", "must give at least two groups to compare", got=got))
    if len(groups) > LARGEST_GROUPS:
        required = f"gives {len(groups)} groups, more than {LARGEST_GROUPS}"
        cure = Words("name some, such as {}", Set("by", [group.to_dict() for group in groups[:2]]))
        raise InputError(WHO, Fault("by", required, cure=cure))
    return groups


def _group_codes(rows: Rows, groups: Sequence[Group]) -> NDArray[np.int64]:
    codes = np.full(rows.n, -1, dtype=np.int64)
    for index, group in enumerate(groups):
        inside = rows.mask(group)
        if (codes[inside] >= 0).any():
            required = f"groups overlap: {group.label!r} shares rows with an earlier one"
            raise InputError(WHO, Fault("by", required, cure="name groups that share nobody"))
        codes[inside] = index
    return codes


def with_target_last(explained: ExplainedRows, target: Mapping[str, Any] | None) -> ExplainedRows:
    """Put the reference group last, so that gaps are the others minus it."""
    if target is None:
        return explained
    last = _reference(explained, target)
    if explained.levels:  # cells keep their order, which the multi-stage values rest on
        return explained
    place = explained.groups.index(last)
    order = [g for g in range(len(explained.groups)) if g != place] + [place]
    back = np.argsort(order)
    codes = np.where(explained.group >= 0, back[np.maximum(explained.group, 0)], -1)
    groups = tuple(explained.groups[g] for g in order)
    return replace(explained, groups=groups, group=codes.astype(np.int64))


def _reference(explained: ExplainedRows, target: object) -> Group:
    if not isinstance(target, Mapping) or not target:
        example = Words("must be a group like {}", Set("target", {"sex": "Male"}))
        raise InputError(WHO, Fault("target", example, got=target))
    found = Group.of(target)
    if found not in explained.groups:
        required = f"must be one of the groups {explained.labels}"
        hint = did_you_mean(found.label, explained.labels)
        raise InputError(WHO, Fault("target", required, got=dict(target), hint=hint))
    return explained.groups[explained.groups.index(found)]


# -- fitted on and evaluated ----------------------------------------------------------------------------------------
def _split(
    rows: Rows, group: NDArray[np.int64], test: object, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of the rows to fit on and of the rows to evaluate (only those in a group)."""
    if test is None:
        everything = np.arange(rows.n)
        return np.zeros(0, dtype=np.intp), everything[group >= 0]
    chosen = _test_mask(rows, group, test, seed)
    if chosen.all() or not chosen.any():
        required = "must leave rows on both sides: to fit the models and to evaluate them"
        raise InputError(WHO, Fault("test", required))
    return np.flatnonzero(~chosen), np.flatnonzero(chosen & (group >= 0))


def _test_mask(rows: Rows, group: NDArray[np.int64], test: object, seed: int) -> NDArray[np.bool_]:
    if isinstance(test, str):
        return _marked(rows.attributes[test], test)
    if isinstance(test, int | float) and not isinstance(test, bool):
        return _stratified(rows, group, float(test), seed)
    array = np.asarray(test)
    if array.shape != (rows.n,) or array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        required = f"must be a share, a column, or {rows.n:,} booleans, one per row of the audit"
        raise InputError(WHO, Fault("test", required))
    return array.astype(bool)


def _marked(coded: Coded, name: str) -> NDArray[np.bool_]:
    """A column of train/test."""
    unknown = [label for label in coded.labels if label.lower() not in _TEST_LABELS]
    if unknown:
        subject, required = f"'test' column {name!r}", "must hold train/test, true/false or 1/0"
        raise InputError(WHO, Fault("test", required, got=unknown[0], subject=subject))
    return np.array([_TEST_LABELS[label.lower()] for label in coded.labels])[coded.codes]


def _stratified(rows: Rows, group: NDArray[np.int64], share: float, seed: int) -> NDArray[np.bool_]:
    """A random share of every group × outcome stratum, rounded to the nearest row."""
    random = generator(seed, "explain split")
    outcome = rows.roles.get("outcome", np.zeros(rows.n)).astype(np.int64)
    mask = np.zeros(rows.n, dtype=bool)
    stratum = (group + 1) * 2 + outcome
    for label in np.unique(stratum):
        members = np.flatnonzero(stratum == label)
        mask[random.permutation(members)[: round(share * members.size)]] = True
    return mask


def check_both_outcomes(explained: ExplainedRows) -> None:
    """A classifier can only be fitted when both outcomes occur."""
    labels: Any = np.unique(explained.rows.roles["outcome"][explained.train])
    if labels.size < 2:
        required = "have only one outcome: no classifier can be fitted"
        raise InputError(
            WHO,
            Fault(
                "outcome",
                required,
                subject="the rows to fit on",
                cure=Words("Leave rows of both outcomes to fit on, by another {}", Named("test")),
            ),
        )
