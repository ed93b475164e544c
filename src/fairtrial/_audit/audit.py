"""The data and its roles: the only input object of every method."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

from fairtrial._audit import arguments as a
from fairtrial._audit.cells import Cells, FeatureMatrix, Rows
from fairtrial._audit.columns import Columns
from fairtrial._audit.counting import (
    count_cells,
    count_labelled,
    feature_matrix,
    features_frame,
    outcome_is_real,
    read_rows,
)
from fairtrial._audit.definitions import definition_expression, from_columns, from_model, register
from fairtrial._audit.direction import check_audit
from fairtrial._audit.notes import data_notes, digest, provenance
from fairtrial._audit.role_expressions import decision_is_real
from fairtrial._audit.roles import OWN_NAMES, ROLE_NAMES, Roles
from fairtrial._audit.schema import column_list, positive_labels, split_groups
from fairtrial._audit.source import Source
from fairtrial._audit.totals import counted_source
from fairtrial._errors import Fault, InputError, Note, Set, Words
from fairtrial._metrics.values import Metric
from fairtrial._options import plain

NOT_ROLES = ("self", "data", "__class__")
Kept = dict[tuple[Any, ...], tuple[tuple[Metric, ...], Cells]]


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Audit(Columns):
    """Decisions, outcomes or scores of people, and who they are: the input of every method.

    Parameters
    ----------
    data : object
        A dataframe of any kind, a dict of columns, an open file, or a path, a glob or a list of files.
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
    score_favours : {'high', 'low'} or None, default None
        The scores that are good for a person; without it no score harms anybody.
    bins : dict or None, default None
        Cuts of continuous columns: edges, such as age=25,45 or age=62, or equal parts, such as age=4.
    merge : dict or None, default None
        Labels of a column that mean the same, such as 'sex: M=m|Male, F=f|Female'.
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
    count : str or None, default None
        Column of how many people each row stands for, in a table of counts; no survey weights.
    total : str or None, default None
        Column of how many people a row is about, of whom the decision says how many, or which share.
    reading : dict or None, default None
        How files are read where they do not tell: sheet=Data, decimal=,, delimiter=;, encoding=cp1252.

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
        score_favours: a.ScoreFavours = None,
        bins: a.Bins = None,
        merge: a.Merge = None,
        missing: a.Missing = "error",
        unlabelled: a.Unlabelled = None,
        weight: a.Weight = None,
        unit: a.Unit = None,
        pair: a.Pair = None,
        count: a.Count = None,
        total: a.Total = None,
        reading: a.Reading = None,
    ) -> None:
        given = {name: plain(value) for name, value in locals().items() if name not in NOT_ROLES}
        given["define"] = None  # looked at by itself: a mask is no number
        if not isinstance(bins, Mapping | None):
            required = "must be a table of attributes with their edges or a number of bins"
            raise InputError("Audit", Fault("bins", required, got=bins))
        source = Source(data, reading)
        named, probable = split_groups(groups)
        defined = register(source, data, {} if define is None else define)
        roles = Roles(
            **{name: given[name] for name in (*ROLE_NAMES, *OWN_NAMES)},
            groups=column_list("groups", named) or tuple(defined),
            features=column_list("features", features),
            positive=positive_labels(positive),
            favourable_label=given["favourable"],
            bins=dict(bins or {}),
            merge={} if merge is None else merge,
            define=defined,
            probable=probable,
        )
        roles = roles.checked(source.columns, given, Audit.__init__)
        self._hold(counted_source(source, roles), roles)
        self.source.expression_of = partial(definition_expression, self)

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
            Every other argument of `Audit`; `weight`, `unit`, `pair`, `count` and `total` are arrays here.

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
        vars(other)["kept"] = {}
        return other

    # -- what it is -----------------------------------------------------------------------------------------
    def __repr__(self) -> str:
        return f"Audit({', '.join(f'{name}: {text}' for name, text in self.roles.shown())})"

    def _repr_html_(self) -> str:
        """The roles as a table, for a notebook; nothing is read from the data, and names are escaped."""
        return self.roles.html()

    @property
    def outcome_is_real(self) -> bool:
        """Whether the outcome holds numbers other than 0 and 1 (known after the first query)."""
        return outcome_is_real(self)

    @property
    def decision_is_real(self) -> bool:
        """Whether what was decided is a number, such as pay: more than two different ones."""
        return decision_is_real(self)

    def levels(self, attribute: str) -> tuple[str, ...]:
        """The labels an attribute takes in the data, sorted, as one canonical text each; its bins where it is cut."""
        if attribute in self.probable:
            return tuple(self.probable[attribute])
        if attribute not in self.levels_read:
            self.cells((attribute,))
        return self.levels_read[attribute]

    def labelled(self) -> tuple[tuple[int, int], ...]:
        """How many outcomes are known, and how many people there are, among decisions of 0 and of 1.

        Empty where no row with a missing outcome is left out.
        """
        return count_labelled(self)

    def check(self) -> None:
        """Look for all faults of groups, roles and features in the data now; an InputError names every one."""
        check_audit(self)

    def digest(self) -> str:
        """A fingerprint of the data: every value of the columns that the audit names.

        It is the same for the same rows, whatever their order and the kind of frame; Spark's is its own, and so is that
        of more than a million rows, which DuckDB makes where they lie.
        """
        return digest(self)

    def provenance(self, data: Cells | Rows | None = None, **facts: Any) -> dict[str, Any]:
        """The fingerprint of what the numbers were made from, the roles and rules, and the facts a method adds."""
        return provenance(self, data, facts)

    def notes(self, *, complete: bool = True) -> tuple[Note, ...]:
        """What every reader must know about these data; `complete` where only rows without missing values were used."""
        return data_notes(self, complete=complete)

    def refuse(self, who: str, *roles: str, why: str = "") -> None:
        """Refuse weights, repeated rows, pairs or unknown outcomes by name, for methods that do not honour them."""
        self.roles.refuse(who, *roles, why=why)

    def cuts(self) -> list[tuple[str, Self]]:
        """An ordered decision cut between any two of its labels: 'refer or above', and the audit of that decision."""
        alike = partial(self.with_roles, order=None, favourable_label=self.favourable)
        return [
            (name, alike(positive={**self.positive, "decision": labels}))
            for name, labels in self.decision_cuts()
        ]

    def at(self, threshold: float) -> Self:
        """The same data with another threshold: the decision is 1 where the score is at or above it."""
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
        """Counts per distinct combination, by one grouping query where the data lives; a line each, sorted by labels.

        Cells tell apart the labels of the attributes in `by` and the values of the `roles`, and count and sum what the
        metrics are the means of. Where missing values drop their row, it is left out for want of an attribute or a role
        asked for, and of the metrics that need what it lacks; `left_out` counts them. Rows that lack a role are kept,
        with NaN for it, where they are `unknown`; `complete` rows lack nothing that the audit names. `weights` asks for
        sums of weights, where rows have weights and are people of their own. `who` is whom a fault names.
        """
        asked = {"unknown": unknown, "complete": complete, "weights": weights}
        count = partial(count_cells, self, by, metrics, roles, who=who, **asked)
        if self.kept is None:
            return count()
        key = (tuple(by), tuple(roles), *asked.values(), *map(id, metrics))
        if key not in self.kept:
            self.kept[key] = (tuple(metrics), count())  # held with their cells, metrics keep their ids
        _, cells = self.kept[key]
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
        """The chosen columns as arrays, one entry per row, always in the same order, with a fingerprint of them.

        Attributes are read as labels, roles and columns as numbers, metrics as their value and condition of each row;
        `units` and `pairs` ask for the person of each row. Where missing values drop their row, `complete` rows lack
        nothing that the audit names, so that several calls give the same rows; otherwise a row is left out for want of
        what is asked for here, and of the metrics that need what it lacks. `who` is whom a fault names.
        """
        return read_rows(
            self, attributes=attributes, metrics=metrics, roles=roles, numbers=columns, complete=complete, who=who,
            persons=[role for role, wanted in (("unit", units), ("pair", pairs)) if wanted],
        )  # fmt: skip

    def design(self, features: Sequence[str] | None = None, *, who: str = "Audit") -> FeatureMatrix:
        """Features (the audit's by default) as a numeric matrix in the order of rows().

        Numbers are as they are, labels one column of 0 and 1 each.
        """
        return feature_matrix(self, features, who)

    def features_frame(self, features: Sequence[str] | None = None, *, who: str = "Audit") -> Any:
        """Features (the audit's by default) as a dataframe that scikit-learn takes, in the order of rows().

        It is of the kind the data came in, or of pandas or Polars where one is installed.
        """
        return features_frame(self, features, who)
