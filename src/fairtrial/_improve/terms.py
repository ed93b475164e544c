"""What a request names in the audit, before any row is read: groups, utilities, candidates, features, constraints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairtrial._audit.audit import Audit
from fairtrial._audit.groups import find_groups
from fairtrial._errors import (
    Fault,
    Faults,
    InputError,
    NotApplicable,
    Note,
    Set,
    Words,
    did_you_mean,
)
from fairtrial._improve.arguments import Fixed
from fairtrial._improve.candidates import Estimator, FixedColumn, FixedRule, as_candidate, fixed_rule
from fairtrial._improve.components import Pair
from fairtrial._improve.contest import WHO, Candidate, Constraints, Contest, Decided
from fairtrial._improve.portfolio import (
    FrontierRules,
    GroupThresholds,
    Reductions,
    Scored,
    applicable,
    frontier_applies,
    installed,
    portfolio,
)
from fairtrial._improve.request import ImproveRequest, Margins, read_constraints, read_margins
from fairtrial._improve.rules import Rule, capacity_threshold
from fairtrial._improve.unlabelled import AssumedOdds, find_assumed
from fairtrial._improve.worth import Worth, find_worth
from fairtrial._metrics.groups import Group
from fairtrial._metrics.table import joined_metrics
from fairtrial._options import plain
from fairtrial._work.extras import lacking


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the request names in the audit, before any row is read."""

    request: ImproveRequest
    groups: list[Group]
    accuracies: tuple[Worth, ...]
    fairness: tuple[Worth, ...]
    listed: list[Any]
    fixed: Fixed | None  # what was stated with rules fixed beforehand
    margins: Margins
    constraints: Constraints
    assumed: AssumedOdds | None = None
    independent: tuple[str, ...] | None = None
    features: tuple[str, ...] = ()

    @property
    def worths(self) -> tuple[Worth, ...]:
        return (*self.accuracies, *self.fairness)

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for group in self.groups for name in group.attributes))

    @property
    def columns(self) -> list[str]:
        """Columns that are candidates."""
        return [item.column for item in self.listed if isinstance(item, FixedColumn)]

    @property
    def rules(self) -> list[FixedRule]:
        """Rules and models that were fixed beforehand."""
        return [item for item in self.listed if isinstance(item, FixedRule)]

    @property
    def brought(self) -> list[str]:
        """The names of all that was fixed beforehand."""
        return [*self.columns, *(rule.name for rule in self.rules)]

    @property
    def fitted(self) -> bool:
        """Whether any candidate has yet to be fitted."""
        return len(self.brought) < len(self.listed)

    def need(self, role: str) -> bool:
        """Whether a level of the claim depends on the outcome or the score."""
        return any(worth.needs(role) for worth in self.worths)


def find_terms(audit: Audit, request: ImproveRequest) -> Terms:
    """What the request names, each checked against the audit."""
    groups = find_groups(WHO, audit, request.by)
    accuracies, fairness = (
        tuple(
            find_worth(WHO, argument, one, accuracy=argument == "keep") for one in _utilities(argument, asked)
        )
        for argument, asked in (("keep", request.keep), ("metric", request.metric))
    )
    listed, fixed = listed_candidates(audit, request.candidates)
    terms = Terms(
        request=request,
        groups=groups,
        accuracies=accuracies,
        fairness=fairness,
        listed=listed,
        fixed=fixed,
        margins=read_margins(request.margin),
        constraints=read_constraints(request.constraints),
        assumed=find_assumed(audit, request.reject_inference),
        independent=_independent(audit, request.independent_given),
    )
    return replace(terms, features=_permitted(audit, terms))


