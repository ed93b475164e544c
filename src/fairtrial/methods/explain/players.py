"""Who plays and on which rows: groups, players (features), the place of the sensitive attribute, train and test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.data.audit import Audit
from fairtrial.data.cells import Coded, Rows
from fairtrial.data.groups import by_attributes, find_groups
from fairtrial.errors import Faults, InputError, choice_fault
from fairtrial.methods.explain.metric import Needed, needed
from fairtrial.methods.explain.solver.esl import Floats
from fairtrial.metrics.groups import Group
from fairtrial.metrics.metric import Metric
from fairtrial.work import generator

WHO = "explain"
SENSITIVE = ("player", "always", "absent")
LARGEST_GROUPS = 8
_TEST_LABELS = {"test": True, "true": True, "1": True, "train": False, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Player:
    """A variable and the columns that stand for it."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Material:
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

    def columns_of(self, mask: int) -> list[str]:
        """The data columns a coalition's classifier sees."""
        chosen = [name for k, player in enumerate(self.players) if mask >> k & 1 for name in player.columns]
        return [*chosen, *(name for name in self.always if name not in chosen)]

    def names_of(self, mask: int) -> tuple[str, ...]:
        return tuple(player.name for k, player in enumerate(self.players) if mask >> k & 1)

    def matrix(self, columns: Sequence[str], rows: NDArray[np.intp]) -> Floats:
        """Numbers as they are, categories one-hot."""
        return np.hstack([self.blocks[name][rows] for name in columns])


def read_material(
    audit: Audit,
    metric: Metric,
    by: object,
    features: object,
    sensitive: str | None,
    test: object,
    seed: int,
    *,
    reads_columns: bool,
    needs_outcome: bool,
) -> Material:
    """Read all columns in one query, so that every array has the same order on every engine."""
    need = needed(metric)
    attributes = by_attributes(WHO, audit, by)
    players = _players(audit, features)
    players, always, sensitive = _place_sensitive(players, attributes, sensitive, reads_columns)
    used = list(dict.fromkeys([name for player in players for name in player.columns] + list(always)))
    rows = _read(audit, need, attributes, used if reads_columns else [], test, needs_outcome)
    groups, levels = _groups(audit, by, attributes)
    group = _group_codes(rows, groups)
    train, chosen = _split(rows, group, test, seed)
    notes: list[tuple[str, str]] = []
    blocks: dict[str, Floats] = {}
    if reads_columns:
        blocks = {name: _block(rows, name) for name in used}
        players = _without_copies(players, attributes, sensitive, rows, blocks)
        if not isinstance(features, Mapping):
            players = _join_one_hot(players, blocks, notes)
    outside = int((group < 0).sum())
    if outside:
        notes.append(
            ("outside-groups", f"{outside:,} rows are in none of the groups compared and are not evaluated.")
        )
    return Material(
        rows,
        tuple(groups),
        group,
        levels,
        tuple(players),
        always,
        sensitive,
        chosen,
        train,
        blocks,
        tuple(notes),
    )


def _players(audit: Audit, features: object) -> list[Player]:
    if features is None:
        features = audit.features
    if isinstance(features, str):
        features = (features,)
    if isinstance(features, Mapping):
        pairs = [
            (str(name), (part,) if isinstance(part, str) else tuple(part)) for name, part in features.items()
        ]
        players = [Player(name, columns) for name, columns in pairs]
    elif isinstance(features, list | tuple):
        players = [Player(str(name), (name,)) for name in features]
    else:
        raise InputError(
            WHO, f"'features' must be a list of columns or a dict of player → columns, got {features!r}"
        )
    faults = Faults(WHO)
    if not players:
        faults.add(
            "'features' is missing: name the columns the model sees, here or as features= of the Audit"
        )
    seen: set[str] = set()
    for player in players:
        for name in player.columns:
            if name in seen:
                faults.add(f"'features' names {name!r} twice")
            seen.add(name)
    faults.raise_any()
    return players


