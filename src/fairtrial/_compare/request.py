"""What is asked about the gaps between groups, by measure, certify, flag or tabulate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairtrial._audit.audit import Audit
from fairtrial._audit.groups import MINIMUM_SIZE, by_attributes, check_not_continuous
from fairtrial._errors import Fault, InputError, Note, Set, Words
from fairtrial._inference.evidence.atoms import Atoms, Comparison, Membership
from fairtrial._inference.laws.choose_gaps import make_gaps
from fairtrial._inference.laws.gaps import Gaps, JointTest
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.ways import RateMethod, Scale

if TYPE_CHECKING:
    from fairtrial._inference.means.known_targets import ScorePoints


class Procedure:
    """How gaps and their joint test are inferred from rows that count once each; a paper's own system replaces it."""

    profile = True  # whether the target's own uncertainty is part of every gap, which planned sizes rest on

    def gaps(self, request: Request, atoms: Atoms, comparison: Comparison) -> Gaps:
        return make_gaps(atoms, comparison, rate_method=request.rate_interval, scale=request.scale)

    def joint(
        self, atoms: Atoms, member: Membership, reference: Bools | None, known: float | None, gaps: Gaps,
        target_rate: Floats,
    ) -> JointTest:  # fmt: skip
        """Test that every gap is zero; `reference` holds the people of a target that all groups share."""
        from fairtrial._inference.joint.joint_test import joint_test

        return joint_test(atoms, member, reference, known, gaps=gaps)

    def own_joint(self, points: list[ScorePoints | None], told: Bools) -> JointTest | None:
        """The same against an estimate of the caller's own."""
        from fairtrial._inference.joint.vector_likelihood import orthogonal_joint

        return orthogonal_joint(points, told, "empirical")

    def notes(self, comparison: Comparison) -> list[Note]:
        """What readers must know of it."""
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Whose gaps are asked for, against whom, on which scale, within which tolerance and how surely."""

    who: str
    audit: Audit
    by: Any = None
    depth: int = 1
    target: Any = "rest"
    minimum: int = MINIMUM_SIZE
    scale: Scale = "difference"
    within: Any = None  # the columns people must be alike in
    adjustment: str = "strata"  # how they are made alike
    tolerance: Any = None
    direction: str | None = None
    level: float = 0.95
    power: float = 0.8
    seed: int = 0
    fdr: float = 0.05
    correction: str = "bh"
    small: str = "list"  # what is told of groups too small to test
    rate_interval: RateMethod = "bounded"
    options: Mapping[str, Any] = field(default_factory=dict)  # of single tables
    procedure: Procedure = field(default_factory=Procedure)

    @property
    def by_model(self) -> bool:
        return self.adjustment == "model"

    @property
    def strata(self) -> tuple[str, ...]:
        """The columns whose combinations are counted one by one."""
        return () if self.by_model else tuple(self.within or ())

    def refuse_interval(self, evidence: str) -> list[Fault]:
        """Another interval of rates than the evidence's own."""
        if self.rate_interval == "bounded":
            return []
        return [Fault("interval", f"is not for {evidence}", cure="Leave it out")]


def within_columns(
    who: str, audit: Audit, within: object, attributes: Sequence[str], by_model: bool = False
) -> tuple[str, ...]:
    """The columns that `within` names, checked; a model takes numbers as they are."""
    if within is None:
        if by_model:
            required = "needs the columns in which people must be alike"
            raise InputError(
                who, Fault("adjustment", required, cure=Words("name them with {}", Set("within", "job")))
            )
        return ()
    names = by_attributes(who, audit, within, "within")
    for name in names:
        if name in attributes:
            raise InputError(
                who,
                Fault(
                    "within",
                    f"names {name!r}, whose groups are compared",
                    cure="name another column, or leave it out",
                ),
            )
        if not by_model:
            check_not_continuous(who, audit, name, "within")
    return names