def _independent(audit: Audit, asked: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if asked is None:
        return None
    columns = (asked,) if isinstance(asked, str) else tuple(asked)
    for name in columns:
        audit.check_column(WHO, "independent_given", name)
    return columns


def _utilities(argument: str, asked: object) -> list[object]:
    """Metrics one by one: a criterion stands for several."""
    items = list(asked) if isinstance(asked, list | tuple) else [asked]
    if not items:
        raise InputError(WHO, Fault(argument, "is empty", cure="name at least one metric"))
    return [part for item in items for part in joined_metrics(item)]


def _permitted(audit: Audit, terms: Terms) -> tuple[str, ...]:
    """The features that rules may use; every fault in what was said of single ones."""
    faults, columns, limits = Faults(WHO), audit.source.columns, terms.constraints
    for name in (*limits.banned, *limits.monotone):
        if name not in columns:
            hint = did_you_mean(name, columns)
            faults.add(Fault("constraints", f"names the unknown column {name!r}", hint=hint))
    forbidden = {*limits.banned, *(terms.attributes if limits.blind else ())}
    features = tuple(name for name in audit.features if name not in forbidden)
    for name in limits.monotone:
        required = _monotone_required(audit, name, features)
        if required:
            cure = "name a numeric feature that rules may use"
            faults.add(Fault("constraints", required, subject="'rising' or 'falling'", cure=cure))
    faults.raise_any()
    return features


def _monotone_required(audit: Audit, name: str, features: tuple[str, ...]) -> str:
    """Why no rule can be monotone in a column of the audit."""
    if name not in features:
        known = name in audit.source.columns
        return f"names {name!r}, which is not a permitted feature" if known else ""
    numeric = audit.kind(name) in ("bool", "int", "float")
    return "" if numeric else f"names {name!r}, which is not numeric"


# -- What was fixed before the rows were looked at: the direction of the status quo's gap, and an earlier
# sample.
SIGN = "the sign that was stated"


@dataclass(frozen=True, slots=True, eq=False)
class Beforehand:
    """What was fixed before the rows were looked at.

    `pairs` has the group above and the group below of each fairness metric under the status quo, None where it was not
    stated; `earlier` is the earlier sample that thresholds come from, None where they come from the rows themselves.
    """

    pairs: Sequence[Pair | None]
    earlier: Contest | None = None

    def status_quo(self, contest: Contest) -> Decided:
        """Decisions and scores of the status quo for all rows."""
        if self.earlier is None or contest.decision is not None or contest.score is None:
            return contest.status_quo(np.arange(contest.rows))
        assert self.earlier.score is not None
        assert contest.constraints.capacity is not None
        threshold = capacity_threshold(self.earlier.score, contest.constraints.capacity)
        return (contest.score >= threshold).astype(np.float64), contest.score


def stated_pairs(sign: object, contest: Contest, groups: Sequence[Group]) -> list[Pair] | None:
    """Higher and lower group under the status quo of each fairness metric, as `sign` states them; None without one."""
    if sign is None:
        return None
    each, metrics = (1 if len(groups) == 2 else 2), len(contest.claim.fairness)
    codes = [_code(item, groups) for item in _named(sign, each, metrics)]
    pairs = (
        [(code, 1 - code) for code in codes] if each == 1 else list(zip(codes[::2], codes[1::2], strict=True))
    )
    for a, b in pairs:
        if (a, b) not in contest.claim.pairs:
            required = "must be a gap that counts: two groups, in the direction asked for"
            raise InputError(
                WHO, Fault("candidates", required, subject=SIGN, got=[groups[a].label, groups[b].label])
            )
    return pairs * metrics if len(pairs) == 1 else pairs


def _named(sign: object, each: int, metrics: int) -> list[object]:
    """The groups named: one or two for all fairness metrics together, or for each of them."""
    named = list(sign) if isinstance(sign, list | tuple) else [sign]
    if len(named) not in (each, each * metrics):
        words = "the group with the higher level" + ("" if each == 1 else " and the lower one")
        more = "" if metrics == 1 else f", once or for each of the {metrics} fairness metrics"
        required = f"must name {words} under the status quo{more}"
        raise InputError(WHO, Fault("candidates", required, subject=SIGN, got=sign))
    return named


def _code(item: object, groups: Sequence[Group]) -> int:
    labels = [group.label for group in groups]
    if isinstance(item, str) and item in labels:
        return labels.index(item)
    group = Group.of(item) if isinstance(item, Mapping) else None
    if group is None or group not in groups:
        got = item if group is None else group.label
        raise InputError(WHO, Fault("candidates", f"must name groups among {labels}", subject=SIGN, got=got))
    return list(groups).index(group)


def like(audit: Audit, data: Any) -> Audit:
    """Other data with the same roles; an Audit is taken as it is."""
    if isinstance(data, Audit):
        return data
    names = (
        "outcome",
        "decision",
        "score",
        "threshold",
        "groups",
        "define",
        "features",
        "positive",
        "bins",
        "missing",
    )
    return Audit(data, **{name: getattr(audit, name) for name in names})


# -- Candidates by name, as estimators and functions, and as rules fixed beforehand.
BUILT_IN = ("portfolio", "frontier", "tuned", "reductions", "group-thresholds")


def listed_candidates(audit: Audit, asked: object) -> tuple[list[Any], Fixed | None]:
    """Candidates in order, and what was stated with fixed ones; built-in names stay text until the contest is known."""
    items = list(asked) if isinstance(asked, list | tuple) else [asked]
    if not items:
        raise InputError(WHO, Fault("candidates", "is empty", cure="name at least one"))
    items = [_fixed(item) if isinstance(item, Mapping) else item for item in items]
    found: list[Any] = []
    for item in items:
        found += _brought(audit, item) if isinstance(item, Fixed) else [_listed(audit, item)]
    stated = [item for item in items if isinstance(item, Fixed)]
    stated = [
        item for item in stated if any(x is not None for x in (item.threshold, item.sign, item.earlier))
    ]
    if len(stated) > 1 and any(x.sign is not None or x.earlier is not None for x in stated):
        cure = "put the rules that share it into one Fixed"
        raise InputError(
            WHO, Fault("candidates", "is stated once for all", subject="sign or earlier sample", cure=cure)
        )
    return _told_apart(found), stated[0] if stated else None


def _fixed(content: Mapping[str, Any]) -> Fixed:
    """A fixed rule from its form in files."""
    if "fixed" not in content or set(content) - {"fixed", "threshold", "sign"}:
        required = "as a table needs 'fixed', a column, and may have 'threshold' and 'sign'"
        raise InputError(WHO, Fault("candidates", required, got=sorted(map(str, content))))
    return Fixed(content["fixed"], threshold=content.get("threshold"), sign=content.get("sign"))


def _brought(audit: Audit, fixed: Fixed) -> list[Any]:
    """The rules that were fixed beforehand, at the threshold that was stated for them."""
    rules = list(fixed.rules) if isinstance(fixed.rules, list | tuple) else [fixed.rules]
    threshold = plain(fixed.threshold)
    if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, int | float)):
        required = "must be a number"
        raise InputError(WHO, Fault("candidates", required, subject="the threshold stated", got=threshold))
    found: list[FixedColumn | FixedRule] = []
    for rule in rules:
        if isinstance(rule, str) and rule in audit.source.columns:
            found.append(FixedColumn(rule))
            continue
        brought = None if isinstance(rule, str) else fixed_rule(rule, audit)
        if brought is None:
            required = "must be a column, a rule that improve gave, or a model that is fitted"
            hint = did_you_mean(rule, audit.source.columns) if isinstance(rule, str) else ""
            raise InputError(WHO, Fault("candidates", required, subject="a fixed rule", got=rule, hint=hint))
        found.append(brought)
    return [replace(rule, threshold=threshold) for rule in found]