def _place_sensitive(
    players: list[Player], attributes: tuple[str, ...], sensitive: str | None, reads_columns: bool
) -> tuple[list[Player], tuple[str, ...], str]:
    """Whether the models see the sensitive attribute, and how: the answer depends on it more than on anything."""
    if sensitive is not None and (fault := choice_fault("sensitive", sensitive, SENSITIVE)):
        raise InputError(WHO, fault)
    inputs = {name for player in players for name in player.columns} | {player.name for player in players}
    inside = [name for name in attributes if name in inputs]
    if sensitive is None:
        if not inside and not reads_columns:
            listed = ", ".join(attributes)
            raise InputError(
                WHO,
                f"'sensitive' is missing: say whether the coalitions' decisions use {listed}: 'player', 'always' or "
                "'absent' (explain cannot see it in decisions made elsewhere)",
            )
        sensitive = "player" if inside else "absent"
    if sensitive == "absent" and inside:
        raise InputError(
            WHO, f"'sensitive' is 'absent' but 'features' names {inside[0]!r}: take it out, or say 'player'"
        )
    if sensitive == "player":
        if inside != list(attributes) and not reads_columns:
            raise InputError(
                WHO, f"'sensitive' is 'player' but 'features' does not name {', '.join(attributes)}"
            )
        players = players + [Player(name, (name,)) for name in attributes if name not in inside]
        return players, (), sensitive
    if sensitive == "always":
        kept = [Player(p.name, tuple(c for c in p.columns if c not in attributes)) for p in players]
        return [player for player in kept if player.columns], attributes if reads_columns else (), sensitive
    return players, (), sensitive


def _read(
    audit: Audit,
    need: Needed,
    attributes: Sequence[str],
    used: Sequence[str],
    test: object,
    needs_outcome: bool,
) -> Rows:
    numeric = [name for name in used if _is_numeric(audit, name)]
    labelled = [*attributes, *(name for name in used if name not in numeric), *need.attributes]
    if isinstance(test, str):
        audit.check_column(WHO, "test", test)
        labelled.append(test)
    roles = ["outcome"] if need.outcome or needs_outcome else []
    if roles and audit.has("outcome") and audit.outcome_is_real:
        raise InputError(WHO, "the outcome holds numbers other than 0 and 1: explain needs a binary outcome")
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


def _groups(audit: Audit, by: object, attributes: tuple[str, ...]) -> tuple[list[Group], tuple[int, ...]]:
    """The groups of one attribute, the cells of several, or the groups given as dicts in their order."""
    entries = (
        [by]
        if isinstance(by, str | Mapping)
        else list(by)
        if isinstance(by, list | tuple)
        else list(attributes)
    )
    given = [entry for entry in entries if isinstance(entry, Mapping)]
    levels: tuple[int, ...] = ()
    if given:
        if len(given) < len(entries):
            raise InputError(WHO, f"'by' must be columns or group dicts, not both, got {by!r}")
        groups = find_groups(WHO, audit, given)
    elif len(attributes) == 1:
        groups = find_groups(WHO, audit, list(attributes))
    else:
        depth = len(attributes)
        groups = [g for g in find_groups(WHO, audit, list(attributes), depth) if len(g.attributes) == depth]
        levels = tuple(len(audit.levels(name)) for name in attributes)
    if len(groups) < 2:
        raise InputError(
            WHO, f"'by' must give at least two groups to compare, got {[g.label for g in groups]}"
        )
    if len(groups) > LARGEST_GROUPS:
        raise InputError(
            WHO,
            f"'by' gives {len(groups)} groups, more than {LARGEST_GROUPS}: name some, "
            f"e.g. by=[{groups[0].to_dict()}, …]",
        )
    return groups, levels


def _group_codes(rows: Rows, groups: Sequence[Group]) -> NDArray[np.int64]:
    codes = np.full(rows.n, -1, dtype=np.int64)
    for index, group in enumerate(groups):
        inside = rows.mask(group)
        if (codes[inside] >= 0).any():
            raise InputError(WHO, f"'by' groups overlap: {group.label!r} shares rows with an earlier one")
        codes[inside] = index
    return codes


