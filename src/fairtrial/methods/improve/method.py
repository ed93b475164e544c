"""Was there a fairer way, just as good? A test for a less discriminatory alternative to the status quo."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fairtrial.data.audit import Audit
from fairtrial.errors import InputError, check_between, check_choice
from fairtrial.methods.improve.candidates.adapters import identity
from fairtrial.methods.improve.candidates.claims import Asked
from fairtrial.methods.improve.candidates.constraints import check_declared
from fairtrial.methods.improve.candidates.rules import Rule
from fairtrial.methods.improve.candidates.setup import prepare
from fairtrial.methods.improve.sentences import estimates_of, notes_of, sentences_of, verdict_of
from fairtrial.methods.improve.solver.delta_surface import Corner, Staircase
from fairtrial.methods.improve.solver.improvement_splits import ASSUMES
from fairtrial.methods.improve.splits import Settings, refit_rule, run_splits
from fairtrial.results.column import Column, Primary
from fairtrial.results.result import Result
from fairtrial.work import Progress, check_seed

WHO = "improve"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImproveResult(Result):
    """Per split: levels, gaps and p-values of the chosen candidate; over all: one p-value and the Δ-surface."""

    kind: ClassVar[str] = "improve"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("split", "split", "count"),
        Column("candidate", "candidate", "text"),
        Column("part", "part", "text"),
        Column("metric", "metric", "text"),
        Column("group", "group", "text"),
        Column("n", "n", "count", shown=False),
        Column("status_quo", "status quo", "number"),
        Column("alternative", "alternative", "number"),
        Column("statistic", "holds by", "number", shown=False),
        Column("standard_error", "standard error", "number", shown=False),
        Column("p_value", "p", "p"),
        Column("p_delta_method", "delta-method p", "p", shown=False),
        Column("p_split", "p of the split", "p"),
    )
    method: ClassVar[str] = (
        "In each of K random splits a candidate is chosen and fitted on one half and tested on the other: as accurate "
        "for every group, and a smaller gap. Each inequality has a bootstrap p-value (drawn on cells); the largest is "
        "the split's. The gap is tested by smooth intersection-union inequalities with the sign from the training "
        "half; method='paper' is the article's |·| form. The splits' p-values are combined by twice their lower median."
    )
    assumptions: ClassVar[tuple[str, ...]] = (
        "Rows are independent people and represent those the rule decides about.",
        "The status quo, and any fixed candidate column, was not fitted on these rows.",
        "The status quo has a disparity; utilities and constraints were fixed before looking at the result.",
    )
    citation: ClassVar[str] = (
        "Auerbach, Liang, Okumura & Tabord-Meehan (2025), Testing the Fairness-Accuracy Improvability of Algorithms."
    )

    @property
    def p_value(self) -> float:
        """The combined p-value, to be compared with α itself."""
        return float(self.details["p_value"])

    @property
    def rejected(self) -> bool:
        """Whether a less discriminatory alternative was shown at the level asked for."""
        return bool(self.p_value < self.details["alpha"])

    @property
    def rule(self) -> Rule | None:
        """After a rejection: the selection rule's rule fitted on all data (not kept in saved results)."""
        return self.objects.get("rule")

    def surface(self, level: float | None = None) -> Staircase:
        """The region of (Δ accuracy, Δ fairness) rejected at a level that was computed (default: α)."""
        wanted = self.details["alpha"] if level is None else level
        for steps in self.details["surface"]:
            if math.isclose(steps["level"], wanted):
                corners = tuple(Corner(c["accuracy"], c["fairness"]) for c in steps["corners"])
                return Staircase(steps["level"], corners)
        known = [steps["level"] for steps in self.details["surface"]]
        raise InputError(WHO, f"'level' must be one of {known}, got {level!r}")

    def largest_fairness_gain(self, accuracy_loss: float = 0.0) -> float | None:
        """The largest fairness gain shown at an accuracy loss of at most `accuracy_loss`, fixed in advance.

        Shares of the status quo (scale "ratio") or differences; None where nothing is shown.
        """
        gain = self.surface().largest_fairness_gain(-accuracy_loss)
        return gain if math.isfinite(gain) else None

    def reading(self) -> list[str]:
        return [self.verdict.text, *self.details["sentences"]]

    def primary(self) -> list[Primary]:
        settings = self.details["claim"]
        gap = self.details["gaps"][0]
        old, new = gap["mean_status_quo"], gap["mean_alternative"]
        return [
            Primary(
                metric=f"gap in {gap['metric']}, alternative",
                subject=" and ".join(settings["groups"]),
                p_value=self.p_value,
                effect=None if old is None or new is None else new - old,
                kind="points" if settings["fairness_is_rate"] else "number",
                against="status quo",
                n=self.details["rows"],
            )
        ]


