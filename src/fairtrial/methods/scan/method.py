"""Which unknown subgroups are harmed? The biased subgroup nobody thought to look at, and whether it is luck."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from fairtrial import work
from fairtrial.data.audit import Audit
from fairtrial.data.groups import check_not_continuous
from fairtrial.errors import InputError, NotApplicable, Note, did_you_mean
from fairtrial.methods.scan.draws import Luck, luck_of, prepare_null
from fairtrial.methods.scan.every_class import joined
from fairtrial.methods.scan.notes import finding_of, notes_of, verdict_of
from fairtrial.methods.scan.options import Options, check_options, recorded
from fairtrial.methods.scan.result import ScanAllResult, ScanResult
from fairtrial.methods.scan.solver.expectation import Expectations
from fairtrial.methods.scan.solver.problem import EXACT_STEPS_LIMIT, Direction
from fairtrial.methods.scan.solver.statistic import Setup, prepare, scan_observed
from fairtrial.methods.scan.subgroups import Teller, histogram
from fairtrial.methods.scan.table import (
    Asked,
    describe_arguments,
    find_features,
    find_protected,
    read_data,
    resolve_metric,
)
from fairtrial.metrics.groups import Group
from fairtrial.metrics.metric import Metric
from fairtrial.metrics.table import find_metric
from fairtrial.results.column import undefined

__all__ = ["ScanAllResult", "ScanResult", "scan", "scan_all"]

WHO = "scan"
Progress = Callable[[work.Progress], None]


def scan(
    audit: Audit,
    metric: str | Metric,
    *,
    protected: Mapping[str, Any] | Group,
    reference: Mapping[str, Any] | Group | None = None,
    features: Sequence[str] | str | None = None,
    direction: Literal["above", "below", "both"] | None = None,
    condition: int | str | None = None,
    penalty: float = 1.0,
    search: Literal["auto", "exact", "restarts"] = "auto",
    restarts: int = 50,
    null: Literal["stratified", "bootstrap", "propensity", "global"] | None = "stratified",
    null_model: Literal["pairwise", "saturated", "main"] = "pairwise",
    permutations: int = 999,
    top: int = 5,
    sigma: float | Literal["estimated"] = "estimated",
    expectation: Any = "logistic",
    propensity: Any = "logistic",
    ridge: float = 0.01,
    unsupported: Literal["flag", "drop"] = "flag",
    scores: Literal["exact", "bins"] = "exact",
    probability: Literal["score", "outcome-rate"] = "score",
    strata_bins: int = 10,
    confidence_level: float = 0.95,
    seed: int = 0,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> ScanResult:
    """Find the subgroup of a protected class whose rate deviates most from that of comparable people outside it.

    `protected` is one group, e.g. {"race": "African-American"}, against everybody else or against `reference`.
    Subgroups are built from non-empty value sets of `features` (default: the audit's features, else its other
    groups). `direction` "above" looks for rates above what comparable people get, "below" for lower ones, "both" for
    either; by default the one that hurts. `condition` changes the metric's own condition: 0, 1, or "any" for both
    values at once. `null` says how luck is simulated ("stratified" needs no model to be right; None skips it).
    `expectation` is "logistic", "doubly-robust" or a scikit-learn classifier; `propensity` likewise for class
    membership. `sigma` is for mean scores. With `probability="outcome-rate"` a score that is no probability is read
    as the outcome rate of the people who have it; `scores="bins"` works on the audit's score bins.

    >>> import fairtrial
    >>> data = fairtrial.load("compas")
    >>> audit = fairtrial.Audit(data, outcome="two_year_recid", score="decile_score", threshold=5,
    ...                         groups=["race", "sex", "age_cat", "c_charge_degree"])
    >>> result = fairtrial.scan(audit, "fpr", protected={"race": "African-American"}, permutations=99)
    >>> result.search, result.p_value
    ('exact', 0.01)
    """
    options = Options(
        direction=direction, condition=condition, penalty=penalty, search=search, restarts=restarts, null=null,
        null_model=null_model, top=top, sigma=sigma, expectation=expectation, propensity=propensity, ridge=ridge,
        unsupported=unsupported, scores=scores, probability=probability, strata_bins=strata_bins,
        confidence_level=confidence_level,
    )  # fmt: skip
    check_options(WHO, options, permutations, seed)
    audit.refuse(WHO)
    group = find_protected(WHO, audit, protected)
    against = None if reference is None else find_protected(WHO, audit, reference, "reference")
    result, _ = _scan_one(
        WHO, audit, find_metric(WHO, metric), group, against, features, options,
        permutations=permutations, sequential=False, seed=seed, jobs=jobs, progress=progress,
    )  # fmt: skip
    return result


def scan_all(
    audit: Audit,
    metric: str | Metric,
    *,
    by: Sequence[str] | str | None = None,
    features: Sequence[str] | str | None = None,
    permutations: int | Literal["enough"] = "enough",
    sequential: bool = True,
    seed: int = 0,
    jobs: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> ScanAllResult:
    """Scan every value of every sensitive attribute, with one correction over all scans.

    `by` lists the attributes (default: the audit's groups); when one of them is the protected class, subgroups are
    built from the others (and from `features`). `permutations="enough"` draws 20·scans/α times, so that the
    adjusted p-value of a clear finding can be small; a scan that is clearly not significant stops earlier when
    `sequential`. Other options are those of `scan`.
    """
    who = "scan_all"
    known = tuple(Options.__slots__)
    faults = [f"unknown option {name!r}.{did_you_mean(name, known)}" for name in options if name not in known]
    if faults:
        raise InputError(who, faults)
    chosen = Options(**options)
    if chosen.null is None:
        raise InputError(who, "'null' must not be None: the correction over scans needs p-values")
    asked = find_metric(who, metric)
    audit.refuse(who)
    attributes = [by] if isinstance(by, str) else list(by or audit.groups)
    if not attributes:
        raise InputError(
            who, "'by' is missing: name the sensitive attributes, here or as groups= of the Audit"
        )
    for name in attributes:
        audit.check_column(who, "by", name)
        check_not_continuous(who, audit, name)
    groups = [Group(((name, (label,)),)) for name in attributes for label in audit.levels(name)]
    alpha = 1.0 - chosen.confidence_level
    needed = int(np.ceil(20 * len(groups) / alpha)) - 1
    draws = needed if permutations == "enough" else permutations
    check_options(who, chosen, draws, seed)
    found: list[tuple[Group, ScanResult | str, Luck | None]] = []
    for group in groups:
        others = _others(audit, features, attributes, group)
        try:
            result, luck = _scan_one(
                who, audit, asked, group, None, others, chosen,
                permutations=draws, sequential=sequential, seed=seed, jobs=jobs, progress=progress,
            )  # fmt: skip
            found.append((group, result, luck))
        except NotApplicable as error:
            found.append((group, str(error.faults[0]), None))
    return joined(audit, asked, chosen, attributes, found, draws, needed, seed)


def _others(
    audit: Audit, features: Sequence[str] | str | None, attributes: list[str], group: Group
) -> list[str]:
    named = (
        list(audit.features)
        if features is None
        else [features]
        if isinstance(features, str)
        else list(features)
    )
    return [name for name in dict.fromkeys([*attributes, *named]) if name not in group.attributes]


def _scan_one(
    who: str,
    audit: Audit,
    metric: Metric,
    protected: Group,
    reference: Group | None,
    features: Sequence[str] | str | None,
    options: Options,
    *,
    permutations: int,
    sequential: bool,
    seed: int,
    jobs: int | None,
    progress: Progress | None,
) -> tuple[ScanResult, Luck | None]:
    directions = _directions(options.direction, metric)
    resolved, free, on_score = resolve_metric(who, metric, options.condition)
    asked = Asked(
        metric=resolved,
        protected=protected,
        reference=reference,
        features=find_features(who, audit, features, protected.attributes),
        free_condition=free,
        on_score=on_score,
        scores=options.scores,
        probability=options.probability,
        strata_bins=options.strata_bins,
    )
    data = read_data(who, audit, asked)
    setup = _prepared(who, options, directions, data.table)
    arguments = {**describe_arguments(asked), **recorded(options), "permutations": permutations, "seed": seed}
    drawing = None
    notes = [*audit.notes(), *data.notes]
    if options.null is not None:
        distinct = len(np.unique(data.table.cell_condition[data.table.cell_scanned]))
        binned = on_score and options.scores == "exact" and distinct > options.strata_bins
        drawing = prepare_null(who, setup, options.null, options.null_model, binned)
        notes += drawing.notes
    seen = scan_observed(setup, top=options.top, seed=seed)
    if seen.sigma is not None and seen.sigma < 1e-9:
        raise NotApplicable(who, "the scores do not vary within the classes: there is nothing to scan")
    teller = Teller(asked, data, setup, seen, options.confidence_level)
    luck = None
    if drawing is not None:
        identity = hashlib.sha256(
            f"{audit.provenance(data.cells)['data']}|{sorted(arguments.items(), key=str)}".encode()
        )
        luck = luck_of(
            setup, drawing, seen.found[0].score, permutations=permutations, sequential=sequential,
            name=f"{who} of {protected.label}", key=identity.hexdigest(), seed=seed, jobs=jobs, progress=progress,
        )  # fmt: skip
    result = _told(audit, asked, options, teller, luck, notes, arguments)
    return result, luck


def _prepared(who: str, options: Options, directions: tuple[Direction, ...], table: Any) -> Setup:
    how = Expectations(
        ridge=options.ridge,
        doubly_robust=isinstance(options.expectation, str) and options.expectation == "doubly-robust",
        event_model=None if isinstance(options.expectation, str) else options.expectation,
        class_model=None if isinstance(options.propensity, str) else options.propensity,
    )
    setup = prepare(
        table,
        how=how,
        directions=directions,
        penalty=float(options.penalty),
        sigma=None if isinstance(options.sigma, str) else float(options.sigma),
        search=options.search,
        restarts=options.restarts,
        drop_unsupported=options.unsupported == "drop",
    )
    if setup.plan.exact and setup.plan.steps > EXACT_STEPS_LIMIT:
        raise NotApplicable(
            who,
            f"search='exact' would take {setup.plan.steps:.3g} steps (the limit is {EXACT_STEPS_LIMIT:,}); "
            "use search='restarts', fewer features or coarser bins",
        )
    return setup


def _directions(direction: str | None, metric: Metric) -> tuple[Direction, ...]:
    chosen = direction or metric.hurts or "both"
    if chosen == "both":
        return ("above", "below")
    return ("above",) if chosen == "above" else ("below",)


def _told(
    audit: Audit,
    asked: Asked,
    options: Options,
    teller: Teller,
    luck: Luck | None,
    notes: list[Note],
    arguments: dict[str, Any],
) -> ScanResult:
    """The Result: estimates, details for the charts, notes."""
    found = teller.seen.found
    best = found[0]
    alpha = 1.0 - options.confidence_level
    p_value: Any = undefined("no null was asked for") if luck is None else luck.p_value
    finding = finding_of(best.score, luck, alpha)
    lower = "listed, not tested"  # only the best score has a p-value
    estimates = [teller.estimate(1, best, p_value, finding)]
    for rank, one in enumerate(found[1:], start=2):
        if one.score > 0:
            estimates.append(teller.estimate(rank, one, undefined(lower), lower))
    ridge = teller.ridge_rows()
    notes += notes_of(teller, options, estimates[0], ridge)
    label = asked.metric.label
    details = {
        "metric": asked.metric.name,
        "label": label,
        "protected": asked.protected.label,
        "comparison": asked.comparison_words,
        "direction": best.direction,
        "subgroup": teller.restricted(best),
        "search": "exact" if teller.setup.plan.exact else "restarts",
        "steps": teller.setup.plan.steps,
        "subgroups": teller.subgroups if np.isfinite(teller.subgroups) else undefined("beyond counting"),
        "sigma": teller.seen.sigma,
        "values": teller.value_rows(best),
        "fit": teller.fit_rows(),
        "fit_worst_cell": teller.worst_cell_fit(),
        "ridge": ridge,
        "null": options.null,
        "confidence_level": options.confidence_level,
    }
    if luck is not None:
        details["null_draws"] = luck.draws
        details["null_histogram"] = histogram(luck.scores, best.score)
        details["null_critical"] = float(np.quantile(luck.scores, options.confidence_level, method="higher"))
    return ScanResult(
        question=f"Which subgroup of {asked.protected.label} has the most deviating {label}?",
        null=(
            f"Given the features and the metric's condition, the {label} does not depend on being "
            f"{asked.protected.label}{f' rather than {asked.reference.label}' if asked.reference else ''}."
        ),
        verdict=verdict_of(label, asked, estimates[0], luck, finding, options.null),
        estimates=tuple(estimates),
        details=details,
        notes=tuple(notes),
        provenance=audit.provenance(teller.data.cells, arguments=arguments),
        objects={} if luck is None else {"null_scores": luck.scores},
    )
