"""The data and its roles: the only input object of every method."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from fairtrial.cells import Cells, Coded, Design, Floats, Ints, Rows
from fairtrial.columns import bin_expression, bin_labels, clean_number, derived_expression, present
from fairtrial.errors import Faults, InputError, NotApplicable, choice_fault, did_you_mean
from fairtrial.frames import Kind, Source, collect, frame_for_estimators
from fairtrial.labels import canonical
from fairtrial.metrics import ROLES, Metric, role
from fairtrial.query import OTHER, Query, evaluate
from fairtrial.results import Note, provenance

_ROLE_NAMES = ("outcome", "decision", "score", "weight", "unit")


class Audit:
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
        outcome: str | None = None,
        decision: str | None = None,
        score: str | None = None,
        threshold: float | None = None,
        groups: str | Sequence[str] = (),
        features: str | Sequence[str] = (),
        positive: object = None,
        bins: Mapping[str, Any] | None = None,
        missing: str = "error",
        weight: str | None = None,
        unit: str | None = None,
    ) -> None:
        self.source = Source(data)
        self.frame = self.source.frame
        self.outcome, self.decision, self.score = outcome, decision, score
        self.threshold, self.weight, self.unit = threshold, weight, unit
        self.groups = (groups,) if isinstance(groups, str) else tuple(groups)
        self.features = (features,) if isinstance(features, str) else tuple(features)
        self.bins = dict(bins or {})
        self.missing = missing
        self.positive = dict(positive) if isinstance(positive, Mapping) else _both(positive)
        self._check_schema()
        self._kinds: dict[str, Kind] = {}
        self._levels: dict[str, tuple[str, ...]] = {}
        self._edges: dict[str, list[float]] = {}
        self._outcome_real: bool | None = None
        self._dropped: tuple[int, int] | None = None
        self._digest: str | None = None

    # -- what it is -----------------------------------------------------------------------------------------
    def has(self, name: str) -> bool:
        """Whether the audit has the role; a score with a threshold gives a decision."""
        if name == "decision":
            return self.decision is not None or (self.score is not None and self.threshold is not None)
        return getattr(self, name) is not None

    @property
    def outcome_may_be_real(self) -> bool:
        """A numeric outcome without positive= may turn out to be real-valued."""
        if self.outcome is None or "outcome" in self.positive or self._outcome_real is False:
            return False
        return self.kind(self.outcome) in ("int", "float")

    @property
    def outcome_is_real(self) -> bool:
        """Whether the outcome holds numbers other than 0 and 1 (known after the first query)."""
        if self._outcome_real is None and self.outcome_may_be_real:
            self.cells((), roles=("outcome",))
        return bool(self._outcome_real)

    def kind(self, column: str) -> Kind:
        if column not in self._kinds:
            self._kinds.update(self.source.kinds([column]))
        return self._kinds[column]

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
        roles = {name: getattr(self, name) for name in (*_ROLE_NAMES, "threshold") if getattr(self, name) is not None}
        return provenance(data=digest, roles=roles, missing=self.missing, frame=self.frame, **facts)

    def notes(self) -> tuple[Note, ...]:
        """What every reader must know about these data."""
        notes = []
        if self.unit is None:
            notes.append(Note("independent-rows", "Rows are taken as independent people; name repeated ones with unit=."))
        if self.has("decision") or self.has("score"):
            notes.append(Note("not-fitted-here", "The model is taken as not fitted on these rows."))
        dropped = self._count_dropped()
        if dropped[0]:
            notes.append(Note("dropped-missing", f"{dropped[0]:,} of {dropped[1]:,} rows had missing values and were dropped."))
        return tuple(notes)

    def refuse(self, who: str, *, weight: bool = True, unit: bool = True) -> None:
        """Refuse survey weights and repeated rows by name, for methods that do not honour them yet."""
        for name, refused in (("weight", weight), ("unit", unit)):
            if refused and getattr(self, name) is not None:
                raise NotApplicable(who, f"{name!r} is not honoured by {who} yet; measure does. Make an Audit without it")

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
        first, inverse = _distinct(keys, role_values, len(table.n))
        rows = _sum_by(inverse, table.n, len(first))
        cells = Cells(
            attributes=tuple(by),
            labels={name: coded.labels for name, coded in columns.items()},
            codes=np.array([key[first] for key in keys], dtype=np.int32).reshape(len(keys), len(first)).T,
            rows=rows,
            roles={name: values[first] for name, values in zip(roles, role_values, strict=True)},
        )
        for metric in metrics:
            count, total, m2, binary = evaluate(self, who, metric, table)
            cells.count[metric.name] = _sum_by(inverse, count, len(first))
            cells.total[metric.name] = np.bincount(inverse, total, len(first))
            cells.m2[metric.name] = _pool_m2(inverse, count, total, m2, len(first))
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
            found.roles[name] = table.total["outcome"] if name not in table.binary | table.numbers else _role_values(table, name)
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
        numeric = [name for name in chosen if name not in self.bins and self.kind(name) in ("bool", "int", "float")]
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
        frame = self.lazy(chosen).select(*expressions)
        if not self.source.ordered:
            frame = frame.sort(*chosen)
        return frame_for_estimators(pa.table(collect(frame)), self.frame)

    def lazy(self, columns: Iterable[str]) -> nw.LazyFrame[Any]:
        """The data with the audit's rule for missing values applied."""
        wanted = set(columns)
        if self.missing != "drop":
            return self.source.lazy(sorted(wanted) or [self.source.columns[0]])
        declared = self._declared()
        frame = self.source.lazy(sorted(wanted | set(declared)))
        return frame.filter(*[present(name, self.kind(name)) for name in declared])

    # -- expressions that queries are built from ------------------------------------------------------------
    def role_columns(self, name: str) -> list[str]:
        if name == "decision" and self.decision is None or name == "score_bin":
            return [str(self.score)]
        return [str(getattr(self, name))]

    def attribute_expression(self, name: str) -> nw.Expr:
        if name not in self.bins:
            return nw.col(name)
        edges = self._bin_edges(name)
        return bin_expression(clean_number(name, self.kind(name)), edges, bin_labels(edges, self.kind(name)))

    def score_bin_expression(self) -> nw.Expr:
        assert self.score is not None
        kind = self.kind(self.score)
        edges = self._bin_edges(self.score, default=10)
        return bin_expression(clean_number(self.score, kind), edges, bin_labels(edges, kind))

    def role_key(self, name: str) -> nw.Expr:
        """A binary role as a grouping key: 0, 1, null, OTHER for other numbers; raw labels for text."""
        if name == "decision" and self.decision is None:
            assert self.threshold is not None
            score = self.number("score")
            return nw.when(score >= self.threshold).then(nw.lit(1.0)).otherwise(
                nw.when(score < self.threshold).then(nw.lit(0.0))
            )
        column = str(getattr(self, name))
        kind = self.kind(column)
        if kind in ("text", "other"):
            return nw.col(column)
        number = clean_number(column, kind)
        if name in self.positive:
            label = float(self.positive[name])
            return nw.when(number == label).then(nw.lit(1.0)).otherwise(nw.when(number != label).then(nw.lit(0.0)))
        return nw.when((number == 0) | (number == 1)).then(number).otherwise(
            nw.when((number != 0) & (number != 1)).then(nw.lit(OTHER))
        )

    def number(self, name: str) -> nw.Expr:
        """A role as a real number; text labels as 0 and 1."""
        if name == "decision" and self.decision is None:
            return self.role_key("decision")
        column = str(getattr(self, name))
        kind = self.kind(column)
        if kind in ("text", "other"):
            if name in ("score", "weight"):
                raise InputError("Audit", self._not_numbers(column, name))
            raw = self._positive_labels(name, column)
            return nw.when(nw.col(column).is_in(raw)).then(nw.lit(1.0)).otherwise(
                nw.when(present(column, kind)).then(nw.lit(0.0))
            )
        if name in self.positive:
            return self.role_key(name)
        return clean_number(column, kind)

    def derived(self, name: str) -> nw.Expr:
        if name in _ROLE_NAMES:
            return self.number(name)
        return derived_expression(name, self.number("score"), self.number("outcome"))

    def column_number(self, who: str, name: str) -> nw.Expr:
        self.check_column(who, "metric", name)
        if self.kind(name) not in ("bool", "int", "float"):
            raise InputError(who, self._not_numbers(name, "value"))
        return clean_number(name, self.kind(name))

    # -- reading and texts ----------------------------------------------------------------------------------
    def read_role(self, name: str, column: Any, n: Ints, faults: Faults) -> Floats:
        """A binary role's key as 0 and 1; anything else is a fault or makes the outcome real-valued."""
        if column.type == "string" or str(column.type).endswith("string"):
            values = self._read_text_role(name, column, faults)
        else:
            values = np.asarray(column.to_numpy(zero_copy_only=False), dtype=float)
        missing = int(n[np.isnan(values)].sum())
        if missing:
            faults.add(self.missing_text(name, missing))
        if name in self.positive and not (values == 1).any():
            faults.add(f"'positive' label {self.positive[name]!r} does not occur in {self.column_text(name)}")
        elif name == "decision" and (values == OTHER).any():
            faults.add(
                f"{self.column_text(name)} holds numbers other than 0 and 1: say which counts with positive=, or name it "
                "score= with a threshold="
            )
        elif name == "outcome":
            self._outcome_real = bool((values == OTHER).any())
        return values

    def _read_text_role(self, name: str, column: Any, faults: Faults) -> Floats:
        encoded = column.dictionary_encode()
        labels = [canonical(value) for value in encoded.dictionary.to_pylist()]
        positive = canonical(self.positive[name]) if name in self.positive else None
        known = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0, "(missing)": np.nan}
        if positive is not None:
            numbers = [np.nan if label == "(missing)" else float(label == positive) for label in labels]
        else:
            numbers = [known.get(label, 0.0) for label in labels]
            strange = sorted({label for label in labels if label not in known})
            if strange:
                shown = ", ".join(repr(label) for label in strange[:6])
                faults.add(
                    f"{self.column_text(name)} has the labels {shown}: say which counts as 1, e.g. "
                    f"positive={{{name!r}: {strange[0]!r}}}"
                )
        indices = np.asarray(encoded.indices.fill_null(len(numbers)), dtype=np.int64)
        return np.array([*numbers, np.nan])[indices]

    def column_text(self, name: str) -> str:
        if name == "decision" and self.decision is None:
            return f"decision ({self.score!r} ≥ {self.threshold})"
        if name in _ROLE_NAMES:
            return f"{name} {getattr(self, name)!r}"
        return repr(name.removeprefix("column "))

    def missing_text(self, name: str, missing: int) -> str:
        return f"{self.column_text(name)} is missing in {missing:,} rows: choose missing='drop' (or 'category' for groups)"

    def empty_text(self) -> str:
        if self.missing == "drop" and self._count_dropped()[1]:
            return "no rows are left: every row has a missing value in one of the columns used"
        return "'data' has no rows"

    def check_column(self, who: str, argument: str, name: object) -> None:
        if not isinstance(name, str) or name not in self.source.columns:
            hint = did_you_mean(name, self.source.columns)
            raise InputError(who, f"{argument!r} names the unknown column {name!r}.{hint}")

    # -- checks and helpers ---------------------------------------------------------------------------------
    def _check_schema(self) -> None:
        faults = Faults("Audit")
        named: list[tuple[str, Any]] = [(name, getattr(self, name)) for name in _ROLE_NAMES]
        named += [("groups", name) for name in self.groups] + [("features", name) for name in self.features]
        named += [("bins", name) for name in self.bins if name != "score"]
        for argument, name in named:
            if name is not None:
                try:
                    self.check_column("Audit", argument, name)
                except InputError as error:
                    faults.extend(error)
        for argument in ("groups", "features"):
            listed = getattr(self, argument)
            for name in sorted({name for name in listed if listed.count(name) > 1}, key=str):
                faults.add(f"{argument!r} names {name!r} twice")
        if self.threshold is not None and self.score is None:
            faults.add("'threshold' needs a score: name its column with score=")
        if self.threshold is not None and self.decision is not None:
            faults.add("'decision' and 'threshold' both define the decision: give one of them")
        if self.threshold is not None and not _is_number(self.threshold):
            faults.add(f"'threshold' must be a finite number, got {self.threshold!r}")
        fault = choice_fault("missing", self.missing, ["error", "drop", "category"])
        if fault:
            faults.add(fault)
        for name in self.positive:
            if name not in ("decision", "outcome"):
                faults.add(f"'positive' must be a label or a dict with 'decision' and 'outcome', got the key {name!r}")
        for name, cut in self.bins.items():
            _check_bins(name, cut, faults)
        faults.raise_any()
        if isinstance(self.positive, dict) and self.decision is None:
            self.positive.pop("decision", None)
        if self.outcome is None:
            self.positive.pop("outcome", None)

    def _check_asked(self, who: str, by: Sequence[str], metrics: Sequence[Metric], roles: Sequence[str]) -> None:
        faults = Faults(who)
        for name in by:
            try:
                self.check_column(who, "by", name)
            except InputError as error:
                faults.extend(error)
        for metric in metrics:
            if metric.each is not None:
                faults.add(
                    f"{metric.name!r} compares the outcome in each score bin: measure takes it; elsewhere name one bin, "
                    "Metric('…', role.outcome, given={role.score_bin: '…'})"
                )
            for need in sorted(metric.needs):
                if not self.has(need):
                    faults.add(f"{metric.name!r} needs the {need}: name its column with {need}= in the Audit")
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
        chosen = self.features if features is None else (features,) if isinstance(features, str) else tuple(features)
        if not chosen:
            raise InputError(who, "'features' is missing: name columns, here or as features= of the Audit")
        for name in chosen:
            self.check_column(who, "features", name)
        return chosen

    def _declared(self) -> list[str]:
        roles = [getattr(self, name) for name in _ROLE_NAMES if getattr(self, name) is not None]
        return list(dict.fromkeys([*roles, *self.groups, *self.features]))

    def _count_dropped(self) -> tuple[int, int]:
        if self.missing != "drop":
            return 0, 0
        if self._dropped is None:
            declared = self._declared() or [self.source.columns[0]]
            flag = nw.lit(1).cast(nw.Int64)
            for name in declared:
                flag = nw.when(present(name, self.kind(name))).then(flag).otherwise(nw.lit(0).cast(nw.Int64))
            frame = self.source.lazy(declared).select(kept=flag)
            counts = collect(frame.select(nw.len().alias("n"), nw.col("kept").sum().alias("kept")))
            total, kept = int(counts["n"][0].as_py()), int(counts["kept"][0].as_py() or 0)
            self._dropped = (total - kept, total)
        return self._dropped

    def _bin_edges(self, name: str, default: int | None = None) -> list[float]:
        cut = self.bins.get(name, self.bins.get("score", default) if name == self.score else default)
        if not isinstance(cut, int):
            return [float(edge) for edge in cut]
        if name not in self._edges:
            number = clean_number(name, self.kind(name)).alias("x")
            shares = [i / cut for i in range(1, cut)]
            quantiles = [nw.col("x").quantile(q, interpolation="linear").alias(f"q{i}") for i, q in enumerate(shares)]
            answer = collect(self.lazy([name]).select(number).filter(~nw.col("x").is_null()).select(*quantiles))
            edges = sorted({float(column[0].as_py()) for column in answer.values() if column[0].as_py() is not None})
            if not edges:
                raise InputError("Audit", f"{name!r} has no values to cut into bins")
            self._edges[name] = edges
        return self._edges[name]

    def _positive_labels(self, name: str, column: str) -> list[Any]:
        answer = collect(self.lazy([column]).select(nw.col(column).alias("x")).unique())
        faults = Faults("Audit")
        values = self._read_text_role(name, answer["x"], faults)
        faults.raise_any()
        return [raw for raw, value in zip(answer["x"].to_pylist(), values, strict=True) if value == 1]

    def _not_numbers(self, column: str, argument: str) -> str:
        raw = collect(self.lazy([column]).select(nw.col(column).alias("x")).unique().head(1000))["x"].to_pylist()
        strange = [str(value) for value in raw if value is not None and not _is_number(value)][:3]
        return f"{column!r} ({argument}) must hold numbers, got {', '.join(map(repr, strange)) or 'no values'}"


