"""Rules: from permitted inputs to decisions. A rule is what a candidate becomes once it is fitted."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from fairtrial._errors import FairtrialError, Fault, InputError, Words
from fairtrial._improve.rule_file import read_object, save_object
from fairtrial._metrics.groups import Group

if TYPE_CHECKING:
    from fairtrial._audit.audit import Audit

Floats = NDArray[np.float64]
Index = NDArray[np.intp]


def _gives_probabilities(rule: Any) -> bool:
    return bool(getattr(rule.scorer, "is_probability", False))


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """What a rule may look at when it decides: permitted features only; the group only where it is permitted.

    `matrix` has one column per name in `names`; `frame` is the same as a dataframe with the original columns;
    `fixed` holds candidate columns that are decisions or scores themselves.
    """

    matrix: Floats
    names: tuple[str, ...]
    source: Any = field(default=None, repr=False)
    rows: Index | None = None
    group: NDArray[np.int64] | None = None
    fixed: Mapping[str, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.matrix)

    def part(self, index: Index) -> Inputs:
        """The same for some of the rows."""
        return Inputs(
            self.matrix[index],
            self.names,
            self.source,
            index if self.rows is None else self.rows[index],
            None if self.group is None else self.group[index],
            {name: column[index] for name, column in self.fixed.items()},
        )

    @property
    def frame(self) -> Any:
        """The rows as a dataframe, taken from the source only when a rule asks for it."""
        source = self.source.made() if isinstance(self.source, _FramesOf) else self.source
        if source is None or self.rows is None:
            return source
        import narwhals as nw

        return nw.from_native(source, eager_only=True)[self.rows.tolist()].to_native()

    def replaced(self, matrix: Floats, frame: Any) -> Inputs:
        """The same people with other values."""
        return Inputs(matrix, self.names, frame, None, self.group, self.fixed)


@dataclass
class Reading:
    """How a rule reads new rows: which columns, which of them are numbers, and every label that it was fitted with.

    `groups` are those that a rule which decides by group tells apart; None for rules that are blind to it. `fixed` are
    columns that hold scores or decisions themselves. `lacking` features may be missing.
    """

    features: list[str] = field(default_factory=list)
    labels: dict[str, list[str]] = field(default_factory=dict)
    bins: dict[str, Any] = field(default_factory=dict)
    frame: str = "pyarrow"
    groups: list[dict[str, Any]] | None = None
    fixed: list[str] = field(default_factory=list)
    lacking: bool = False

    @property
    def columns(self) -> list[str]:
        """Every column that new rows must have."""
        return list(dict.fromkeys([*self.features, *self.fixed, *self.attributes]))

    @property
    def attributes(self) -> list[str]:
        """The columns that say the group, for a rule that decides by it."""
        return list(dict.fromkeys(name for group in self.groups or [] for name in group))

    def audit(self, data: Any) -> Audit:
        """New rows in any form as an Audit."""
        from fairtrial._audit.audit import Audit

        if isinstance(data, Audit):
            return data
        if isinstance(data, np.ndarray):
            data = self._named(data)
        roles: dict[str, Any] = {"features": self.features, "groups": self.attributes, "bins": self.bins}
        if not self.lacking:
            return self._complete(Audit(data, **roles))
        return Audit(data, **roles, missing="category").lacking(self.features)

    def _complete(self, audit: Audit) -> Audit:
        """Refuse rows that lack something: a decision about nobody in particular is none."""
        lacking = [name for name in self.columns if name in audit.source.columns and audit.lacks(name)]
        if lacking:
            cure = (
                "fill it in or leave these rows out; rules fitted where features are missing (the audit's missing is "
                "'category') take rows without them"
            )
            raise InputError("rule", Fault("X", f"has rows without {lacking}", subject="new data", cure=cure))
        return audit

    def _named(self, data: NDArray[Any]) -> Any:
        """A bare array as a table, its columns taken in the order of the features."""
        import pyarrow as pa

        if data.ndim != 2 or data.shape[1] != len(self.columns):
            required = f"must have the columns {self.columns}"
            raise InputError("rule", Fault("X", required, got=f"an array of shape {data.shape}"))
        return pa.table({name: data[:, i] for i, name in enumerate(self.columns)})

    def inputs(self, data: Any) -> Inputs:
        """New rows as the rule looks at them."""
        audit = self.audit(data)
        for name in self.columns:
            audit.check_column("rule", "X", name)
        numbers = [name for name in self.features if name not in self.labels]
        rows = audit.rows(
            attributes=list(dict.fromkeys([*self.labels, *self.attributes])),
            columns=[*numbers, *self.fixed],
            who="rule",
        )
        blocks = [self._block(name, rows) for name in self.features]
        matrix = np.hstack(blocks) if blocks else np.empty((rows.n, 0))
        return Inputs(
            matrix,
            self.names,
            _FramesOf(audit, tuple(self.features), self.frame) if self.features else None,
            None,
            self._group(rows),
            {name: rows.columns[name] for name in self.fixed},
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the matrix's columns."""
        found: list[str] = []
        for feature in self.features:
            found += [f"{feature}={label}" for label in self.labels.get(feature, [])] or [feature]
        return tuple(found)

    def _block(self, feature: str, rows: Any) -> Floats:
        if feature not in self.labels:
            return np.asarray(rows.columns[feature][:, None])
        coded, known = rows.attributes[feature], self.labels[feature]
        new = sorted(set(coded.labels) - set(known))
        if new:
            fault = Fault(
                "X",
                f"was not fitted with the labels {new} of {feature!r}",
                subject="the rule",
                cure="fit it anew on rows that have them, or leave these rows out",
            )
            raise InputError("rule", fault)
        positions = np.array([known.index(label) for label in coded.labels], dtype=np.int64)
        return np.asarray((positions[coded.codes][:, None] == np.arange(len(known))).astype(np.float64))

    def _group(self, rows: Any) -> NDArray[np.int64] | None:
        if self.groups is None:
            return None
        masks = np.array([rows.mask(Group.of(group)) for group in self.groups])
        if not masks.any(axis=0).all():
            outside = int(np.count_nonzero(~masks.any(axis=0)))
            required = f"decides by group, and {outside:,} rows are in none of {self.groups}"
            raise InputError("rule", Fault("X", required, subject="the rule", cure="leave these rows out"))
        return np.asarray(masks.argmax(axis=0), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _FramesOf:
    """The features of an audit as a dataframe of the kind the rule was fitted with, made when it is asked for."""

    audit: Audit
    features: tuple[str, ...]
    kind: str

    def made(self) -> Any:
        import pyarrow as pa

        from fairtrial._audit.frames import frame_for_estimators

        native = self.audit.features_frame(self.features, who="rule")
        if self.audit.frame == self.kind:
            return native
        import narwhals as nw

        return frame_for_estimators(pa.table(nw.from_native(native).to_arrow()), self.kind)  # type: ignore[arg-type]


class Rule(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted rule: a score, and the threshold at or above which the decision is positive. A scikit-learn classifier.

    `predict`, `decision_function` and, where the score is a probability, `predict_proba` take any dataframe, the path
    of a file, an array with the features in order, or an Audit. There is one way to decide: `predict`
    gives what the audit was tested with. `card` says where the rule comes from, what was shown of it, and its limits.

    Parameters
    ----------
    name : str
        What it is called in results.
    scorer : callable
        From inputs to one number per row.
    threshold : float, optional
        None means that the score is the decision itself.
    reading : Reading, optional
        How new rows are read.
    statement : str
        What was proved of it.
    card : dict, optional
        Where it comes from.
    """

    def __init__(
        self,
        name: str,
        scorer: Callable[[Inputs], Any],
        threshold: float | None = None,
        reading: Reading | None = None,
        statement: str = "",
        card: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.scorer = scorer
        self.threshold = threshold
        self.reading = reading
        self.statement = statement
        self.card = card

    @property
    def classes_(self) -> NDArray[np.int64]:
        """The two decisions."""
        return np.array([0, 1])

    @property
    def features(self) -> tuple[str, ...]:
        """The features it looks at; none where it reads another rule's column."""
        return () if self.reading is None else tuple(self.reading.features)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """The columns that new rows must have."""
        return np.array([] if self.reading is None else self.reading.columns, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """How many columns it needs."""
        return len(self.feature_names_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Rule:
        """The rule as it is: it was fitted, and tested, before."""
        return self

    def outcome_of(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """(decisions, scores) of inputs: the one way to decide."""
        score = np.asarray(self.scorer(inputs), dtype=np.float64)
        finite = bool(np.isfinite(score).all())
        if score.shape != (len(inputs),) or not finite:
            got = f"got shape {score.shape} for {len(inputs)} rows"
            raise refusal(
                self.name,
                f"must give one finite number per row, {got}{'' if finite else ' with missing or infinite values'}",
            )
        if self.threshold is not None:
            return (score >= self.threshold).astype(np.float64), score
        if not np.isin(score, (0.0, 1.0)).all():
            raise refusal(self.name, "must give decisions 0 and 1")
        return score, score

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Decisions 0 and 1, one per row in the order of the rows."""
        return self.decided(X)[0].astype(np.int64)

    def decision_function(self, X: Any) -> Floats:
        """By how much each score exceeds the threshold; the decision is 1 from 0 on."""
        score = self.decided(X)[1]
        return score - (0.5 if self.threshold is None else self.threshold)

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """The probabilities that are compared with the threshold, which need not be ½."""
        score = self.decided(X)[1]
        return np.column_stack([1.0 - score, score])

    def decided(self, X: Any) -> tuple[Floats, Floats]:
        """(decisions, scores) of new rows."""
        if self.reading is None:
            raise InputError(
                "rule",
                Fault(
                    "X",
                    "cannot be read: this rule only knows inputs",
                    subject="new data",
                    cure="give it the inputs it was fitted on",
                ),
            )
        try:
            return self.outcome_of(self.reading.inputs(X))
        except FairtrialError:
            raise
        except Exception as error:
            required = f"cannot be decided about by {self.name!r}: {type(error).__name__}: {error}"
            raise InputError(
                "rule",
                Fault("X", required, subject="new data", cure="give it rows like those it was fitted on"),
            ) from error

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the rule to a file that `fairtrial.load_rule` reads, without pickle (skops, the extra `export`)."""
        return save_object(self, path)


def load_rule(path: str | os.PathLike[str]) -> Rule:
    """Read a rule that `Rule.save` wrote.

    Nothing in the file is run: it is no pickle, and only types of a fixed list are made of it.

    Parameters
    ----------
    path : str or path
        The file, usually named `….skops`.

    Returns
    -------
    Rule
        A scikit-learn classifier that takes any dataframe, with its card.
    """
    found = read_object(path)
    if not isinstance(found, Rule) or not _well_formed(found):
        raise InputError(
            "load_rule",
            Fault(
                "path", "holds no rule", subject=f"{str(path)!r}", cure="name a file that improve has saved"
            ),
        )
    return found


def _well_formed(rule: Rule) -> bool:
    """Whether a rule from a file has what every rule has."""
    has = dict.fromkeys(("name", "scorer", "threshold", "reading", "card")) | vars(rule)
    return (
        isinstance(has["name"], str)
        and callable(has["scorer"])
        and isinstance(has["threshold"], float | int | None)
        and isinstance(has["reading"], Reading | None)
        and (has["card"] is None or (isinstance(has["card"], dict) and "shown" in has["card"]))
    )


def candidate_fault(name: str, required: str, cure: str | Words = "") -> Fault:
    """What is wrong with one candidate, by its name."""
    return Fault("candidates", required, cure=cure, subject=f"candidate {name!r}")


def refusal(name: str, required: str) -> InputError:
    """The error that names the candidate at fault."""
    return InputError("improve", candidate_fault(name, required))


def capacity_threshold(score: Floats, capacity: float) -> float:
    """The (1−κ) quantile of the training scores; where ties would select more than κ, the next higher score."""
    threshold = float(np.quantile(score, 1.0 - capacity))
    if np.mean(score >= threshold) <= capacity + 1.0 / score.size:
        return threshold
    above = score[score > threshold]
    return float(above.min()) if above.size else float("inf")
