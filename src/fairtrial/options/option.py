"""What an argument is, beside its type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from fairtrial.errors import Words


@dataclass(frozen=True, slots=True)
class Option:
    """What an argument is, beside its type.

    Parameters
    ----------
    help : str
        One sentence for the command line, the docs and the page.
    least, most, above, below : float, optional
        Bounds of a number; `least` and `most` belong to it, `above` and `below` do not.
    form : callable, optional
        Makes the value from one text of the command line where the type does not say how.
    many : bool
        Whether the command line takes the option several times and makes a list.
    flag : str, optional
        The command line's name where it differs: `--candidate` for one of `candidates`.
    python_only : str, optional
        Why the option cannot be written as text or in a file; empty when it can.
    whole_trial : bool
        Whether a trial sets it once for all its sections, such as the seed.
    not_in_file : str, optional
        Why an option of the command line has no key in the audit file; empty when it has one.
    path : bool
        Whether it names a file; in an audit file a relative one is relative to it.
    must : str or Words, optional
        What it must be, after "must be", where its type says too little: "the name of a metric, such as fpr".
    counts_by : str, optional
        What people are counted by, besides group, decision and outcome, when it is given: "strata" of the columns that
        it names, or "score". What is published must not tell of few people of those either.
    """

    help: str
    _: KW_ONLY
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    form: Callable[[str], Any] | None = None
    many: bool = False
    flag: str = ""
    python_only: str = ""
    whole_trial: bool = False
    not_in_file: str = ""
    path: bool = False
    must: str | Words = ""
    counts_by: Literal["", "strata", "score"] = ""

    def admits(self, number: float) -> bool:
        """Whether a number lies inside the bounds."""
        at_least, at_most = self.least, self.most
        if (at_least is not None and number < at_least) or (at_most is not None and number > at_most):
            return False
        return (self.above is None or number > self.above) and (self.below is None or number < self.below)
