"""The data and its roles: the only input object of every method."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from functools import partial
from html import escape
from typing import Any, Self

import numpy as np

from fairtrial._audit import arguments as a
from fairtrial._audit.arrays import FromArrays
from fairtrial._audit.cells import (
    Cells,
    Coded,
    Ints,
    LeftOut,
    Moments,
    Rows,
    digest_of,
    distinct,
    sum_by,
    sum_hashes,
)
from fairtrial._audit.columns import MOST_ROWS
from fairtrial._audit.definitions import definition_words, recorded_definition, register
from fairtrial._audit.evaluated import count_lacking, evaluate, refuse_real_outcome, weigh
from fairtrial._audit.features import Features
from fairtrial._audit.kept_cells import KeptCells
from fairtrial._audit.probable_groups import probable_rows, split_groups
from fairtrial._audit.query import Query, Table, check_asked
from fairtrial._audit.schema import ROLE_NAMES, Declared, column_list, positive_labels
from fairtrial._audit.shown_roles import shown_roles
from fairtrial._audit.source import Source
from fairtrial._errors import (
    FairtrialWarning,
    Fault,
    Faults,
    InputError,
    NotApplicable,
    Note,
    Set,
    Use,
    Words,
)
from fairtrial._metrics.metric import Metric
from fairtrial._options import plain


class Audit(FromArrays, Features):
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
        given = {name: plain(value) for name, value in locals().items() if name not in ("self", "data")}
        given["define"] = None  # looked at by itself: a mask is no number
        if not isinstance(bins, Mapping | None):
            required = "must be a table of attributes with their edges or a number of bins"
            raise InputError("Audit", Fault("bins", required, got=bins))
        source = Source(data)
        named, probable = split_groups(groups)
        defined = register(source, data, {} if define is None else define)
        declared = Declared(
            columns={name: given[name] for name in ROLE_NAMES},
            threshold=given["threshold"],
            groups=column_list("groups", named) or tuple(defined),
            features=column_list("features", features),
            positive=positive_labels(positive),
            favourable=given["favourable"],
            bins=dict(bins or {}),
            missing=given["missing"],
            unlabelled=given["unlabelled"],
            define=defined,
            order=given["order"],
            probable=probable,
        )
        declared.check(source.columns, given, Audit.__init__)
        super().__init__(source, declared)
        self._levels: dict[str, tuple[str, ...]] = {}
        self.names_attributes = (
            False  # in a trial all groups are in play at once, whatever one section compares
        )
        self._labelled: tuple[tuple[int, int], ...] | None = None
        self.kept: KeptCells | None = None  # what was counted, where several questions ask the same

    # -- what it is -----------------------------------------------------------------------------------------
    def __repr__(self) -> str:
        return f"Audit({', '.join(f'{name}: {text}' for name, text in shown_roles(self))})"

    def _repr_html_(self) -> str:
        """The roles as a table, for a notebook; nothing is read from the data, and names are escaped."""
        rows = "".join(
            f"<tr><th scope='row'>{escape(name)}</th><td>{escape(text)}</td></tr>"
            for name, text in shown_roles(self)
        )
        return f"<table><caption>Audit</caption><tbody>{rows}</tbody></table>"

    @property
    def outcome_is_real(self) -> bool:
        """Whether the outcome holds numbers other than 0 and 1 (known after the first query)."""
        if self.found_real_outcome is None and self.outcome_may_be_real:
            self.cells((), roles=("outcome",))
        return bool(self.found_real_outcome)

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
        if attribute not in self._levels:
            self.cells((attribute,))
        return self._levels[attribute]

    def labelled(self) -> tuple[tuple[int, int], ...]:
        """How many outcomes are known, and how many people there are, among decisions of 0 and of 1.

        Returns
        -------
        tuple of two pairs
            Empty where no row with a missing outcome is left out.
        """
        if not self.keeps_unlabelled or self.outcome is None or not self.has("decision"):
            return ()
        if self._labelled is None:
            cells = self.cells((), roles=("decision", "outcome"), unknown=True)
            known = ~np.isnan(cells.roles["outcome"])
            sides = [cells.roles["decision"] == value for value in (0.0, 1.0)]
            self._labelled = tuple(
                (int(cells.rows[side & known].sum()), int(cells.rows[side].sum())) for side in sides
            )
        return self._labelled

    def check(self) -> None:
        """Look for all faults of the data now, in one message.

        Raises
        ------
        InputError
            With every fault of the groups, roles and features.
        """
        roles = [name for name in ("decision", "outcome", "score") if self.has(name)]
        faults = Faults("Audit")
        if self.order is not None:
            roles.remove("decision")
            try:
                self.cuts()
            except InputError as error:
                faults.extend(error)
        try:
            _ = self.favourable  # looks its label up among the data's
        except InputError as error:
            faults.extend(error)
        for name in self.probable:
            try:
                probable_rows("Audit", self, name)
            except InputError as error:
                faults.extend(error)
        known = [name for name in self.groups if name not in self.probable]
        for attributes, chosen in [((name,), ()) for name in known] + [((), (name,)) for name in roles]:
            try:
                self.cells(attributes, roles=chosen, who="Audit")
            except InputError as error:
                faults.extend(error)
        try:
            self.check_features()
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
        """The data's fingerprint, roles and rules, and the facts a method adds.

        Parameters
        ----------
        data : Cells or Rows, optional
            What the numbers were made from; the audit's own counts by default.
        **facts
            What a method adds, such as its arguments.

        Returns
        -------
        dict
            Plain values, for the record of a result.
        """
        digest = self.digest() if data is None else self._digest_of(data)
        roles = {
            name: getattr(self, name)
            for name in (*ROLE_NAMES, "threshold")
            if getattr(self, name) is not None
        }
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
        """What every reader must know about these data.

        Parameters
        ----------
        complete : bool
            Whether only rows without any missing value were used.

        Returns
        -------
        tuple of Note
            Assumptions, and what was left out.
        """
        notes = []
        if self.pair is not None:
            text = "People are taken as independent of each other; each person's answers are compared with one another."
            notes.append(Note("independent-pairs", text))
        elif self.unit is None:
            text = "Rows are taken as independent people; a unit names repeated ones."
            notes.append(Note("independent-rows", text))
        else:
            text = "Units are taken as independent of each other; the rows of one unit need not be."
            notes.append(Note("independent-units", text))
        if self.has("decision") or self.has("score"):
            notes.append(Note("not-fitted-here", "The model is taken as not fitted on these rows."))
        constant = self.constant_note()
        if constant is not None:
            notes.append(constant)
            warnings.warn(constant.text, FairtrialWarning, stacklevel=3)
        if self.drawn_by is not None:
            text = f"Of {self.count_rows():,} rows a random sample of {self.count_read():,} was fitted to and tested on"
            notes.append(Note("sampled-rows", text + "; intervals and p-values are of these."))
        if self.define:
            said = "; ".join(f"{name}: {definition_words(part)}" for name, part in self.define.items())
            notes.append(Note("defined-groups", f"Groups defined for this audit: {said}."))
        for name, labels in self.alike.items():
            if labels:
                shown = ", ".join(repr(label) for label in labels[:6])
                text = f"{name!r} has the labels {shown}, which differ only by case or blanks: if they mean the same, "
                note = Note("alike-labels", text + "write them alike in the data.")
                notes.append(note)
                warnings.warn(note.text, FairtrialWarning, stacklevel=3)
        dropped, total = self.count_dropped() if complete else (0, 0)
        if dropped:
            text = f"{dropped:,} of {total:,} rows had missing values and were dropped."
            notes.append(Note("dropped-missing", text, dropped))
        return tuple(notes)

    def refuse(self, who: str, *roles: str, why: str = "") -> None:
        """Refuse survey weights, repeated rows, pairs or unknown outcomes by name, for methods that do not honour them.

        Parameters
        ----------
        who : str
            The method that refuses.
        *roles : str
            'weight', 'unit', 'pair', 'order', 'unlabelled' or 'probable'.
        why : str
            The reason, as a sentence that goes on after "because".
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

        Returns
        -------
        list of pairs
            From the lowest cut to the highest; cuts that part the same people are one. None without an `order`.
        """
        if self.order is None:
            return []
        told = self.decision_labels()
        strange = [label for label in told if label not in self.order]
        if strange:
            required = f"lacks labels of {self.subject('decision')}: {', '.join(map(repr, strange[:6]))}"
            raise InputError("Audit", Fault("order", required, cure="Give every label its place"))
        present = [label for label in self.order if label in told]
        found = []
        for place in range(1, max(len(present), 2)):
            other = copy(self)
            other.order, other._labelled, other.constant_decision = None, None, None
            other.positive = {**self.positive, "decision": present[place:] or present}
            other._favourable = self.favourable
            name = f"{present[min(place, len(present) - 1)]}{' or above' if place < len(present) - 1 else ''}"
            found.append((name, other))
        return found

    def at(self, threshold: float) -> Audit:
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
        other = copy(self)
        other.threshold = float(threshold)
        other._labelled, other.constant_decision, other._dropped = None, None, None
        other.forget()
        return other

    def lacking(self, columns: Collection[str]) -> Audit:
        """The same audit, whose rows may lack these columns: they are kept, with NaN.

        Parameters
        ----------
        columns : collection of str
            Columns of roles, features or numbers.

        Returns
        -------
        Audit
            Of the same data.
        """
        other = copy(self)
        other.may_lack = frozenset(columns)
        other._dropped = None
        other.forget()
        return other

    def sampled(self, seed: int) -> Audit:
        """The same audit for methods that fit models to rows: of very many, `rows` reads a random sample.

        Cells still count everyone.

        Parameters
        ----------
        seed : int
            Same seed, same rows.

        Returns
        -------
        Audit
            Of the same data.
        """
        if not self.very_many:
            return self
        other = copy(self)
        other.drawn_by = seed
        other.forget()
        return other

    def forget(self) -> None:
        """Forget what was read so far; for a copy whose bins are others."""
        self._levels, self._edges = {}, {}

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
        check_asked(who, self, by, metrics, roles)
        question = (tuple(by), tuple(roles), unknown, complete, weights)
        count = partial(
            self._counted, by, metrics, roles, unknown=unknown, complete=complete, weights=weights, who=who
        )
        return count() if self.kept is None else self.kept.find(self, question, metrics, count)

    def _counted(
        self, by: Sequence[str], metrics: Sequence[Metric], roles: Sequence[str], *, unknown: bool, complete: bool,
        weights: bool, who: str,
    ) -> Cells:  # fmt: skip
        query = Query(self, who, complete=complete)
        query.ask(by, metrics, roles, unknown=unknown)
        alone = self.unit is None and self.drawn_by is None and self.source.counted is None
        if weights and self.weight is not None and alone:
            query.weights()
        table = query.grouped()
        columns = self.labels_of(table, by)
        keys = [coded.codes.astype(np.int64) for coded in columns.values()]
        role_values = [table.role(name) for name in roles]
        first, inverse = distinct(keys, role_values, len(table.n))
        cells = Cells(
            attributes=tuple(by),
            labels={name: coded.labels for name, coded in columns.items()},
            codes=np.array([key[first] for key in keys], dtype=np.int32).reshape(len(keys), len(first)).T,
            rows=sum_by(inverse, table.n, len(first)),
            roles={name: values[first] for name, values in zip(roles, role_values, strict=True)},
            columns=tuple(sorted(query.columns)),
            hashes=None if table.hashes is None else sum_hashes(inverse, table.hashes, len(first)),
        )
        for metric in metrics:
            moments = self._evaluated(who, metric, table)
            cells.add(metric.name, moments.merged(inverse, len(first)))
            cells.left_out[metric.name] = self._left_out(metric, table, moments.count, by)
            sides = weigh(metric, table, outcome_real="outcome" in metric.needs and self.outcome_is_real)
            if sides is not None:
                cells.weights[metric.name] = sides.merged(inverse, len(first))
        return cells

    def _left_out(self, metric: Metric, table: Table, count: Ints, by: Sequence[str]) -> LeftOut:
        if self.missing != "drop":
            return LeftOut(int(count.sum()), 0, 0)
        lacking, rows = count_lacking(metric, table, count)
        ungrouped = self.count_rows() - int(table.n.sum())
        needed = self._needed(metric) if lacking else ()
        return LeftOut(
            rows + ungrouped, ungrouped, lacking, needed, self._unlabelled(by) if ungrouped else ()
        )

    def _unlabelled(self, by: Sequence[str]) -> tuple[str, ...]:
        """What rows without a label lack: a group, or a column that is none of the groups."""
        lacking = [name for name in by if name not in self.groups and self.lacks(name)]
        groups = any(self.lacks(name) for name in by if name in self.groups) or not lacking
        return (*(["a group"] if groups else []), *map(repr, lacking))

    def _needed(self, metric: Metric) -> tuple[str, ...]:
        """What the metric needs and some rows lack."""
        roles = {f"the {name}": self.role_columns(name) for name in sorted(metric.needs)}
        named = {**roles, **{repr(name): [name] for name in metric.columns}}
        return tuple(name for name, columns in named.items() if any(map(self.lacks, columns)))

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
        check_asked(who, self, attributes, metrics, roles)
        self._check_fetchable(who)
        query = Query(self, who, complete=complete)
        query.ask(attributes, metrics, roles, real="outcome" in roles and self.outcome_is_real)
        for name in columns:
            self.check_column(who, "columns", name)
            query.number_column(name)
        persons = [role for role, wanted in (("unit", units), ("pair", pairs)) if wanted]
        for role in persons:
            query.person(role)
        table = query.plain()
        found = Rows(n=len(table.n), attributes=self.labels_of(table, attributes))
        found.roles.update((name, table.role(name)) for name in roles)
        found.columns.update((name, table.value(f"column {name}")) for name in columns)
        for metric in metrics:
            moments = self._evaluated(who, metric, table)
            found.values[metric.name], found.given[metric.name] = moments.total, moments.count > 0
        found.attributes.update((role, table.labels[f"{role} {getattr(self, role)}"]) for role in persons)
        object.__setattr__(found, "digest", digest_of(found))
        return found

    def _check_fetchable(self, who: str) -> None:
        """Rows of a cluster are fetched only where they are few: a sample is the caller's to draw and to name."""
        if self.source.on_cluster and self.very_many:
            required = f"stays in Spark, and what is asked of {{}} needs its {self.count_rows():,} rows"
            cure = f"Give a sample of at most {MOST_ROWS:,} rows, drawn with a seed: sample(fraction, seed)"
            raise NotApplicable(who, Fault("data", Words(required, Use(who)), cure=cure))

    # -- checks and helpers ---------------------------------------------------------------------------------
    def labels_of(self, table: Table, attributes: Sequence[str]) -> dict[str, Coded]:
        """The labels of a query's lines, remembered as the attributes' levels."""
        found = {name: table.labels[name] for name in attributes}
        self._levels.update({name: coded.labels for name, coded in found.items()})
        return found

    def _evaluated(self, who: str, metric: Metric, table: Table) -> Moments:
        real = "outcome" in metric.needs and self.outcome_is_real
        if real:
            refuse_real_outcome(who, self, metric)
        return evaluate(metric, table, outcome_real=real)
