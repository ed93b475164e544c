"""A widget for notebooks: how the verdict moves with the threshold and the tolerance (extra `notebook`).

from fairtrial.notebook import Explorer

Explorer(audit, "fpr", by="race")
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._compare.method import certify
from fairtrial._errors import Fault, InputError
from fairtrial._results.text import table
from fairtrial._work.extras import lacking

try:
    import anywidget
    import traitlets
except ImportError as missing:
    raise lacking("fairtrial.notebook needs anywidget, which is not installed", "notebook") from missing

__all__ = ["Explorer"]

WIDEST = 0.3  # tolerance


class Explorer(anywidget.AnyWidget):  # type: ignore[misc]
    """Sliders for threshold and tolerance above the verdict and the table of `certify`.

    It is for looking. A threshold or a tolerance that was chosen by moving a slider was chosen from the data: the
    printed level holds for one that was fixed before.

    Parameters
    ----------
    audit : Audit
        With a score and a threshold, the threshold has a slider; with a decision, only the tolerance has.
    metric : str or Metric
        What is compared.
    by : str, list or None
        Attributes whose groups are compared; default: the audit's groups.
    target : str, float or dict
        What each group is compared with.
    tolerance : float
        Where its slider begins.
    """

    _esm = files("fairtrial").joinpath("notebook.js").read_text(encoding="utf-8")
    threshold = traitlets.Float(0.0).tag(sync=True)
    tolerance = traitlets.Float(0.05, min=0.0, max=1.0).tag(sync=True)
    threshold_range = traitlets.List().tag(sync=True)
    tolerance_range = traitlets.List().tag(sync=True)
    verdict = traitlets.Unicode("").tag(sync=True)
    headings = traitlets.List().tag(sync=True)
    lines = traitlets.List().tag(sync=True)

    def __init__(
        self, audit: Audit, metric: Any, *, by: Any = None, target: Any = "rest", tolerance: float = 0.05
    ) -> None:
        if not 0 < tolerance <= WIDEST:
            required = f"must be above 0 and at most {WIDEST:g}"
            raise InputError("Explorer", Fault("tolerance", required, got=tolerance))
        self.audit, self.asked = audit, {"metric": metric, "by": by, "target": target}
        super().__init__(
            threshold=float(audit.threshold or 0.0),
            tolerance=tolerance,
            threshold_range=_threshold_range(audit),
            tolerance_range=[0.005, WIDEST, 0.005],
        )
        self.result: Any = None
        self.look()
        self.observe(lambda change: self.look(), names=["threshold", "tolerance"])

    def look(self) -> None:
        """Ask anew, at the sliders' threshold and tolerance; `result` is the answer."""
        audit = self.audit.at(self.threshold) if self.threshold_range else self.audit
        try:
            self.result = certify(audit, tolerance=self.tolerance, **self.asked)
        except InputError as fault:  # a threshold that nobody reaches has no answer
            self.result, self.headings, self.lines, self.verdict = None, [], [], str(fault)
            return
        headings, lines = table(self.result)
        self.headings, self.lines, self.verdict = headings, lines, self.result.verdict.text


def _threshold_range(audit: Audit) -> list[float]:
    """From the least to the largest score in a hundred steps, or by whole numbers; empty without a threshold."""
    if audit.score is None or audit.threshold is None:
        return []
    scores = audit.rows(roles=("score",)).roles["score"]
    low, high = float(scores.min()), float(scores.max())
    whole = bool((scores == scores.round()).all())
    return [low, high, 1.0 if whole else (high - low) / 100]
