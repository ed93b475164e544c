"""The paper's way from counts and values to gaps and a joint test, in the place of the valid one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairtrial._compare.request import Procedure, Request
from fairtrial._errors import Fault, InputError, Note
from fairtrial._inference.evidence.atoms import Atoms, Comparison, Membership, as_matrix
from fairtrial._inference.joint.joint_test import joint_test, without_undefined
from fairtrial._inference.joint.vector_likelihood import orthogonal_joint
from fairtrial._inference.laws.gaps import Gaps, JointTest
from fairtrial._inference.means.known_targets import ScorePoints
from fairtrial._inference.numeric.roots import Bools, Floats
from fairtrial._inference.ways import Likelihood, Refinement
from fairtrial.papers.elfa._gaps import TargetMethod, paper_gaps
from fairtrial.papers.elfa._plug_in import plug_in_test


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperProcedure(Procedure):
    """With the options of the paper's functions."""

    likelihood: Likelihood
    target_method: TargetMethod
    refinement: Refinement | None = None

    @property
    def profile(self) -> bool:  # type: ignore[override]
        return self.target_method == "profile"

    def gaps(self, request: Request, atoms: Atoms, comparison: Comparison) -> Gaps:
        refined = comparison.known is not None and not atoms.binary
        if not refined and self.refinement not in (None, "none"):
            required = "is for a real-valued metric against a known number; leave it out here"
            raise InputError(request.who, Fault("refinement", required))
        return paper_gaps(
            atoms, comparison, likelihood=self.likelihood, target_method=self.target_method,
            rate_method=request.rate_interval, refinement=self.refinement if refined else None,
        )  # fmt: skip

    def joint(
        self, atoms: Atoms, member: Membership, reference: Bools | None, known: float | None, gaps: Gaps,
        target_rate: Floats,
    ) -> JointTest:  # fmt: skip
        """Of plugged-in or known targets by one vector multiplier (Algorithms 1 and G.1)."""
        if self.target_method != "plug-in":
            return joint_test(atoms, member, reference, known, self.likelihood, gaps=gaps)
        targets = target_rate if known is None else np.full(as_matrix(member).shape[0], known)

        def test(told: Bools) -> JointTest:
            inside = as_matrix(member)[told]
            return plug_in_test(atoms, inside, targets[told], self.likelihood, known=known is not None)

        return without_undefined(gaps, test)

    def region(self, atoms: Atoms, comparison: Comparison, vector: Floats) -> JointTest | None:
        """The joint test at a vector of gaps (3.6, 3.9), the target taken as known; None for other methods."""
        if self.target_method != "plug-in":
            return None
        target = atoms.pooled(comparison.reference)[1] if comparison.known is None else comparison.known
        known = comparison.known is not None
        return plug_in_test(
            atoms, as_matrix(comparison.member), target + vector, self.likelihood, known=known
        )

    def own_joint(self, points: list[ScorePoints | None], told: Bools) -> JointTest | None:
        return orthogonal_joint(points, told, self.likelihood)

    def notes(self, comparison: Comparison) -> list[Note]:
        if self.target_method != "plug-in" or comparison.known is not None:
            return []
        text = (
            "The target method 'plug-in' treats the estimated target as known, as the ELFA paper does: its intervals "
            "and p-values do not hold their level. fairtrial.certify and fairtrial.flag do."
        )
        return [Note("plug-in-not-valid", text)]
