"""The rows that are explained: their groups, the players' columns, and which rows are fitted on and evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.data.audit import Audit
from fairtrial.data.cells import Coded, Rows
from fairtrial.data.groups import by_attributes, find_groups
from fairtrial.errors import Fault, InputError, Set, Words, did_you_mean
from fairtrial.methods.explain.metric import WHO, Needed, needed
from fairtrial.methods.explain.players import (
    Player,
    find_players,
    join_one_hot,
    place_sensitive,
    without_copies,
)
from fairtrial.methods.explain.solver.esl import Floats
from fairtrial.metrics.groups import Group
from fairtrial.metrics.metric import Metric
from fairtrial.work import generator

LARGEST_GROUPS = 8
_TEST_LABELS = {"test": True, "true": True, "1": True, "train": False, "false": False, "0": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsWanted:
    """What is asked about the rows.

    `reads_columns` says whether models look at the features here, `needs_outcome` whether anything besides the metric
    looks at the outcome.
    """

    by: Any = None
    features: Any = None
    sensitive: str | None = None
    test: Any = None
    seed: int = 0
    reads_columns: bool = True
    needs_outcome: bool = True


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
    def labels(self) -> list[str]:
        return [group.label for group in self.groups]

    def columns_of(self, mask: int) -> list[str]:
        """The data columns a coalition's classifier sees."""
        chosen = [name for k, player in enumerate(self.players) if mask >> k & 1 for name in player.columns]
        return [*chosen, *(name for name in self.always if name not in chosen)]

    def names_of(self, mask: int) -> tuple[str, ...]:
        return tuple(player.name for k, player in enumerate(self.players) if mask >> k & 1)

    def matrix(self, columns: Sequence[str], rows: NDArray[np.intp]) -> Floats:
        """Numbers as they are, categories one-hot."""
        return np.hstack([self.blocks[name][rows] for name in columns])


def read_explained_rows(audit: Audit, metric: Metric, wanted: RowsWanted) -> ExplainedRows:
    """Read all columns in one query, so that every array has the same order on every engine."""
    attributes = by_attributes(WHO, audit, wanted.by)
    players = find_players(audit, wanted.features)
    placed = place_sensitive(players, attributes, wanted.sensitive, wanted.reads_columns)
    used = list(
        dict.fromkeys([name for player in placed.players for name in player.columns] + list(placed.always))
    )
    rows = _read(audit, needed(metric), attributes, used if wanted.reads_columns else [], wanted)
    groups, levels = _groups(audit, wanted.by, attributes)
    group = _group_codes(rows, groups)
    train, test = _split(rows, group, wanted.test, wanted.seed)
    players = placed.players
    notes: list[tuple[str, str]] = []
    blocks: dict[str, Floats] = {}
    if wanted.reads_columns:
        blocks = {name: _block(rows, name) for name in used}
        players = without_copies(placed, attributes, rows, blocks)
        if not isinstance(wanted.features, Mapping):
            players, notes = join_one_hot(players, blocks)
    outside = int((group < 0).sum())
    if outside:
        text = f"{outside:,} rows are in none of the groups compared and are not evaluated."
        notes.append(("outside-groups", text))
    return ExplainedRows(
        rows, tuple(groups), group, levels, tuple(players), placed.always, placed.sensitive, test, train, blocks,
        tuple(notes),
    )  # fmt: skip


def _read(
    audit: Audit, need: Needed, attributes: Sequence[str], used: Sequence[str], wanted: RowsWanted
) -> Rows:
    numeric = [name for name in used if _is_numeric(audit, name)]
    labelled = [*attributes, *(name for name in used if name not in numeric), *need.attributes]
    if isinstance(wanted.test, str):
        audit.check_column(WHO, "test", wanted.test)
        labelled.append(wanted.test)
    roles = ["outcome"] if need.outcome or wanted.needs_outcome else []
    if roles and audit.has("outcome") and audit.outcome_is_real:
        required, cure = "holds numbers other than 0 and 1", "explain needs a binary outcome"
        raise InputError(WHO, Fault("outcome", required, cure=cure, subject="the outcome"))
    if audit.has("decision"):
        roles.append("decision")
    columns = list(dict.fromkeys([*numeric, *need.columns]))
    return audit.rows(attributes=list(dict.fromkeys(labelled)), roles=roles, columns=columns, who=WHO)