def improve(
    audit: Audit,
    accuracy: object = "accuracy",
    fairness: object = "selection_rate",
    *,
    by: Any = None,
    candidates: object = "portfolio",
    delta: Sequence[float] | Mapping[str, float] = (0, 0, 0),
    splits: int = 7,
    train_share: float = 0.5,
    capacity: float | str | None = None,
    blind: bool = True,
    banned: Sequence[str] = (),
    monotone: Mapping[str, int] | None = None,
    method: str = "smooth",
    aggregate: str = "median",
    bootstrap: int = 10_000,
    scale: str = "ratio",
    pooled: bool = False,
    direction: str = "both",
    target: Any = None,
    fitted_elsewhere: bool = False,
    folds: int = 3,
    confidence_level: float = 0.95,
    seed: int = 0,
    jobs: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ImproveResult:
    """Test whether a permissible rule is as accurate for every group and less unfair than the status quo.

    Utilities: `accuracy` and `fairness` are metrics (several fairness metrics as a list), or a `Payoff`; `pooled`
    compares accuracy for everybody together; `direction` "below" or "above" with a `target` group counts only gaps
    in which a group lies below (above) it; `scale` "ratio" or "difference" says how levels are compared.
    `delta` is (accuracy Δ per group …, fairness Δ): the alternative must be (1+Δ) times as accurate and have less than
    (1−Δ) times the gap.

    Candidates: "portfolio", scikit-learn estimators, functions train → rule, columns with a rule's decisions or
    scores (with `fitted_elsewhere=True`), "reductions", "group-thresholds", and the programs "F.5", "F.6", "P'".
    Constraints are errors for a candidate that breaks them: `capacity` (share selected, or "status quo"; the threshold
    comes from each training half), `blind` to the group, `banned` features, `monotone` {feature: 1 or -1}.

    `aggregate`: "median" (valid under any dependence, default), "running-median" (more power; the order of the splits
    is fixed in advance by the seed), "single" (the first split alone). `method="paper"` is the article's fairness
    component, which rejects too often when gaps are one or two standard errors from zero.

    >>> import fairtrial
    >>> from sklearn.linear_model import LogisticRegression
    >>> audit = fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5,
    ...                         features=["age", "priors_count"])
    >>> groups = [{"race": "African-American"}, {"race": "Caucasian"}]
    >>> result = fairtrial.improve(audit, "accuracy", "fpr", by=groups, candidates=[LogisticRegression()], splits=3)
    >>> print(result.verdict.text)
    no less discriminatory alternative was shown (p = ..., median of 3 splits): not evidence that none exists
    """
    audit.refuse(WHO)
    _check_arguments(locals())
    asked = Asked(
        accuracy=accuracy,
        fairness=fairness,
        by=by,
        candidates=candidates,
        delta=delta,
        capacity=capacity,
        blind=blind,
        banned=(banned,) if isinstance(banned, str) else tuple(banned),
        monotone=dict(monotone or {}),
        method=method,
        scale=scale,
        pooled=pooled,
        direction=direction,
        target=target,
        fitted_elsewhere=fitted_elsewhere,
        folds=folds,
    )
    setup = prepare(audit, asked)
    check_declared(setup.candidates, setup.problem)
    settings = Settings(
        splits=1 if aggregate == "single" else splits,
        train_share=train_share,
        bootstrap=bootstrap,
        aggregate=aggregate,  # type: ignore[arg-type]
        alpha=1 - confidence_level,
        seed=seed,
        jobs=jobs,
        progress=progress,
        key=f"{setup.rows.digest}|{asked}|{[identity(candidate) for candidate in setup.candidates]}",
    )
    tested = run_splits(setup.problem, setup.candidates, settings)
    rule, refitted = (
        refit_rule(setup.problem, setup.candidates, settings) if tested.rejected else (None, None)
    )
    details = tested.details(setup.problem, refitted)
    details["sentences"] = sentences_of(details)
    return ImproveResult(
        question=_question(details),
        null=_null(details),
        verdict=verdict_of(details),
        estimates=estimates_of(tested, setup.problem),
        details=details,
        notes=(*audit.notes(), *setup.notes, *notes_of(tested, setup.problem)),
        provenance=audit.provenance(setup.rows, arguments=_arguments(details, asked, settings), seed=seed),
        objects={} if rule is None else {"rule": rule},
    )


def _check_arguments(arguments: Mapping[str, Any]) -> None:
    check_choice(WHO, "method", arguments["method"], ("smooth", "paper"))
    check_choice(WHO, "aggregate", arguments["aggregate"], tuple(ASSUMES))
    check_choice(WHO, "scale", arguments["scale"], ("ratio", "difference"))
    check_choice(WHO, "direction", arguments["direction"], ("both", "below", "above"))
    check_between(WHO, "train_share", arguments["train_share"], 0, 1)
    check_between(WHO, "confidence_level", arguments["confidence_level"], 0, 1)
    check_seed(arguments["seed"])
    for name, least in (("splits", 1), ("bootstrap", 100), ("folds", 2)):
        value = arguments[name]
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(WHO, f"{name!r} must be a whole number of at least {least}, got {value!r}")
    for name in ("blind", "pooled", "fitted_elsewhere"):
        if not isinstance(arguments[name], bool):
            raise InputError(WHO, f"{name!r} must be True or False, got {arguments[name]!r}")
    monotone = arguments["monotone"]
    if monotone is not None and not isinstance(monotone, Mapping):
        raise InputError(WHO, f"'monotone' must be a dict {{feature: 1 or -1}}, got {monotone!r}")


def _question(details: Mapping[str, Any]) -> str:
    claim = details["claim"]
    whom = "for everyone together" if claim["pooled"] else "for every group"
    return (
        f"Was there a rule as good in {claim['accuracy_label']} {whom}, with a smaller gap in "
        f"{' and '.join(claim['fairness_labels'])} between {', '.join(claim['groups'])}?"
    )


def _null(details: Mapping[str, Any]) -> str:
    claim = details["claim"]
    if not any([*claim["accuracy_delta"], claim["fairness_delta"]]):
        return "No permissible rule that the candidates can find is both more accurate and less unfair."
    accuracy = ", ".join(f"{value:g}" for value in dict.fromkeys(claim["accuracy_delta"]))
    return (
        f"No permissible rule that the candidates can find improves accuracy by more than {accuracy} and reduces "
        f"the gap by more than {claim['fairness_delta']:g} ({claim['scale']})."
    )


def _arguments(details: Mapping[str, Any], asked: Asked, settings: Settings) -> dict[str, Any]:
    return {
        **details["claim"],
        "candidates": details["candidates"],
        "capacity": asked.capacity,
        "blind": asked.blind,
        "banned": list(asked.banned),
        "monotone": dict(asked.monotone),
        "splits": settings.splits,
        "train_share": settings.train_share,
        "bootstrap": settings.bootstrap,
        "aggregate": settings.aggregate,
        "folds": asked.folds,
        "confidence_level": 1 - settings.alpha,
    }