def digest_of(data: Cells | Rows) -> str:
    """A fingerprint of keys and integer counts (cells) or of the arrays (rows)."""
    content = hashlib.sha256()
    if isinstance(data, Cells):
        lines = [data.codes, data.rows, *[data.roles[name] for name in sorted(data.roles)]]
        content.update(repr(sorted(data.labels.items())).encode())
        lines += [data.count[name] for name in sorted(data.count)]
    else:
        lines = [coded.codes for _, coded in sorted(data.attributes.items())]
        for part in (data.roles, data.values, data.given, data.columns):
            lines += [values for _, values in sorted(part.items())]
    for values in lines:
        content.update(np.ascontiguousarray(values).tobytes())
    return content.hexdigest()[:16]


def _both(positive: object) -> dict[str, Any]:
    return {} if positive is None else {"decision": positive, "outcome": positive}


def _is_number(value: object) -> bool:
    try:
        return not isinstance(value, bool) and bool(np.isfinite(float(value)))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def _check_bins(name: str, cut: Any, faults: Faults) -> None:
    if isinstance(cut, int) and not isinstance(cut, bool):
        if not 2 <= cut <= 100:
            faults.add(f"'bins' of {name!r} must be 2 to 100 quantile bins, got {cut}")
        return
    if not isinstance(cut, list | tuple | np.ndarray) or not len(cut) or not all(_is_number(edge) for edge in cut):
        faults.add(f"'bins' of {name!r} must be a list of edges or a number of quantile bins, got {cut!r}")
    elif any(high <= low for low, high in zip(cut, cut[1:], strict=False)):
        faults.add(f"'bins' of {name!r} must be increasing, got {list(cut)}")


