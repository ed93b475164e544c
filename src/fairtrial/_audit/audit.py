"""The data and its roles: the only input object of every method."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import Any, Self

import numpy as np

from fairtrial._audit import arguments as a
from fairtrial._audit.arrays import from_columns, from_model
from fairtrial._audit.cells import Cells, Design, Floats, Rows, digest_of
from fairtrial._audit.columns import Columns
from fairtrial._audit.counting import count_cells, outcome_is_real, probable_rows, read_rows
from fairtrial._audit.definitions import definition_expression, recorded_definition, register
from fairtrial._audit.engine import collect
from fairtrial._audit.frames import frame_for_estimators
from fairtrial._audit.notes import data_notes
from fairtrial._audit.query import Query
from fairtrial._audit.roles import ROLE_NAMES, Roles
from fairtrial._audit.schema import column_list, positive_labels, split_groups
from fairtrial._audit.source import Source
from fairtrial._errors import Elsewhere, Fault, Faults, InputError, NotApplicable, Note, Set, Use, Words
from fairtrial._metrics.metric import Metric
from fairtrial._options import plain
from fairtrial._work.memory import check_memory

Kept = list[tuple[tuple[Any, ...], tuple[Metric, ...], Cells]]


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Audit(Columns):
    """Decisions, outcomes or scores of people, and who they are: the input of every method.

    Parameters
    ----------
    data : object
        A dataframe of any kind, a dict of columns, or a path or glob of CSV or Parquet files.
    outcome : str or None, default None
        Column of what really happened: 0 and 1, labels, or numbers.
    decision : str or None, default None
        Column of the decision: 0 and 1, or labels.
    score : str or None, default None
        Column of the score that the decision rests on.
    threshold : float or None, default None
        Makes the decision from the score: 1 where score ≥ threshold.
    groups : str or list or dict, default ()
        Columns whose groups are compared where a method is not told otherwise.
    define : dict or None, default None
        Groups of your own, such as 'young women: sex=Female, age<25'; in Python also masks or functions.
    features : str or list, default ()
        Columns that models see and subgroups are built from.
    positive : object, default None
        The labels that count as 1, for decision and outcome alike or of each, such as decision=yes.
    order : list or None, default None
        The decision's labels from low to high: every cut between them is looked at, all at once.
    favourable : object, default None
        The decision that is good for a person: 1, 0 or its label; findings then say who is harmed.
    bins : dict or None, default None
        Cuts of continuous columns: edges, such as age=25,45 or age=62, or equal parts, such as age=4.
    missing : {'error', 'drop', 'category'}, default 'error'
        Missing values are an error, drop their row, or are a group of their own.
    unlabelled : {'bounds'} or dict or None, default None
        Unknown outcomes: bounds over all of them, or odds=2,alike=region within those of people alike.
    weight : str or None, default None
        Column of survey weights.
    unit : str or None, default None
        Column that names the person of repeated rows.
    pair : str or None, default None
        Column that names the person whose answers in different groups are compared, one row each.

    Examples
    --------
    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score",
    ...                         threshold=5, groups="race", bins={"age": [25, 45]})
    >>> audit.levels("race")
    ('African-American', 'Asian', 'Caucasian', 'Hispanic', 'Native American', 'Other')
    >>> audit.levels("age")
    ('under 25', '25–44', '45 and over')
    """

    kept: Kept | None = None  # what was counted, where several questions ask the same

    def __init__(
        self,
        data: a.Data,
        *,
        outcome: a.Outcome = None,
        decision: a.Decision = None,
        score: a.Score = None,
        threshold: a.Threshold = None,
        groups: a.Groups = (),
        define: a.Define = None,
        features: a.Features = (),
        positive: a.Positive = None,
        order: a.Order = None,
        favourable: a.Favourable = None,
        bins: a.Bins = None,
        missing: a.Missing = "error",
        unlabelled: a.Unlabelled = None,
        weight: a.Weight = None,
        unit: a.Unit = None,
        pair: a.Pair = None,
    ) -> None:
        given = {
            name: plain(value)
            for name, value in locals().items()
            if name not in ("self", "data", "__class__")
        }
        given["define"] = None  # looked at by itself: a mask is no number
        if not isinstance(bins, Mapping | None):
            required = "must be a table of attributes with their edges or a number of bins"
            raise InputError("Audit", Fault("bins", required, got=bins))
        source = Source(data)
        named, probable = split_groups(groups)
        defined = register(source, data, {} if define is None else define)
        roles = Roles(
            **{name: given[name] for name in (*ROLE_NAMES, "threshold", "missing", "unlabelled", "order")},
            groups=column_list("groups", named) or tuple(defined),
            features=column_list("features", features),
            positive=positive_labels(positive),
            favourable_label=given["favourable"],
            bins=dict(bins or {}),
            define=defined,
            probable=probable,
        )
        self._hold(source, roles.checked(source.columns, given, Audit.__init__))
        source.expression_of = partial(definition_expression, self)

    @classmethod
    def from_arrays(
        cls,
        *,
        y_true: Any = None,
        y_pred: Any = None,
        y_score: Any = None,
        groups: Any = (),
        features: Any = None,
        **options: Any,
    ) -> Self:
        """An Audit from arrays or series, one entry per person.

        Parameters
        ----------
        y_true : array-like, optional
            What really happened: the outcome.
        y_pred : array-like, optional
            The decision; not together with a threshold of `y_score`.
        y_score : array-like, optional
            The score that the decision rests on.
        groups : array-like, dataframe or dict of array-like
            Whose groups are compared. An array without a name is called "group".
        features : dataframe or two-dimensional array, optional
            What models see; the columns of an array are called "0", "1", ….
        **options
            Every other argument of `Audit`; `weight`, `unit` and `pair` are arrays here.

        Returns
        -------
        Audit
            Its columns are called "outcome", "decision", "score" and by the names of groups and features.

        Examples
        --------
        >>> import fairtrial
        >>> audit = fairtrial.Audit.from_arrays(y_true=[1, 0, 1, 0], y_pred=[1, 0, 0, 0], groups=list("aabb"))
        >>> audit.groups, audit.levels("group")
        (('group',), ('a', 'b'))
        """
        table, options = from_columns(y_true, y_pred, y_score, groups, features, options)
        return cls(table, **options)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any = None, *, groups: Any = (), features: Any = None, **options: Any
    ) -> Self:
        """An Audit of what a fitted scikit-learn estimator decides on these rows.

        Rows that the model was fitted on flatter it: give rows it has not seen.

        Parameters
        ----------
        model : estimator
            Fitted; a classifier of two classes, whose second class counts as 1, or a regressor, whose predictions
            are the score.
        X : dataframe or array
            What the model predicts from, and the audit's features.
        y : array-like, optional
            What really happened.
        groups : str, list of str, array-like, dataframe or dict of array-like
            Columns of `X` by name, or values beside it.
        features : dataframe or array, optional
            What the audit knows as features, where that is not `X`.
        **options
            Every other argument of `Audit`. With a `threshold` the decision comes from the score.

        Returns
        -------
        Audit
            With the model's decisions, its scores where it has any, and the columns of `X` as features.

        Examples
        --------
        >>> import fairtrial
        >>> from sklearn.linear_model import LogisticRegression
        >>> people = fairtrial.load("compas", backend="pandas")
        >>> X, y = people[["age", "priors_count"]], people["two_year_recid"]
        >>> model = LogisticRegression().fit(X[::2], y[::2])
        >>> audit = fairtrial.Audit.from_estimator(model, X[1::2], y[1::2], groups=people["race"][1::2])
        >>> audit.decision, audit.score, audit.features
        ('decision', 'score', ('age', 'priors_count'))
        """
        arrays, options = from_model(model, X, groups, features, options)
        return cls.from_arrays(y_true=y, **arrays, **options)

    def with_roles(self, **changes: Any) -> Self:
        """The same data, some of whose roles are others."""
        other = object.__new__(type(self))
        other._hold(self.source, replace(self.roles, **changes))
        return other

    def keeping_cells(self) -> Self:
        """The same audit, which counts nothing twice; what is kept is this audit's alone."""
        other = self.with_roles()
        vars(other)["kept"] = []
        return other

    # -- what it is -----------------------------------------------------------------------------------------
    def __repr__(self) -> str:
        return f"Audit({', '.join(f'{name}: {text}' for name, text in self.roles.shown())})"

    def _repr_html_(self) -> str:
        """The roles as a table, for a notebook; nothing is read from the data, and names are escaped."""
        rows = "".join(
            f"<tr><th scope='row'>{escape(name)}</th><td>{escape(text)}</td></tr>"
            for name, text in self.roles.shown()
        )
        return f"<table><caption>Audit</caption><tbody>{rows}</tbody></table>"

    @property
    def outcome_is_real(self) -> bool:
        """Whether the outcome holds numbers other than 0 and 1 (known after the first query)."""
        return outcome_is_real(self)

    def levels(self, attribute: str) -> tuple[str, ...]:
        """The labels an attribute takes, sorted.

        Parameters
        ----------
        attribute : str
            A column; its bins where it is cut.

        Returns
        -------
        tuple of str
            The labels in the data, as one canonical text each.
        """
        if attribute in self.probable:
            return tuple(self.probable[attribute])
        if attribute not in self.levels_read:
            self.cells((attribute,))
        return self.levels_read[attribute]

    def labelled(self) -> tuple[tuple[int, int], ...]:
        """How many outcomes are known, and how many people there are, among decisions of 0 and of 1.

        Empty where no row with a missing outcome is left out.
        """
        if not self.roles.keeps_unlabelled or self.outcome is None or not self.has("decision"):
            return ()
        key = ("labelled", *self.decision_key, self.outcome, repr(self.positive.get("outcome")))
        found: tuple[tuple[int, int], ...] = self.source.once(key, self._labelled)
        return found

    def _labelled(self) -> tuple[tuple[int, int], ...]:
        cells = self.cells((), roles=("decision", "outcome"), unknown=True)
        known = ~np.isnan(cells.roles["outcome"])
        sides = [cells.roles["decision"] == value for value in (0.0, 1.0)]
        return tuple((int(cells.rows[side & known].sum()), int(cells.rows[side].sum())) for side in sides)

    def check(self) -> None:
        """Look for all faults of the data now, in one message.

        Raises
        ------
        InputError
            With every fault of the groups, roles and features.
        """
        roles = [name for name in ("decision", "outcome", "score") if self.has(name)]
        looks: list[Callable[[], object]] = []
        if self.order is not None:
            roles.remove("decision")
            looks.append(self.cuts)
        looks.append(lambda: self.favourable)
        looks += [partial(probable_rows, "Audit", self, name) for name in self.probable]
        looks += [partial(self.cells, (name,)) for name in self.groups if name not in self.probable]
        looks += [partial(self.cells, (), roles=(name,)) for name in roles]
        looks.append(self._check_features)
        faults = Faults("Audit")
        for look in looks:
            try:
                look()
            except InputError as error:
                faults.extend(error)
        faults.raise_any()

    def _check_features(self) -> None:
        """Look for all faults of the features where the rows lie: numbers by their sums, labels by those there are."""
        faults, numeric = Faults("Audit"), self._numeric(self.features)
        parts = [numeric, *([name] for name in self.features if name not in numeric)]
        for part in filter(None, parts):
            query = Query(self, "Audit", complete=True)
            for name in part:
                self.check_column("Audit", "features", name)
                query.number_column(name) if part is numeric else query.attribute(name)
            try:
                query.grouped()
            except InputError as error:
                faults.extend(error)
        faults.raise_any()

    def digest(self) -> str:
        """A fingerprint of the data: every value of the columns that the audit names.

        Returns
        -------
        str
            The same for the same rows, whatever their order and the kind of frame; Spark's is its own, and so is
            that of more than a million rows, which DuckDB makes where they lie.
        """
        return self.fingerprint([name for name in self.bins if name in self.source.columns]).content

    def _digest_of(self, data: Cells | Rows) -> str:
        """Counts of labels and binary values are all that there is to know of them; real values are looked at."""
        counts = data.digest if isinstance(data, Rows) else digest_of(data)
        if isinstance(data, Rows) or all(data.binary.values()) or data.hashes is not None:
            return counts
        values = self.fingerprint(data.columns, declared=False).content
        return hashlib.sha256(f"{counts} {values}".encode()).hexdigest()[:16]

    def provenance(self, data: Cells | Rows | None = None, **facts: Any) -> dict[str, Any]:
        """The fingerprint of what the numbers were made from, the roles and rules, and the facts a method adds."""
        digest = self.digest() if data is None else self._digest_of(data)
        roles = {name: getattr(self, name) for name in (*ROLE_NAMES, "threshold")}
        roles = {name: value for name, value in roles.items() if value is not None}
        about = {"data": digest, "roles": roles, "missing": self.missing, "frame": self.frame}
        if self.probable:
            about["probable"] = self.probable
        if self.unlabelled is not None:
            about["unlabelled"] = self.unlabelled.to_dict()
        if self.order is not None:
            about["order"] = list(self.order)
        if self.define:
            about["define"] = {name: recorded_definition(part) for name, part in self.define.items()}
        return {**about, "favourable": self.favourable, **facts}

    def notes(self, *, complete: bool = True) -> tuple[Note, ...]:
        """What every reader must know about these data; `complete` where only rows without missing values were used."""
        return data_notes(self, complete=complete)

    def refuse(self, who: str, *roles: str, why: str = "") -> None:
        """Refuse survey weights, repeated rows, pairs or unknown outcomes by name, for methods that do not honour them.

        Roles are 'weight', 'unit', 'pair', 'order', 'unlabelled' or 'probable'; `why` goes on after "because".
        """
        for name in roles:
            because = f", because {why}" if why else " yet"
            if name == "probable" and self.probable:
                text = f"known with a probability are not honoured by {{}}{because}; {{}} does"
                required = Words(text, Use(who), Use("measure"))
                raise NotApplicable(who, Fault("groups", required, cure="Make an Audit without them"))
            if name != "probable" and getattr(self, name) is not None:
                required = Words(f"is not honoured by {{}}{because}; {{}} does", Use(who), Use("measure"))
                raise NotApplicable(who, Fault(name, required, cure="Make an Audit without it"))

    def cuts(self) -> list[tuple[str, Self]]:
        """An ordered decision cut between any two of its labels: 'refer or above', and the audit of that decision.

        From the lowest cut to the highest; cuts that part the same people are one.
        """
        assert self.order is not None
        told = self.decision_labels()
        strange = [label for label in told if label not in self.order]
        if strange:
            required = (
                f"lacks labels of {self.roles.subject('decision')}: {', '.join(map(repr, strange[:6]))}"
            )
            raise InputError("Audit", Fault("order", required, cure="Give every label its place"))
        present = [label for label in self.order if label in told]
        found = []
        for place in range(1, max(len(present), 2)):
            counted = {**self.positive, "decision": present[place:] or present}
            other = self.with_roles(order=None, positive=counted, favourable_label=self.favourable)
            name = f"{present[min(place, len(present) - 1)]}{' or above' if place < len(present) - 1 else ''}"
            found.append((name, other))
        return found

    def at(self, threshold: float) -> Self:
        """The same audit, decided at another threshold of its score.

        Parameters
        ----------
        threshold : float
            The decision is 1 where the score is at or above it.

        Returns
        -------
        Audit
            Of the same data.
        """
        if self.score is None or self.threshold is None:
            cure = Words("name the score with {} and its threshold with {}", Set("score"), Set("threshold"))
            raise InputError(
                "Audit", Fault("threshold", "of another value needs a score that is cut", cure=cure)
            )
        return self.with_roles(threshold=float(threshold))

    def lacking(self, columns: Collection[str]) -> Self:
        """The same audit, whose rows may lack these columns: they are kept, with NaN."""
        return self.with_roles(may_lack=frozenset(columns))

    def sampled(self, seed: int) -> Self:
        """The same audit for methods that fit models to rows: of very many, `rows` reads a sample drawn by the seed.

        Cells still count everyone.
        """
        return self.with_roles(drawn_by=seed) if self.very_many else self

    # -- the two ways to the data ---------------------------------------------------------------------------
    def cells(
        self,
        by: Sequence[str],
        metrics: Sequence[Metric] = (),
        roles: Sequence[str] = (),
        *,
        unknown: bool = False,
        complete: bool = False,
        weights: bool = False,
        who: str = "Audit",
    ) -> Cells:
        """Counts per distinct combination, by one grouping query where the data lives.

        Where missing values drop their row, it is left out for want of an attribute or a role asked for, and of the
        metrics that need what it lacks; `left_out` counts them.

        Parameters
        ----------
        by : sequence of str
            Attributes whose labels the cells tell apart.
        metrics : sequence of Metric
            What is counted and summed in each cell.
        roles : sequence of str
            Roles whose values the cells tell apart as well.
        unknown : bool
            Whether rows that lack such a role are kept, with NaN for it.
        complete : bool
            Whether rows that lack anything the audit names are left out.
        weights : bool
            Whether sums of weights are wanted, where rows have weights and are people of their own.
        who : str
            Whom a fault names.

        Returns
        -------
        Cells
            One line per combination, sorted by labels.
        """

        def count() -> Cells:
            return count_cells(
                self, by, metrics, roles, unknown=unknown, complete=complete, weights=weights, who=who
            )

        if self.kept is None:
            return count()
        question = (tuple(by), tuple(roles), unknown, complete, weights)
        cells = next(
            (cells for asked, about, cells in self.kept if asked == question and _same(about, metrics)), None
        )
        if cells is None:
            cells = count()
            self.kept.append((question, tuple(metrics), cells))
        return replace(cells, left_out=dict(cells.left_out))  # methods add to what was left out

    def rows(
        self,
        *,
        attributes: Sequence[str] = (),
        metrics: Sequence[Metric] = (),
        roles: Sequence[str] = (),
        columns: Sequence[str] = (),
        units: bool = False,
        pairs: bool = False,
        complete: bool = True,
        who: str = "Audit",
    ) -> Rows:
        """The chosen columns as arrays, one entry per row, always in the same order.

        Where missing values drop their row, complete rows lack nothing that the audit names, so that several calls
        give the same rows; otherwise a row is left out for want of what is asked for here, and of the metrics that
        need what it lacks.

        Parameters
        ----------
        attributes : sequence of str
            Columns read as labels.
        metrics : sequence of Metric
            Metrics whose value and condition are evaluated for each row.
        roles : sequence of str
            Roles read as numbers.
        columns : sequence of str
            Columns read as numbers.
        units : bool
            Whether the person of each row is wanted.
        pairs : bool
            Whether the person whose answers are compared is wanted.
        complete : bool
            Whether rows that lack anything the audit names are left out.
        who : str
            Whom a fault names.

        Returns
        -------
        Rows
            The arrays, with a fingerprint of them.
        """
        return read_rows(
            self, attributes=attributes, metrics=metrics, roles=roles, numbers=columns, complete=complete, who=who,
            persons=[role for role, wanted in (("unit", units), ("pair", pairs)) if wanted],
        )  # fmt: skip

    def design(self, features: Sequence[str] | None = None, *, who: str = "Audit") -> Design:
        """Features as a numeric matrix in the order of rows().

        Parameters
        ----------
        features : sequence of str, optional
            Columns; the audit's features by default.
        who : str
            Whom a fault names.

        Returns
        -------
        Design
            Numbers as they are, labels as one column of 0 and 1 each.
        """
        chosen = self._features(who, features)
        numeric = self._numeric(chosen)
        rows = self.rows(
            attributes=[name for name in chosen if name not in numeric], columns=numeric, who=who
        )
        width = len(numeric) + sum(len(coded.labels) for coded in rows.attributes.values())
        check_memory(who, 16 * rows.n * width, f"a matrix of {rows.n:,} rows and {width:,} columns")
        blocks: list[Floats] = []
        names: list[str] = []
        for name in chosen:
            if name in numeric:
                blocks.append(rows.columns[name][:, None])
                names.append(name)
            else:
                coded = rows.attributes[name]
                blocks.append((coded.codes[:, None] == np.arange(len(coded.labels))).astype(float))
                names += [f"{name}={label}" for label in coded.labels]
        feature_of = np.repeat(np.arange(len(chosen), dtype=np.int32), [block.shape[1] for block in blocks])
        return Design(np.hstack(blocks), tuple(names), feature_of, chosen)

    def features_frame(self, features: Sequence[str] | None = None, *, who: str = "Audit") -> Any:
        """Features as a dataframe that scikit-learn takes, in the order of rows().

        Parameters
        ----------
        features : sequence of str, optional
            Columns; the audit's features by default.
        who : str
            Whom a fault names.

        Returns
        -------
        object
            A frame of the kind the data came in, or pandas or Polars where one is installed.
        """
        import pyarrow as pa

        chosen = self._features(who, features)
        expressions = [self.attribute_expression(name).alias(name) for name in chosen]
        frame = self.lazy(chosen, complete=self.roles.needed, in_order=True).select(*expressions)
        return frame_for_estimators(pa.table(self.drawn(collect(frame))), self.frame)

    def _numeric(self, features: Sequence[str]) -> list[str]:
        """Those that a model sees as numbers: not cut, and no labels."""
        return [
            name for name in features if name not in self.bins and self.kind(name) in ("bool", "int", "float")
        ]

    def _features(self, who: str, features: Sequence[str] | None) -> tuple[str, ...]:
        listed = self.features if features is None else features
        chosen = (listed,) if isinstance(listed, str) else tuple(listed)
        if not chosen:
            cure = Words("name columns{}", Elsewhere("features", "features", of="Audit"))
            raise InputError(who, Fault("features", "is missing", cure=cure))
        for name in chosen:
            self.check_column(who, "features", name)
        return chosen


def _same(some: Sequence[Metric], others: Sequence[Metric]) -> bool:
    """Whether metrics are the same objects: roles in a metric do not compare as values do."""
    return len(some) == len(others) and all(map(operator.is_, some, others))
