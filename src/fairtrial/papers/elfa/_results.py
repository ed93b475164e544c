"""What the paper's certify and flag return: tables as those of the valid questions, and the paper's verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairtrial._compare.flag_result import FlagResult
from fairtrial._compare.results import CertifyResult

METHOD = (
    "Empirical or Euclidean likelihood as the ELFA paper has it: an estimated target is taken as known (plug-in) "
    "unless another target method was asked for, and the statistic is compared with chi-square."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PaperCertificate(CertifyResult):
    """Every group's disparity, the joint test, and by the paper's rule certified where it does not reject."""

    kind: ClassVar[str] = "papers.elfa.certify"
    method: ClassVar[str] = (
        f"{METHOD} Certified is what the joint test does not reject (Algorithms 1 and G.1)."
    )
    assumptions: ClassVar[tuple[str, ...]] = ("What is not rejected is fair, which the data cannot show.",)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PaperFlags(FlagResult):
    """Every group with its disparity, p-value, adjusted p-value, and whether it is flagged."""

    kind: ClassVar[str] = "papers.elfa.flag"
    method: ClassVar[str] = f"{METHOD} All groups form one family, corrected at once (Algorithm 2)."
