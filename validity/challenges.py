"""A fixed rule's test, prepared once and repeated on other people: what the public function does, without reading.

`improve` reads a table, checks it and tests the rule on all rows. Reading takes a hundred times as long as the test,
so a line of thousands of repeats prepares the first table as the public function does and puts other people's arrays
in the place of its own. A test shows that the p-values are those of the public function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inside.ground import NotApplicable

Floats = NDArray[np.float64]
Random = np.random.Generator
Table = Mapping[str, NDArray[Any]]


class _Prepared(Exception):
    """Carries what was asked out of the public function."""


class Challenge:
    """The test of the column `other` against the status quo on tables of the same form as the first."""

    def __init__(self, table: Table, roles: Mapping[str, Any], **asked: Any) -> None:
        import pyarrow as pa

        from fairtrial import Audit
        from inside.improve import answer, prepare
        from validity.improve_asked import improve

        def caught(audit: Any, request: Any, returns: Any) -> Any:
            raise _Prepared(request)

        audit, answered = Audit(pa.table(dict(table)), **roles), answer.answer
        answer.answer = caught  # type: ignore[assignment]
        try:
            improve(audit, candidates="other", jobs=1, **asked)
        except _Prepared as found:
            (self.request,) = found.args
        finally:
            answer.answer = answered
        self.ready = prepare(audit, self.request)
        self.roles = roles

    def p_value(self, table: Table, rng: Random) -> float | None:
        """The p-value on another table; None where it shows no disparity."""
        from inside.improve import Compared, enough_people, examine, refuse_equal_levels

        contest = self._contest(table)
        try:
            refuse_equal_levels(contest)
        except NotApplicable:
            return None
        everyone = np.arange(contest.rows)
        (candidate,), stated = self.ready.candidates, self.ready.stated
        assert stated is not None
        (rule,) = candidate.fit(contest, everyone, rng).values()
        old, new = stated.status_quo(contest), rule.outcome_of(contest.inputs)
        pairs, draws = stated.pairs, self.request.bootstrap
        tested = examine(contest, Compared(everyone, old, new), pairs, draws, rng, (old, new))
        if not enough_people(tested, contest):
            return 1.0
        return max(component.p_value(delta) for component, delta in tested.pairs)

    def split_p_value(self, table: Table, rng: Random) -> float | None:
        """The p-value of half splits in place of all rows, with other splits each time; asked for with `splits`."""
        from inside.improve import combine_p_values, refuse_equal_levels, test_split

        contest = self._contest(table)
        try:
            refuse_equal_levels(contest)
        except NotApplicable:
            return None
        request = replace(self.request, seed=int(rng.integers(2**31)))
        (candidate,) = self.ready.candidates
        found = [
            float(test_split(contest, request, (candidate, "other"), k, rng)["p"].max())
            for k in range(request.tests)
        ]
        return combine_p_values(found, request.aggregate)

    def _contest(self, table: Table) -> Any:
        """The prepared contest with other people in it."""
        from inside.improve import find_unlabelled

        made = self.ready.contest
        group = np.searchsorted(np.array(sorted(set(made.names))), table["group"])

        def role(name: str) -> Floats | None:
            return np.asarray(table[self.roles[name]], dtype=np.float64) if self.roles.get(name) else None

        values = {name: np.asarray(table[name], dtype=np.float64) for name in made.seen.values}
        seen = replace(made.seen, outcome=role("outcome"), values=values)
        assumed = None if made.unlabelled is None else made.unlabelled.assumed
        seen, unlabelled = find_unlabelled(seen, made.claim.worths, group, assumed, [])
        fixed = {"other": np.asarray(table["other"], dtype=np.float64)}
        inputs = replace(made.inputs, fixed=fixed, rows=None, matrix=np.empty((group.size, 0)))
        return replace(
            made, group=group, decision=role("decision") if made.decides else np.ones(group.size), score=role("score"),
            seen=seen, inputs=inputs, unlabelled=unlabelled,
        )  # fmt: skip