def _told_apart(listed: list[Any]) -> list[Any]:
    """Estimators of one class are called by their settings: LogisticRegression(C=0.01)."""
    names = Counter(item.name for item in listed if isinstance(item, Estimator))
    return [
        replace(item, label=item.settings)
        if isinstance(item, Estimator) and not item.label and names[item.name] > 1
        else item
        for item in listed
    ]


def _listed(audit: Audit, item: object) -> Any:
    if isinstance(item, str):
        if item in BUILT_IN:
            return item
        if item in audit.source.columns:
            raise _not_stated(item, f"the candidate column {item!r}")
        hint = did_you_mean(item, [*BUILT_IN, *audit.source.columns])
        required = f"must name columns or one of {list(BUILT_IN)}"
        raise InputError(WHO, Fault("candidates", required, got=item, hint=hint))
    if isinstance(item, Rule):
        raise _not_stated(item.name, f"the candidate rule {item.name!r}")
    own = item if hasattr(item, "variants") and hasattr(item, "fit") else as_candidate(item)
    if own is None:
        required = (
            "must be 'portfolio' or a list of scikit-learn estimators, functions, columns and built-in names "
            f"{list(BUILT_IN)}"
        )
        raise InputError(WHO, Fault("candidates", required, got=item))
    return own


def _not_stated(name: str, subject: str) -> InputError:
    """Whoever brings a rule says that it was not fitted on these rows: nothing in it shows that."""
    cure = Words("if it was not, say {}", Set("candidates", {"fixed": name}))
    required = "must not have been fitted on these rows"
    return InputError(WHO, Fault("candidates", required, subject=subject, cure=cure))


