"""Gates for test suites: an assertion that fails with the table that explains it.

>>> import fairtrial
>>> from fairtrial.testing import assert_not_violated
>>> people = fairtrial.load("ricci")
>>> audit = fairtrial.Audit(people, decision="passed", groups="race")
>>> assert_not_violated(audit, "selection_rate", tolerance=0.3).verdict.code
'undetermined'
"""

from __future__ import annotations

from typing import Any

from fairtrial._errors import Fault, GateClosed, InputError

__all__ = ["assert_certified", "assert_not_violated"]

# What the assertions of the running test found; the pytest plugin reports it at the end.
verdicts: list[str] = []


def assert_certified(audit: Any, metric: Any = None, **options: Any) -> Any:
    """Fail unless every group is shown to lie within the tolerance.

    Parameters
    ----------
    audit : Audit, CertifyResult or Trial
        What is to be certified, or an answer that is at hand.
    metric : str or Metric
        As for `certify`; nothing where an answer is given.
    **options
        Every other argument of `certify`, such as by, target and tolerance.

    Returns
    -------
    CertifyResult or Trial
        The answer, where it passes.

    Raises
    ------
    GateClosed
        An AssertionError with the verdict and the whole table; "undetermined" does not pass.
    """
    __tracebackhide__ = True
    return _require(audit, metric, options, refused=("violated", "undetermined"))


def assert_not_violated(audit: Any, metric: Any = None, **options: Any) -> Any:
    """Fail when a group is shown to lie outside the tolerance; what the data cannot tell passes.

    Parameters
    ----------
    audit : Audit, CertifyResult or Trial
        What is to be judged, or an answer that is at hand.
    metric : str or Metric
        As for `certify`; nothing where an answer is given.
    **options
        Every other argument of `certify`.

    Returns
    -------
    CertifyResult or Trial
        The answer, where it passes.

    Raises
    ------
    GateClosed
        An AssertionError with the verdict and the whole table.
    """
    __tracebackhide__ = True
    return _require(audit, metric, options, refused=("violated",))


def _require(audit: Any, metric: Any, options: dict[str, Any], refused: tuple[str, ...]) -> Any:
    __tracebackhide__ = True
    answer = _answer(audit, metric, options)
    verdicts.append(answer.verdict.text)
    # only "certified" passes the stricter gate: a verdict that is none of a certificate's is no certificate
    certified = answer.verdict.code == "certified"
    passes = certified if "undetermined" in refused else answer.verdict.code not in refused
    if not passes:
        raise GateClosed(f"{answer.verdict.text}\n\n{answer.summary()}")
    return answer


def _answer(audit: Any, metric: Any, options: dict[str, Any]) -> Any:
    from fairtrial._audit.audit import Audit
    from fairtrial._compare.method import certify
    from fairtrial._compare.results import CertifyResult
    from fairtrial._trial.record import Trial

    if isinstance(audit, Audit):
        if metric is None:
            raise InputError(
                "assert_certified",
                Fault("metric", "is missing", cure="name what is compared, such as selection_rate"),
            )
        return certify(audit, metric, **options)
    if not isinstance(audit, CertifyResult | Trial):
        required = f"must be an Audit, a result of certify or a Trial, got {type(audit).__name__}"
        raise InputError("assert_certified", Fault("audit", required))
    if metric is not None or options:
        raise InputError(
            "assert_certified",
            Fault("audit", "is an answer already, and takes no further arguments", cure="leave them out"),
        )
    return audit
