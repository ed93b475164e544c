"""The request of explain: what is asked, who plays, and what its parts and states are called."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.cells import Coded, Rows
from fairtrial._compare.words import Unit, number_words
from fairtrial._errors import Fault, Faults, InputError, Named, Set, Words
from fairtrial._explain.solver.esl import Floats
from fairtrial._metrics.values import Metric, Role
from fairtrial._results.column import Column, Kind, Primary, State, StateKind, scalar
from fairtrial._results.result import Result
from fairtrial._results.text import format_value
from fairtrial._work import Progress

WHO = "explain"
# Background rows where none are asked for. One person has fewer of them when the model would be asked about more rows
# than MOST_ASKED; then others have other rows, so that a group has the usual number at least.
USUAL_BACKGROUND = 100
FEWEST_BACKGROUND = 10
MOST_ASKED = 10_000_000
_MEANING = {
    "retrain": "A coalition's classifier is refitted on its features alone: contributions answer what the features are "
    "worth to a system built with them.",
    "marginal": "A coalition's decisions are those of the one fitted model with the absent features imputed from a "
    "background sample: contributions answer how this model uses its features.",
    "imitated": "No model was given: the explained system is a boosted-tree copy of the audited {outputs}, learned "
    "from the features on the rows that are not evaluated, with absent features imputed from a background sample. "
    "Contributions answer how the features carry what could be learned of the audited system.",
    "callable": "Coalition decisions come from the caller's function, which says what leaving a feature out means.",
    "given": "Coalition decisions were given: what leaving a feature out means is the caller's.",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExplainRequest:
    """The arguments of explain, and what they mean for where a coalition's decisions (or scores) come from."""

    metric: Metric
    by: Any
    features: Any
    sensitive: str | None
    test: Any
    target: Mapping[str, Any] | None
    model: Any
    coalitions: Any
    averaged: str
    background: int | None
    allocation: Any
    budget: int | None
    confidence_level: float
    seed: int
    jobs: int | None
    progress: Callable[[Progress], None] | None
    baseline: str | float = "random"  # what rates are divided by
    better: str | None = None  # the side of the metric that is good for people, where the audit does not say
    gaps: Any = None  # how the gaps of pairs are inferred; as certify does unless said

    @property
    def scores(self) -> bool:
        """Whether the metric is one of scores."""
        return isinstance(self.metric.value, Role) and "score" in self.metric.value.needs

    @property
    def from_model(self) -> bool:
        """Whether models are fitted or asked here, rather than decisions brought along."""
        return isinstance(self.coalitions, str)

    @property
    def imitates(self) -> bool:
        """Whether a copy of the audited decisions (or scores) is explained, for want of a model."""
        return self.from_model and self.model is None

    @property
    def learns_the_outcome(self) -> bool:
        """Whether models are fitted to the outcome here."""
        return (
            self.from_model and not self.imitates and not (self.kind == "marginal" and is_ready(self.model))
        )

    @property
    def kind(self) -> str:
        """'retrain', 'marginal', 'callable' or 'given'."""
        if isinstance(self.coalitions, str):
            return self.coalitions
        return "callable" if callable(self.coalitions) else "given"

    @property
    def all_background(self) -> int:
        """How many rows stand in for what is left out, of all people together."""
        return USUAL_BACKGROUND if self.background is None else self.background

    def background_rows(self, people: int, coalitions: int) -> int:
        """How many of them stand in for one person: all, or fewer where that would ask the model too often."""
        if self.background is not None:
            return self.background
        return max(FEWEST_BACKGROUND, min(USUAL_BACKGROUND, MOST_ASKED // max(1, people * coalitions)))

    @property
    def meaning(self) -> str:
        """What leaving a feature out means here."""
        outputs = "scores" if self.scores else "decisions"
        return _MEANING["imitated" if self.imitates else self.kind].format(outputs=outputs)


# -- Whether what the caller brought can be asked as it is, or has to be fitted here.
def is_ready(model: Any) -> bool:
    """Whether the caller brought a system that needs no fitting."""
    if model is None or isinstance(model, str | type):
        return False
    return is_fitted(model) if hasattr(model, "get_params") else callable(getattr(model, "predict", model))


def is_fitted(model: Any) -> bool:
    """Whether the caller brought a fitted model."""
    if model is None or isinstance(model, str):
        return False
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


# -- Who plays: features as players, the place of the sensitive attribute, copies of it, and one-hot
# families.


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


# -- The parts, columns and states of an explanation and of its change, and numbers as their sentences say
# them.

ALL_FEATURES = "(all features)"
ALLOCATION_NAMES = {
    "shapley": "Shapley",
    "equal_surplus": "Equal Surplus",
    "solidarity": "Solidarity",
    "consensus": "Consensus",
    "lsp": "Least Squares Prenucleolus",
    "given": "the given sequence",
}
DIFFERS = StateKind("differs", "bad")  # a gap, after correction over the gaps
CARRIES = StateKind("carries")  # a feature's contribution to a gap, after correction over features and gaps
CHANGED = StateKind("changed")
NOT_SHOWN = StateKind("not shown")
UNDETERMINED = StateKind("undetermined")
MEASURED = StateKind("measured")  # about one group: estimated, with an interval, and not part of the tests

GAP, EXPLAINED_GAP, TO_GAP = "gap", "gap of the explained system", "contribution to the gap"
RATE, TO_RATE = "rate", "contribution to the rate"
VALUE, TO_VALUE = "value", "contribution to the value"

ABOUT = (
    Column("metric", "metric", "text", shown=False),
    Column("value_kind", "values are", "text", shown=False),
    Column("part", "part", "text"),
    Column("feature", "feature", "text"),
    Column("group", "group", "text"),
    Column("target", "minus", "text"),
)
PEOPLE = (
    Column("n", "n", "people", shown=False),
    Column("target_n", "n of the other", "people", shown=False),
)
TESTED = (
    Column("difference_low", "low", "points"),
    Column("difference_high", "high", "points"),
    Column("p_value", "p", "p"),
    Column("p_adjusted", "adjusted p", "p"),
    Column("state", "finding", "state", shown=False),
    Column("state_reason", "reason", "text", shown=False),
)
CITATION = (
    "Amri-Jouidel, Kemel & Mussard (2026), Shapley meets Rawls, arXiv:2603.26476; Radzik & Driessen (2013), "
    "Mathematical Social Sciences 65; Lundberg & Lee (2017), NeurIPS 30; Covert & Lee (2021), AISTATS; Tango (1998), "
    "Statistics in Medicine 17; Holm (1979), Scandinavian Journal of Statistics 6."
)


def tested(p_adjusted: Any, alpha: float, shown: StateKind) -> State:
    """The state of a row by its corrected p-value; why there is none stands in the cell itself."""
    if not isinstance(p_adjusted, float):
        return State(UNDETERMINED.code)
    return State(shown.code if p_adjusted <= alpha else NOT_SHOWN.code)


def primary_of(result: Result, row: dict[str, Any], p: float, **about: Any) -> Primary:
    kind: Kind = "points" if result.details["value_kind"] == "percent" else "number"
    limits = {"low": scalar(row["difference_low"]), "high": scalar(row["difference_high"])}
    label = result.details["label"]
    return Primary(label, p_value=p, effect=row["difference"], kind=kind, **limits, **about)


def p_text(value: float) -> str:
    """'p <0.001' or 'p = 0.023'."""
    return f"p {format_value(value, 'p')}" if value < 0.001 else f"p = {format_value(value, 'p')}"


def unit_of_kind(value_kind: str) -> Unit:
    """In points where values are shares."""
    return "points" if value_kind == "percent" else "number"


def signed(value: float, value_kind: str) -> str:
    """A number with its sign; nothing is minus zero."""
    if not math.isfinite(value):
        return "no limit"
    text = number_words(round(value, 12), unit_of_kind(value_kind))
    return text if text.startswith("-") else f"+{text}"