def _split(
    rows: Rows, group: NDArray[np.int64], test: object, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of the rows to fit on and of the rows to evaluate (only those in a group)."""
    if test is None:
        everything = np.arange(rows.n)
        return np.zeros(0, dtype=np.intp), everything[group >= 0]
    chosen = _test_mask(rows, group, test, seed)
    return np.flatnonzero(~chosen), np.flatnonzero(chosen & (group >= 0))


def _test_mask(rows: Rows, group: NDArray[np.int64], test: object, seed: int) -> NDArray[np.bool_]:
    if isinstance(test, str):
        coded = rows.attributes[test]
        unknown = [label for label in coded.labels if label.lower() not in _TEST_LABELS]
        if unknown:
            raise InputError(
                WHO, f"'test' column {test!r} must hold train/test, true/false or 1/0, got {unknown[0]!r}"
            )
        mask = np.array([_TEST_LABELS[label.lower()] for label in coded.labels])[coded.codes]
    elif isinstance(test, int | float) and not isinstance(test, bool):
        if not 0 < test < 1:
            raise InputError(
                WHO, f"'test' must be a share between 0 and 1, a column or an array, got {test!r}"
            )
        mask = _stratified(rows, group, float(test), seed)
    else:
        array = np.asarray(test)
        if array.shape != (rows.n,) or array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
            raise InputError(
                WHO, f"'test' must be a share, a column, or {rows.n:,} booleans, one per row of the audit"
            )
        mask = array.astype(bool)
    if mask.all() or not mask.any():
        raise InputError(WHO, "'test' must leave rows on both sides: to fit the models and to evaluate them")
    return mask


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


def _without_copies(
    players: list[Player], attributes: Sequence[str], sensitive: str, rows: Rows, blocks: dict[str, Floats]
) -> list[Player]:
    """A feature that is the sensitive attribute under another name must not pass for something else."""
    names = [name for player in players for name in player.columns if name not in attributes]
    copies = {
        name: attribute
        for attribute in attributes
        for name in names
        if _repeats(blocks[name], rows.attributes[attribute])
    }
    if copies and sensitive != "player":
        name, attribute = next(iter(copies.items()))
        raise InputError(
            WHO,
            f"'features' names {name!r}, which says no more and no less than {attribute!r}: take it out, or say "
            "sensitive='player'",
        )
    told = set(copies.values())
    return [player for player in players if player.columns[0] not in told or len(player.columns) > 1]


def _repeats(block: Floats, coded: Coded) -> bool:
    """Whether a column is constant in every group and tells at least two groups apart."""
    column = block[:, 0] if block.shape[1] == 1 else block @ np.arange(1.0, block.shape[1] + 1.0)
    seen = [column[coded.codes == level] for level in range(len(coded.labels))]
    values = [part[0] for part in seen if part.size > 1 and (part == part[0]).all()]
    return len(values) == len(coded.labels) and len(set(values)) > 1


def _join_one_hot(
    players: list[Player], blocks: dict[str, Floats], notes: list[tuple[str, str]]
) -> list[Player]:
    """0/1 columns of one prefix of which a row has at most one are one variable, hence one player."""
    families: dict[str, list[Player]] = {}
    for player in players:
        prefix = _prefix(player.name)
        if prefix and blocks[player.columns[0]].shape[1] == 1:
            families.setdefault(prefix, []).append(player)
    joined: dict[str, Player] = {}
    for prefix, members in families.items():
        stacked = np.hstack([blocks[member.columns[0]] for member in members])
        if len(members) > 1 and np.isin(stacked, (0.0, 1.0)).all() and stacked.sum(axis=1).max() <= 1:
            union = Player(prefix, tuple(member.columns[0] for member in members))
            joined |= {member.name: union for member in members}
            notes.append(
                (
                    "joined-columns",
                    f"{len(members)} one-hot columns are one player, {prefix}; a features= dict separates them.",
                )
            )
    return list(dict.fromkeys(joined.get(player.name, player) for player in players))


def _prefix(name: str) -> str:
    """The variable's name in 'colour=red', 'colour__red' or 'colour_red'."""
    for mark in ("=", "__", "_"):
        head, found, tail = name.rpartition(mark)
        if found and head and tail:
            return head
    return ""


def check_both_outcomes(material: Material) -> None:
    """A classifier can only be fitted when both outcomes occur."""
    labels: Any = np.unique(material.rows.roles["outcome"][material.train])
    if labels.size < 2:
        raise InputError(WHO, "the rows to fit on have only one outcome: no classifier can be fitted")
