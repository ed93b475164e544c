"""Who plays: features as players, the place of the sensitive attribute, copies of it, and one-hot families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairtrial.data.audit import Audit
from fairtrial.data.cells import Coded, Rows
from fairtrial.errors import Fault, Faults, InputError, Named, Set, Words
from fairtrial.methods.explain.metric import WHO
from fairtrial.methods.explain.solver.esl import Floats


@dataclass(frozen=True, slots=True)
class Player:
    """A variable and the columns that stand for it."""

    name: str
    columns: tuple[str, ...]


def find_players(audit: Audit, features: object) -> list[Player]:
    """One player per feature, or as the caller joins columns."""
    players = _listed(audit.features if features is None else features)
    faults = Faults(WHO)
    if not players:
        cure = Words("name the columns the model sees, here or as {}", Set("features", of="Audit"))
        faults.add(Fault("features", "is missing", cure=cure))
    seen: set[str] = set()
    for player in players:
        for name in player.columns:
            if name in seen:
                faults.add(Fault("features", f"names {name!r} twice"))
            seen.add(name)
    faults.raise_any()
    return players


def _listed(features: object) -> list[Player]:
    if isinstance(features, str):
        features = (features,)
    if isinstance(features, Mapping):
        return [
            Player(str(name), (part,) if isinstance(part, str) else tuple(part))
            for name, part in features.items()
        ]
    if isinstance(features, list | tuple):
        return [Player(str(name), (name,)) for name in features]
    required = "must be a list of columns or a dict of player → columns"
    raise InputError(WHO, Fault("features", required, got=features))


@dataclass(frozen=True, slots=True)
class Placed:
    """The players once it is settled whether the models see the sensitive attribute, and how."""

    players: list[Player]
    always: tuple[str, ...]  # columns that every coalition's classifier sees
    sensitive: str


def place_sensitive(
    players: list[Player], attributes: tuple[str, ...], sensitive: str | None, reads_columns: bool
) -> Placed:
    """Whether the models see the sensitive attribute, and how: the answer depends on it more than on anything."""
    inputs = {name for player in players for name in player.columns} | {player.name for player in players}
    inside = [name for name in attributes if name in inputs]
    if sensitive is None:
        sensitive = _usual_place(inside, attributes, reads_columns)
    if sensitive == "absent" and inside:
        required = Words(f"is 'absent' but {{}} names {inside[0]!r}", Named("features"))
        raise InputError(WHO, Fault("sensitive", required, cure="take it out, or say 'player'"))
    if sensitive == "player":
        if inside != list(attributes) and not reads_columns:
            required = Words(f"is 'player' but {{}} does not name {', '.join(attributes)}", Named("features"))
            raise InputError(WHO, Fault("sensitive", required))
        more = [Player(name, (name,)) for name in attributes if name not in inside]
        return Placed(players + more, (), sensitive)
    if sensitive == "always":
        kept = [Player(p.name, tuple(c for c in p.columns if c not in attributes)) for p in players]
        seen = attributes if reads_columns else ()
        return Placed([player for player in kept if player.columns], seen, sensitive)
    return Placed(players, (), sensitive)


def _usual_place(inside: Sequence[str], attributes: Sequence[str], reads_columns: bool) -> str:
    if not inside and not reads_columns:
        cure = (
            f"say whether the coalitions' decisions use {', '.join(attributes)}: 'player', 'always' or 'absent' "
            "(explain cannot see it in decisions made elsewhere)"
        )
        raise InputError(WHO, Fault("sensitive", "is missing", cure=cure))
    return "player" if inside else "absent"


def without_copies(
    placed: Placed, attributes: Sequence[str], rows: Rows, blocks: Mapping[str, Floats]
) -> list[Player]:
    """A feature that is the sensitive attribute under another name must not pass for something else."""
    names = [name for player in placed.players for name in player.columns if name not in attributes]
    copies = {
        name: attribute
        for attribute in attributes
        for name in names
        if _repeats(blocks[name], rows.attributes[attribute])
    }
    if copies and placed.sensitive != "player":
        name, attribute = next(iter(copies.items()))
        required = f"names {name!r}, which says no more and no less than {attribute!r}"
        cure = Words("take it out, or say {}", Set("sensitive", "player"))
        raise InputError(WHO, Fault("features", required, cure=cure))
    told = set(copies.values())
    return [player for player in placed.players if player.columns[0] not in told or len(player.columns) > 1]


def _repeats(block: Floats, coded: Coded) -> bool:
    """Whether a column is constant in every group and tells at least two groups apart."""
    column = block[:, 0] if block.shape[1] == 1 else block @ np.arange(1.0, block.shape[1] + 1.0)
    seen = [column[coded.codes == level] for level in range(len(coded.labels))]
    values = [part[0] for part in seen if part.size > 1 and (part == part[0]).all()]
    return len(values) == len(coded.labels) and len(set(values)) > 1


def join_one_hot(
    players: list[Player], blocks: Mapping[str, Floats]
) -> tuple[list[Player], list[tuple[str, str]]]:
    """0/1 columns of one prefix of which a row has at most one are one variable, hence one player; with notes."""
    families: dict[str, list[Player]] = {}
    for player in players:
        prefix = _prefix(player.name)
        if prefix and blocks[player.columns[0]].shape[1] == 1:
            families.setdefault(prefix, []).append(player)
    joined: dict[str, Player] = {}
    notes = []
    for prefix, members in families.items():
        stacked = np.hstack([blocks[member.columns[0]] for member in members])
        if len(members) > 1 and np.isin(stacked, (0.0, 1.0)).all() and stacked.sum(axis=1).max() <= 1:
            union = Player(prefix, tuple(member.columns[0] for member in members))
            joined |= {member.name: union for member in members}
            text = (
                f"{len(members)} one-hot columns are one player, {prefix}; a features= dict separates them."
            )
            notes.append(("joined-columns", text))
    return list(dict.fromkeys(joined.get(player.name, player) for player in players)), notes


def _prefix(name: str) -> str:
    """The variable's name in 'colour=red', 'colour__red' or 'colour_red'."""
    for mark in ("=", "__", "_"):
        head, found, tail = name.rpartition(mark)
        if found and head and tail:
            return head
    return ""
