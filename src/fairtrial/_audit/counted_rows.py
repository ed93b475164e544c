"""Rows of a cluster without fetching one: those alike in all that is asked for are counted there and repeated here.

Rows alike cannot be told apart by what they are read for, so that nothing is lost but their order, which here is that
of their values. Where there are more rows than methods read, a sample of them is drawn from the counts, by its seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairtrial._audit import columns as limits
from fairtrial._audit.cells import Coded, Floats, Ints, Rows, digest_of
from fairtrial._audit.query import Query, Table, check_asked
from fairtrial._errors import Fault, NotApplicable, Use, Words

if TYPE_CHECKING:
    from fairtrial._audit.audit import Audit

MOST_LINES = 200_000


def counted_rows(
    who: str, audit: Audit, attributes: Sequence[str], roles: Sequence[str], columns: Sequence[str]
) -> Rows:
    """Complete rows by one grouping query; values as they are, in the order of the values."""
    check_asked(who, audit, attributes, (), roles)
    query = Query(audit, who, complete=True)
    real = "outcome" in roles and audit.outcome_is_real
    query.ask(attributes, (), [name for name in roles if not (real and name == "outcome")])
    for name in [*columns, *([str(audit.outcome)] if real else [])]:
        audit.check_column(who, "columns", name)
        query.number_key(name)
    table = query.grouped()
    if len(table.n) > MOST_LINES:
        required = f"stays in Spark, and what is asked of {{}} parts it into {len(table.n):,} different rows"
        cure = f"Cut or round scores and numbers, or give at most {limits.MOST_ROWS:,} rows drawn with a seed"
        raise NotApplicable(who, Fault("data", Words(required, Use(who)), cure=cure))
    coded = audit.labels_of(table, attributes)
    values = {name: _role(table, audit, name, real) for name in roles}
    numbers = {name: table.numbers[f"column {name}"] for name in columns}
    keys: list[Any] = [*numbers.values(), *values.values(), *(one.codes for one in coded.values())]
    order = np.lexsort([np.zeros(len(table.n)), *keys])
    line = np.repeat(order, _kept(audit, table.n[order]))
    found = Rows(
        n=len(line),
        attributes={name: Coded(one.codes[line], one.labels) for name, one in coded.items()},
        roles={name: of[line] for name, of in values.items()},
        columns={name: of[line] for name, of in numbers.items()},
    )
    object.__setattr__(found, "digest", digest_of(found))
    return found


def _role(table: Table, audit: Audit, name: str, real: bool) -> Floats:
    return table.numbers[f"column {audit.outcome}"] if real and name == "outcome" else table.role(name)


def _kept(audit: Audit, count: Ints) -> Ints:
    """How many rows of each line are read: all, or those of a sample drawn by the audit's seed."""
    total = int(count.sum())
    if audit.drawn_by is None or total <= limits.MOST_ROWS:
        return count
    random = np.random.default_rng([audit.drawn_by, total])
    return np.asarray(random.multivariate_hypergeometric(count, limits.MOST_ROWS, method="marginals"))
