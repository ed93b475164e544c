"""The test of gaps where one person may have several rows: by persons' sums, as measure, certify and flag have it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairtrial._inference.compare.gaps import Gaps
from fairtrial._inference.compare.linear_gaps import LinearGaps
from fairtrial._inference.evidence.atoms import Comparison
from fairtrial._inference.evidence.unit_sums import UnitSums
from fairtrial._transport.solver.gap_test import GapTest, pair_gaps, pair_tests, pairs_of, smallest
from fairtrial._transport.solver.rate_contrasts import Floats, Integers, RateContrasts


def person_gaps(
    problem: RateContrasts, pairs: Sequence[tuple[int, int]], person: Integers | None
) -> Gaps | LinearGaps:
    """The same where one person may have several rows: `person` numbers them; None where each has one."""
    if person is None:
        return pair_gaps(problem, pairs)
    ones, event = np.ones(person.size), problem.event.astype(np.float64)
    sums = UnitSums.of_rows(person, problem.pattern, ones, event, len(problem.cells))
    if sums.counted:
        return pair_gaps(problem, pairs)
    inside = problem.cells.T > 0
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    return LinearGaps(sums, Comparison(inside[first], inside[second]))


def person_test(
    problem: RateContrasts, person: Integers, tolerance: Floats, direction: str
) -> GapTest | None:
    """The test of the gaps where persons have several rows; None where every person has one."""
    pairs = pairs_of(problem)
    if pairs is None:
        raise ArithmeticError("a contrast of more than two rates has no test where persons have several rows")
    gaps = person_gaps(problem, pairs, person)
    if not isinstance(gaps, LinearGaps):
        return None
    why = next((reason for reason in gaps.reason if reason is not None), None)
    if why is not None:
        raise ArithmeticError(why)
    if problem.size == 1 or direction != "differs" or tolerance.any():
        return smallest(pair_tests(gaps, tolerance, direction))
    joint = gaps.joint()
    return GapTest(joint.p_value, joint.statistic / 2, f"all gaps at once, persons' sums: {joint.rule}")