def build_candidates(listed: Sequence[Any], contest: Contest) -> tuple[list[Candidate], list[Note]]:
    """Every candidate that can be fitted, and what the reader must know of them."""
    found = [candidate for item in listed for candidate in _built(item, contest)]
    notes = []
    if "portfolio" in listed and applicable(contest) and not installed():
        notes.append(Note("no-fairlearn", "fairlearn is not installed; its reductions were not tried."))
    for candidate in found:
        if hasattr(candidate, "check"):
            notes += candidate.check(contest)
    _check_names(found, contest)
    return found, notes


def _check_names(candidates: Sequence[Candidate], contest: Contest) -> None:
    names = Counter(name for candidate in candidates for name in candidate.variants(contest))
    twice = sorted(name for name, times in names.items() if times > 1)
    if twice:
        cure = "name each once, and give estimators labels of their own"
        fault = Fault("candidates", f"have the same name {twice}", subject="two candidates", cure=cure)
        raise InputError(WHO, fault)


def _built(item: Any, contest: Contest) -> list[Candidate]:
    if not isinstance(item, str):
        return [item]
    if item == "portfolio":
        return [*portfolio(contest), *([Reductions()] if installed() and applicable(contest) else [])]
    if item == "frontier":
        return _frontiers(contest)
    if item == "reductions":
        _check_reductions(contest)
        return [Reductions()]
    if item == "tuned":
        return [Scored("boosted trees, tuned", "tuned")]
    post = [FrontierRules("linear", by_group=True), FrontierRules("boosted", by_group=True)]
    return [GroupThresholds(), *(post if frontier_applies(contest) else [])]


def _frontiers(contest: Contest) -> list[Candidate]:
    if not frontier_applies(contest):
        required = (
            "needs an outcome, features without monotone directions, and an accuracy that decisions change"
        )
        raise NotApplicable(WHO, Fault("candidates", required, subject="'frontier'"))
    return [FrontierRules("linear"), FrontierRules("boosted")]


def _check_reductions(contest: Contest) -> None:
    if not installed():
        raise lacking("improve: 'reductions' needs fairlearn, which is not installed", "fair")
    if not applicable(contest):
        required = "needs a binary outcome, a parity metric, no capacity and no monotone features"
        raise NotApplicable(WHO, Fault("candidates", required, subject="'reductions'"))
