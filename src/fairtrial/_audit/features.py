"""Features of an audit's people: as a numeric matrix, and as a frame that estimators take."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairtrial._audit.cells import Design, Floats, Rows
from fairtrial._audit.query import Query
from fairtrial._audit.roles import Roles
from fairtrial._audit.source import collect, frame_for_estimators
from fairtrial._errors import Elsewhere, Fault, Faults, InputError, Words
from fairtrial._work.memory import check_memory


class Features(Roles):
    """Roles whose features can be read in the order of rows()."""

    @abstractmethod
    def rows(
        self, *, attributes: Sequence[str] = (), columns: Sequence[str] = (), who: str = "Audit"
    ) -> Rows:
        """The chosen columns as arrays."""

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
        numeric = self._numbers(chosen)
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
        frame = self.lazy(chosen, complete=self.needed, in_order=True).select(*expressions)
        return frame_for_estimators(pa.table(self.drawn(collect(frame))), self.frame)

    def check_features(self) -> None:
        """Look for all faults of the features where the rows lie: numbers by their sums, labels by those there are."""
        faults, numeric = Faults("Audit"), self._numbers(self.features)
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

    def _numbers(self, features: Sequence[str]) -> list[str]:
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