def _role_values(table: Any, name: str) -> Floats:
    if name == "score_bin":
        codes: Floats = table.labels["score_bin"].codes.astype(float)
        return codes
    values: Floats = table.binary[name] if name in table.binary else table.numbers[name]
    return values


def _distinct(keys: list[Any], roles: list[Floats], n: int) -> tuple[Any, Any]:
    """First position and group number of each distinct key, in sorted order."""
    if not keys and not roles:
        return np.zeros(1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    combined = np.zeros(n, dtype=np.int64)
    for column in [*keys, *[np.unique(values, return_inverse=True)[1] for values in roles]]:
        _, combined = np.unique(combined * (int(column.max(initial=0)) + 1) + column, return_inverse=True)
    _, first, inverse = np.unique(combined, return_index=True, return_inverse=True)
    return first, inverse


def _sum_by(inverse: Any, values: Any, size: int) -> Ints:
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, inverse, values.astype(np.int64))
    return total


def _pool_m2(inverse: Any, count: Ints, total: Floats, m2: Floats, size: int) -> Floats:
    """Squared deviations of merged lines: within plus between."""
    counts, totals = np.bincount(inverse, count, size), np.bincount(inverse, total, size)
    mean = np.divide(totals, counts, out=np.zeros(size), where=counts > 0)
    line_mean = np.divide(total, count, out=np.zeros(len(total)), where=count > 0)
    between = count * (line_mean - mean[inverse]) ** 2
    pooled: Floats = np.bincount(inverse, m2 + between, size)
    return pooled


__all__ = ["Audit", "Coded", "role"]
