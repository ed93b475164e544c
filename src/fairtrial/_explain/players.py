"""Who plays: features as players, the place of the sensitive attribute, copies of it, and one-hot families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Coded, Rows
from fairtrial._errors import Fault, Faults, InputError, Named, Set, Words
from fairtrial._explain.request import WHO
from fairtrial._explain.solver.esl import Floats


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
    columns = [name for player in players for name in player.columns]
    for k, name in enumerate(columns):
        if name in columns[:k]:
            faults.add(Fault("features", f"names {name!r} twice", cure="name it once"))
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
    inside = [name for name in attributes if any(name in (p.name, *p.columns) for p in players)]
    if sensitive is None:
        sensitive = _usual_place(inside, attributes, reads_columns)
    _check_place(sensitive, inside, attributes, reads_columns)
    if sensitive == "player":
        more = [Player(name, (name,)) for name in attributes if name not in inside]
        return Placed(players + more, (), sensitive)
    if sensitive == "always":
        seen = attributes if reads_columns else ()
        return Placed(_without_columns(players, attributes), seen, sensitive)
    return Placed(players, (), sensitive)


def _usual_place(inside: Sequence[str], attributes: Sequence[str], reads_columns: bool) -> str:
    if not inside and not reads_columns:
        cure = (
            f"say whether the coalitions' decisions use {', '.join(attributes)}: 'player', 'always' or 'absent' "
            "(explain cannot see it in decisions made elsewhere)"
        )
        raise InputError(WHO, Fault("sensitive", "is missing", cure=cure))
    return "player" if inside else "absent"


def _check_place(sensitive: str, inside: list[str], attributes: tuple[str, ...], reads_columns: bool) -> None:
    if sensitive == "absent" and inside:
        required = Words(f"is 'absent' but {{}} names {inside[0]!r}", Named("features"))
        raise InputError(WHO, Fault("sensitive", required, cure="take it out, or say 'player'"))
    if sensitive == "player" and inside != list(attributes) and not reads_columns:
        required = Words(f"is 'player' but {{}} does not name {', '.join(attributes)}", Named("features"))
        raise InputError(
            WHO, Fault("sensitive", required, cure=Words("add it, or say {}", Set("sensitive", "absent")))
        )


def _without_columns(players: Sequence[Player], columns: Sequence[str]) -> list[Player]:
    kept = [Player(p.name, tuple(name for name in p.columns if name not in columns)) for p in players]
    return [player for player in kept if player.columns]


def without_copies(
    placed: Placed, attributes: Sequence[str], rows: Rows, blocks: Mapping[str, Floats]
) -> list[Player]:
    """A feature that is the sensitive attribute under another name must not pass for something else."""
    names = [name for player in _without_columns(placed.players, attributes) for name in player.columns]
    copies = {
        name: attribute
        for attribute, name in product(attributes, names)
        if _repeats(blocks[name], rows.attributes[attribute])
    }
    if copies and placed.sensitive != "player":
        name, attribute = next(iter(copies.items()))
        required = f"names {name!r}, which says no more and no less than {attribute!r}"
        cure = Words("take it out, or say {}", Set("sensitive", "player"))
        raise InputError(WHO, Fault("features", required, cure=cure))
    told = [(attribute,) for attribute in copies.values()]
    return [player for player in placed.players if player.columns not in told]


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
    families: dict[str, list[str]] = {}
    for player in players:
        if blocks[player.columns[0]].shape[1] == 1:
            families.setdefault(_prefix(player.name), []).append(player.name)
    joined: dict[str, Player] = {}
    notes = []
    for prefix, names in families.items():
        if prefix and len(names) > 1 and _is_one_hot(np.hstack([blocks[name] for name in names])):
            joined |= dict.fromkeys(names, Player(prefix, tuple(names)))
            told = f"{len(names)} one-hot columns are one player, {prefix}"
            text = f"{told}; players given with their columns separate them."
            notes.append(("joined-columns", text))
    return list(dict.fromkeys(joined.get(player.name, player) for player in players)), notes


def _is_one_hot(stacked: Floats) -> bool:
    return bool(np.isin(stacked, (0.0, 1.0)).all() and stacked.sum(axis=1).max() <= 1)


def _prefix(name: str) -> str:
    """The variable's name in 'colour=red', 'colour__red' or 'colour_red'."""
    for mark in ("=", "__", "_"):
        head, found, tail = name.rpartition(mark)
        if found and head and tail:
            return head
    return ""