def _is_numeric(audit: Audit, name: str) -> bool:
    audit.check_column(WHO, "features", name)
    return name not in audit.bins and audit.kind(name) in ("bool", "int", "float")


def _block(rows: Rows, name: str) -> Floats:
    if name in rows.columns:
        return rows.columns[name][:, None]
    return one_hot(rows.attributes[name])


def one_hot(coded: Coded) -> Floats:
    return np.asarray(coded.codes[:, None] == np.arange(len(coded.labels))[None, :], dtype=np.float64)


# -- groups ---------------------------------------------------------------------------------------------------------
def _groups(audit: Audit, by: object, attributes: tuple[str, ...]) -> tuple[list[Group], tuple[int, ...]]:
    """The groups of one attribute, the cells of several, or the groups given as dicts in their order."""
    listed = [by] if isinstance(by, str | Mapping) else by
    entries = list(listed) if isinstance(listed, list | tuple) else list(attributes)
    given = [entry for entry in entries if isinstance(entry, Mapping)]
    levels: tuple[int, ...] = ()
    if given:
        if len(given) < len(entries):
            raise InputError(WHO, Fault("by", "must be columns or group dicts, not both", got=by))
        groups = find_groups(WHO, audit, given)
    elif len(attributes) == 1:
        groups = find_groups(WHO, audit, list(attributes))
    else:
        depth = len(attributes)
        groups = [g for g in find_groups(WHO, audit, list(attributes), depth) if len(g.attributes) == depth]
        levels = tuple(len(audit.levels(name)) for name in attributes)
    _check_count(groups)
    return groups, levels


def _check_count(groups: Sequence[Group]) -> None:
    if len(groups) < 2:
        got = [group.label for group in groups]
        raise InputError(WHO, Fault("by", "must give at least two groups to compare", got=got))
    if len(groups) > LARGEST_GROUPS:
        required = f"gives {len(groups)} groups, more than {LARGEST_GROUPS}"
        cure = Words("name some, such as {}", Set("by", [group.to_dict() for group in groups[:2]]))
        raise InputError(WHO, Fault("by", required, cure=cure))


def _group_codes(rows: Rows, groups: Sequence[Group]) -> NDArray[np.int64]:
    codes = np.full(rows.n, -1, dtype=np.int64)
    for index, group in enumerate(groups):
        inside = rows.mask(group)
        if (codes[inside] >= 0).any():
            required = f"groups overlap: {group.label!r} shares rows with an earlier one"
            raise InputError(WHO, Fault("by", required))
        codes[inside] = index
    return codes


def with_reference_last(explained: ExplainedRows, reference: Mapping[str, Any] | None) -> ExplainedRows:
    """Put the reference group last, so that gaps are the others minus it."""
    if reference is None:
        return explained
    wanted = _reference(explained, reference)
    if explained.levels:  # cells keep their order, which the multi-stage values rest on
        return explained
    place = explained.groups.index(wanted)
    order = [g for g in range(len(explained.groups)) if g != place] + [place]
    back = np.argsort(order)
    codes = np.where(explained.group >= 0, back[np.maximum(explained.group, 0)], -1)
    groups = tuple(explained.groups[g] for g in order)
    return replace(explained, groups=groups, group=codes.astype(np.int64))


def _reference(explained: ExplainedRows, reference: object) -> Group:
    if not isinstance(reference, Mapping) or not reference:
        example = Words("must be a group like {}", Set("reference", {"sex": "Male"}))
        raise InputError(WHO, Fault("reference", example, got=reference))
    wanted = Group.of(reference)
    if wanted not in explained.groups:
        required = f"must be one of the groups {explained.labels}"
        hint = did_you_mean(wanted.label, explained.labels)
        raise InputError(WHO, Fault("reference", required, got=dict(reference), hint=hint))
    return wanted


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
        raise InputError(WHO, Fault("outcome", required, subject="the rows to fit on"))
