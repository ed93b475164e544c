"""The data and its roles: the only input object of every method."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np

from fairtrial import options
from fairtrial.data.cells import Cells, Design, Floats, Rows, digest_of, distinct, pool_m2, sum_by
from fairtrial.data.query import SCORE_BIN, Query, evaluate
from fairtrial.data.roles import ROLE_NAMES, Roles
from fairtrial.data.schema import column_list
from fairtrial.data.source import Source, collect, frame_for_estimators
from fairtrial.errors import FairtrialWarning, Faults, InputError, NotApplicable, Note
from fairtrial.metrics.table import ROLES, Metric
from fairtrial.options import Option

Outcome = Annotated[str | None, Option("Column of what really happened.")]
Decision = Annotated[str | None, Option("Column of the decision.")]
Score = Annotated[str | None, Option("Column of the score.")]
Threshold = Annotated[float | None, Option("Decision = score at or above it.")]
Groups = Annotated[
    str | Sequence[str], Option("Columns of the attributes people are compared by.", many=True, flag="by")
]
Features = Annotated[
    str | Sequence[str], Option("Columns of what is known about people.", many=True, flag="feature")
]
Positive = Annotated[
    str | float | bool | Mapping[str, Any] | None,
    Option(
        "Label that counts as 1; for one of the two only: decision=LABEL, outcome=LABEL.",
        form=options.label,
        many=True,
    ),
]
Bins = Annotated[
    Mapping[str, int | Sequence[float]] | None,
    Option("Cut a column of numbers: age=25,45 (edges) or age=4 (quarters).", form=options.cuts, many=True),
]
Missing = Annotated[
    Literal["error", "drop", "category"],
    Option("Missing values: refused, their rows left out, or, for groups, a group of their own."),
]
Weight = Annotated[str | None, Option("Column of survey weights.")]
Unit = Annotated[str | None, Option("Column that names the person of repeated rows.")]


class Audit(Roles):
    """Decisions, outcomes or scores of people, and who they are.

    Parameters: `data` a dataframe (pandas, Polars, PyArrow, DuckDB, PySpark) or a path or glob of CSV or Parquet;
    `outcome`, `decision`, `score`, `weight`, `unit` name columns; `threshold` makes the decision from the score
    (score ≥ threshold); `groups` and `features` list columns; `positive` is the label that counts as 1, for both
    binary roles or as {"decision": …, "outcome": …}; `bins` cuts continuous columns, {"age": [25, 45]} or
    {"age": 4} for quarters; `missing` is "error", "drop" or "category".

    >>> import fairtrial
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score",
    ...                         threshold=5, groups="race")
    >>> audit.levels("race")
    ('African-American', 'Asian', 'Caucasian', 'Hispanic', 'Native American', 'Other')
    """

    def __init__(
        self,
        data: object,
        *,
        outcome: Outcome = None,
        decision: Decision = None,
        score: Score = None,
        threshold: Threshold = None,
        groups: Groups = (),
        features: Features = (),
        positive: Positive = None,
        bins: Bins = None,
        missing: Missing = "error",
        weight: Weight = None,
        unit: Unit = None,
    ) -> None:
        super().__init__(
            Source(data),
            {"outcome": outcome, "decision": decision, "score": score, "weight": weight, "unit": unit},
            threshold=threshold,
            groups=column_list("groups", groups),
            features=column_list("features", features),
            positive=dict(positive) if isinstance(positive, Mapping) else _both(positive),
            bins=dict(bins or {}),
            missing=missing,
        )
        self._levels: dict[str, tuple[str, ...]] = {}
        self._digest: str | None = None

    # -- what it is -----------------------------------------------------------------------------------------
    @property
    def outcome_is_real(self) -> bool:
        """Whether the outcome holds numbers other than 0 and 1 (known after the first query)."""
        if self._outcome_real is None and self.outcome_may_be_real:
            self.cells((), roles=("outcome",))
        return bool(self._outcome_real)

    def levels(self, attribute: str) -> tuple[str, ...]:
        """The labels an attribute takes, sorted."""
        if attribute not in self._levels:
            self.cells((attribute,))
        return self._levels[attribute]

    def check(self) -> None:
        """Look for all faults of the data now, in one message."""
        roles = [name for name in ("decision", "outcome", "score") if self.has(name)]
        faults = Faults("Audit")
        for attributes, chosen in [((name,), ()) for name in self.groups] + [((), (name,)) for name in roles]:
            try:
                self.cells(attributes, roles=chosen, who="Audit")
            except InputError as error:
                faults.extend(error)
        try:
            if self.features:
                self.design()
        except InputError as error:
            faults.extend(error)
        faults.raise_any()

    def digest(self) -> str:
        """A fingerprint of the data: group labels, roles and integer counts."""
        if self._digest is None:
            roles = [name for name in ("decision", "outcome") if self.has(name)]
            roles = [name for name in roles if not (name == "outcome" and self.outcome_is_real)]
            self._digest = digest_of(self.cells(self.groups, roles=roles))
        return self._digest

    def provenance(self, data: Cells | Rows | None = None, **facts: Any) -> dict[str, Any]:
        """Versions, the data's fingerprint, size and roles, and the facts a method adds."""
        digest = self.digest() if data is None else data.digest if isinstance(data, Rows) else digest_of(data)
        roles = {
            name: getattr(self, name)
            for name in (*ROLE_NAMES, "threshold")
            if getattr(self, name) is not None
        }
        return {"data": digest, "roles": roles, "missing": self.missing, "frame": self.frame, **facts}

    def notes(self) -> tuple[Note, ...]:
        """What every reader must know about these data."""
        notes = []
        if self.unit is None:
            notes.append(
                Note(
                    "independent-rows", "Rows are taken as independent people; name repeated ones with unit=."
                )
            )
        if self.has("decision") or self.has("score"):
            notes.append(Note("not-fitted-here", "The model is taken as not fitted on these rows."))
        constant = self.constant_text()
        if constant is not None:
            notes.append(Note("constant-decision", constant))
            warnings.warn(constant, FairtrialWarning, stacklevel=3)
        dropped = self._count_dropped()
        if dropped[0]:
            notes.append(
                Note(
                    "dropped-missing",
                    f"{dropped[0]:,} of {dropped[1]:,} rows had missing values and were dropped.",
                )
            )
        return tuple(notes)

    def refuse(self, who: str, *, weight: bool = True, unit: bool = True) -> None:
        """Refuse survey weights and repeated rows by name, for methods that do not honour them yet."""
        for name, refused in (("weight", weight), ("unit", unit)):
            if refused and getattr(self, name) is not None:
                raise NotApplicable(
                    who, f"{name!r} is not honoured by {who} yet; measure does. Make an Audit without it"
                )

    # -- the two ways to the data ---------------------------------------------------------------------------
    def cells(
        self,
        by: Sequence[str],
        metrics: Sequence[Metric] = (),
        roles: Sequence[str] = (),
        *,
        who: str = "Audit",
    ) -> Cells:
        """Counts per distinct combination, by one grouping query where the data lives."""
        self._check_asked(who, by, metrics, roles)
        query = Query(self, who)
        for name in by:
            query.attribute(name)
        for name in roles:
            query.role(name)
        for metric in metrics:
            query.metric(metric)
        table = query.grouped()
        columns = {name: table.labels[name] for name in by}
        self._levels.update({name: coded.labels for name, coded in columns.items()})
        keys = [coded.codes.astype(np.int64) for coded in columns.values()]
        role_values = [_role_values(table, name) for name in roles]
        first, inverse = distinct(keys, role_values, len(table.n))
        rows = sum_by(inverse, table.n, len(first))
        cells = Cells(
            attributes=tuple(by),
            labels={name: coded.labels for name, coded in columns.items()},
            codes=np.array([key[first] for key in keys], dtype=np.int32).reshape(len(keys), len(first)).T,
            rows=rows,
            roles={name: values[first] for name, values in zip(roles, role_values, strict=True)},
        )
        for metric in metrics:
            count, total, m2, binary = evaluate(self, who, metric, table)
            cells.count[metric.name] = sum_by(inverse, count, len(first))
            cells.total[metric.name] = np.bincount(inverse, total, len(first)).astype(np.float64)
            cells.m2[metric.name] = pool_m2(inverse, count, total, m2, len(first))
            cells.binary[metric.name] = binary
        return cells

    def rows(
        self,
        *,
        attributes: Sequence[str] = (),
        metrics: Sequence[Metric] = (),
        roles: Sequence[str] = (),
        columns: Sequence[str] = (),
        units: bool = False,
        who: str = "Audit",
    ) -> Rows:
        """The chosen columns as arrays, one entry per row, always in the same order."""
        self._check_asked(who, attributes, metrics, roles)
        query = Query(self, who)
        for name in attributes:
            query.attribute(name)
        for name in roles:
            if name == "outcome" and self.outcome_is_real:
                query.role_value("outcome")
            else:
                query.role(name)
        for metric in metrics:
            query.metric(metric)
        for name in columns:
            self.check_column(who, "columns", name)
            query.column(name)
        if units:
            query.unit()
        table = query.plain()
        found = Rows(n=len(table.n), attributes={name: table.labels[name] for name in attributes})
        self._levels.update({name: coded.labels for name, coded in found.attributes.items()})
        for name in roles:
            found.roles[name] = (
                table.total["outcome"]
                if name not in table.binary | table.numbers
                else _role_values(table, name)
            )
        for name in columns:
            found.columns[name] = table.total[f"column {name}"]
        for metric in metrics:
            count, total, _, _ = evaluate(self, who, metric, table)
            found.values[metric.name], found.given[metric.name] = total, count > 0
        if units:
            found.attributes["unit"] = table.labels[f"unit {self.unit}"]
        object.__setattr__(found, "digest", digest_of(found))
        return found

    def design(self, features: Sequence[str] | None = None, *, who: str = "Audit") -> Design:
        """Features as a numeric matrix in the order of rows()."""
        chosen = self._features(who, features)
        numeric = [
            name for name in chosen if name not in self.bins and self.kind(name) in ("bool", "int", "float")
        ]
        rows = self.rows(
            attributes=[name for name in chosen if name not in numeric], columns=numeric, who=who
        )
        blocks: list[Floats] = []
        names: list[str] = []
        feature_of: list[int] = []
        for i, name in enumerate(chosen):
            if name in numeric:
                blocks.append(rows.columns[name][:, None])
                names.append(name)
                feature_of.append(i)
            else:
                coded = rows.attributes[name]
                blocks.append((coded.codes[:, None] == np.arange(len(coded.labels))).astype(float))
                names += [f"{name}={label}" for label in coded.labels]
                feature_of += [i] * len(coded.labels)
        return Design(np.hstack(blocks), tuple(names), np.array(feature_of, dtype=np.int32), chosen)

    def features_frame(self, features: Sequence[str] | None = None, *, who: str = "Audit") -> Any:
        """Features as a dataframe that scikit-learn takes, in the order of rows()."""
        import pyarrow as pa

        chosen = self._features(who, features)
        expressions = [self.attribute_expression(name).alias(name) for name in chosen]
        frame = self.lazy(chosen, in_order=True).select(*expressions)
        return frame_for_estimators(pa.table(collect(frame)), self.frame)

    # -- checks and helpers ---------------------------------------------------------------------------------
    def _check_asked(
        self, who: str, by: Sequence[str], metrics: Sequence[Metric], roles: Sequence[str]
    ) -> None:
        faults = Faults(who)
        for name in by:
            try:
                self.check_column(who, "by", name)
            except InputError as error:
                faults.extend(error)
        for metric in metrics:
            if metric.each is not None:
                faults.add(
                    f"{metric.name!r} compares the outcome in each score bin: measure takes it; elsewhere name "
                    "one bin, Metric('…', role.outcome, given={role.score_bin: '…'})"
                )
            for need in sorted(metric.needs):
                if not self.has(need):
                    cut = ", or cut the score with threshold=" if need == "decision" and self.score else ""
                    faults.add(
                        f"{metric.name!r} needs the {need}: name its column with {need}= in the Audit{cut}"
                    )
            for name in metric.columns:
                try:
                    self.check_column(who, "metric", name)
                except InputError as error:
                    faults.extend(error)
        for name in roles:
            if not self.has(ROLES[name].needs[0] if name == "score_bin" else name):
                faults.add(f"the {name} is needed: name its column with {name}= in the Audit")
        faults.raise_any()

    def _features(self, who: str, features: Sequence[str] | None) -> tuple[str, ...]:
        chosen = (
            self.features
            if features is None
            else (features,)
            if isinstance(features, str)
            else tuple(features)
        )
        if not chosen:
            raise InputError(who, "'features' is missing: name columns, here or as features= of the Audit")
        for name in chosen:
            self.check_column(who, "features", name)
        return chosen


def _both(positive: object) -> dict[str, Any]:
    return {} if positive is None else {"decision": positive, "outcome": positive}


def _role_values(table: Any, name: str) -> Floats:
    if name == "score_bin":
        codes: Floats = table.labels[SCORE_BIN].codes.astype(float)
        return codes
    values: Floats = table.binary[name] if name in table.binary else table.numbers[name]
    return values
