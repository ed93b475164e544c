"""Which column plays which part: guesses from names and values, for a person to check."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from fairtrial.trial.spec.profile import Profile

# words in column names that speak for a part, the telling ones first
_WORDS = {
    "groups": (
        "race", "ethnic", "sex", "gender", "age_cat", "age_group", "agegroup", "disab", "religion", "national",
        "minority", "personal_status", "foreign", "group",
    ),
    "outcome": (
        "two_year", "recid", "outcome", "label", "target", "actual", "truth", "y_true", "default", "repaid", "reoffend",
        "chronic", "comorbid", "illness", "need", "income", "salary", "cost", "credit", "risk", "class", "weapon",
        "gpa", "graduat", "pf", "crime", "violent", "result", "response", "y",
    ),
    "decision": (
        "decision", "approved", "approval", "hired", "selected", "passed", "promoted", "admitted", "accepted",
        "enrolled", "granted", "decided", "offer", "predicted", "prediction", "y_pred", "denied", "rejected", "flagged",
        "frisked", "searched", "arstmade", "loan_status", "action_taken",
    ),
    "score": (
        "decile_score", "risk_score", "score", "probability", "proba", "prob", "risk", "rating", "percentile",
        "combine", "total", "exam",
    ),
}  # fmt: skip
_PRESET_WORDS = {
    "employment": (
        "hire", "hired", "applicant", "candidate", "position", "exam", "promot", "passed", "oral", "written",
        "interview", "job",
    ),
    "risk-score": ("recid", "decile", "arrest", "parole", "charge", "crime", "juv", "prior", "offen"),
    "lending": ("loan", "credit", "income", "mortgage", "debt", "approv", "capital", "lend", "repaid", "apr"),
    "healthcare": ("patient", "health", "illness", "chronic", "cost", "program", "diagn", "comorb", "hospital", "care"),
}  # fmt: skip
_POSITIVE = (
    "1", "true", "yes", "y", "approved", "accepted", "hired", "selected", "passed", "pass", "granted", "admitted",
    "good", ">50k", "high", "positive", "repaid",
)  # fmt: skip
MAX_GROUPS = 3


@dataclass(slots=True)
class Guess:
    """A proposal: roles, preset, and why each is uncertain."""

    preset: str
    outcome: str | None = None
    decision: str | None = None
    score: str | None = None
    threshold: float | str | None = None
    groups: list[str] = field(default_factory=list)
    features: list[str] = field(default_factory=list)
    positive: dict[str, str] = field(default_factory=dict)
    missing: str = "error"
    favourable: int | str | None = None
    remarks: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def guess(profiles: Sequence[Profile], preset: str | None = None) -> Guess:
    """The most likely parts of the columns."""
    chosen = preset or _preset(profiles)
    found = Guess(preset=chosen)
    found.groups = _groups(profiles)
    taken = set(found.groups)
    found.decision = _best([p for p in profiles if p.binary and p.name not in taken], "decision")
    taken |= {found.decision or ""}
    found.score = _best([p for p in profiles if _is_score(p) and p.name not in taken], "score")
    taken |= {found.score or ""}
    outcomes = [
        p for p in profiles if (p.binary or (chosen == "healthcare" and p.numeric)) and p.name not in taken
    ]
    found.outcome = _best([p for p in outcomes if not p.identifier], "outcome")
    if found.decision is None and found.score is None and found.outcome is None:
        found.outcome = _last_binary(profiles, taken)
        found.remarks["outcome"] = (
            "a guess: the last column of two values, as the target of public files often is"
        )
    _settle(found, profiles)
    return found


def _last_binary(profiles: Sequence[Profile], taken: Collection[str]) -> str | None:
    named = [p.name for p in profiles if p.binary and p.name not in taken and not p.missing]
    return named[-1] if named else None


def settle(found: Guess, profiles: Sequence[Profile]) -> None:
    """What follows from parts that somebody named."""
    found.positive, found.features, found.missing, found.threshold = {}, [], "error", None
    _settle(found, profiles)


def _settle(found: Guess, profiles: Sequence[Profile]) -> None:
    """What follows from the parts: a decision from the outcome or the score, labels, missing values, features."""
    by_name = {profile.name: profile for profile in profiles}
    _settle_decision(found, by_name)
    for role in ("decision", "outcome"):
        name = getattr(found, role)
        if name is not None and by_name[name].binary and not by_name[name].zero_one:
            found.positive[role] = positive_label(by_name[name])
            found.remarks["positive"] = "the labels that count as 1: check them"
    roles = [name for name in (found.decision, found.outcome, found.score) if name]
    lacking = [f"{name!r} is missing in {_share(by_name[name])}" for name in roles if by_name[name].missing]
    if lacking:
        found.missing = "drop"
        found.warnings.append(
            f'{"; ".join(lacking)}: such rows are left out of every answer that needs the value (missing = "drop").'
        )
    elif found.preset == "employment" or any(by_name[name].missing for name in found.groups):
        found.missing = "category"
    _settle_favourable(found)
    taken = {*roles, *found.groups}
    found.features = [
        profile.name for profile in profiles if profile.name not in taken and _is_feature(profile)
    ]


_GOOD = (
    "approv",
    "hired",
    "select",
    "pass",
    "promot",
    "admit",
    "accept",
    "grant",
    "offer",
    "enrol",
    "loan_status",
)
_BAD = ("denied", "reject", "flag", "frisk", "search", "arst", "recid", "risk", "default", "refus")


def _settle_favourable(found: Guess) -> None:
    """Whether decision 1 is good for a person, where the names say it; it is asked for where they do not."""
    label = str(found.positive.get("decision", "")).lower()
    name = str(found.decision or found.score or "").lower()
    good, bad = (any(word in f"{label} {name}" for word in words) for words in (_GOOD, _BAD))
    if found.favourable is None and good != bad and (found.decision or found.threshold is not None):
        found.favourable = int(good)
        found.remarks["favourable"] = (
            "a guess: the decision that is good for a person; findings say who is harmed"
        )


def _share(profile: Profile) -> str:
    return f"{100 * profile.missing / max(profile.rows, 1):.3g}% of the rows"


def _settle_decision(found: Guess, by_name: Mapping[str, Profile]) -> None:
    """Where no column of decisions was found, the outcome or the score stands for them."""
    alone = found.decision is None and found.score is None and found.outcome is not None
    if alone and found.preset in ("lending", "employment"):
        found.decision, found.outcome = found.outcome, None
        found.remarks["decision"] = (
            "no column of decisions was found: this one is audited as if it were the decision"
        )
    if found.decision is None and found.score is not None:
        found.threshold, found.remarks["threshold"] = _threshold(found.preset, by_name[found.score])
    if found.decision is not None and found.score is not None and found.preset == "employment":
        found.score = None  # the decision says all that is asked


def _is_feature(profile: Profile) -> bool:
    usable = profile.numeric or profile.category
    return usable and len(profile.labels) > 1 and not profile.missing and not profile.identifier


def _preset(profiles: Sequence[Profile]) -> str:
    votes = {
        name: sum(any(word in profile.name.lower() for word in words) for profile in profiles)
        for name, words in _PRESET_WORDS.items()
    }
    best = max(votes, key=lambda name: votes[name])
    return best if votes[best] else "employment"


def _groups(profiles: Sequence[Profile]) -> list[str]:
    usable = [profile for profile in profiles if profile.category]
    named = [
        (rank, profile.name)
        for profile in usable
        for rank, word in enumerate(_WORDS["groups"])
        if _speaks(profile.name, word)
    ]
    chosen = list(dict.fromkeys(name for _, name in sorted(named)))[:MAX_GROUPS]
    if chosen:
        return chosen
    texts = [profile.name for profile in usable if not profile.numeric]
    return texts[:1] or [profile.name for profile in usable][:1]


def _best(profiles: Sequence[Profile], part: str) -> str | None:
    ranked = [
        (rank, profile.name.lower() != word, index, profile.name)
        for index, profile in enumerate(profiles)
        for rank, word in enumerate(_WORDS[part])
        if _speaks(profile.name, word)
    ]
    return min(ranked)[3] if ranked else None


def _speaks(name: str, word: str) -> bool:
    """Short words must stand alone, so that 'sex' is not found in 'sussex' nor 'need' in 'needle'."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    if "_" in word or len(word) > 5:
        return word in text
    return word in re.split(r"[^a-z0-9]+", text) or (len(word) > 4 and word in text)


def _is_score(profile: Profile) -> bool:
    return (
        profile.numeric
        and len(profile.labels) > 4
        and not (profile.identifier and profile.low >= 0 and profile.high > 1000)
    )


def _threshold(preset: str, profile: Profile) -> tuple[float | str, str]:
    if preset == "employment":
        return "median", "the share above the sample median is compared, as Local Law 144 asks for scores"
    if profile.low >= 1 and profile.high == 10:
        return 5, "a guess: the middle of a score from 1 to 10; put the cut-off that is used"
    if profile.low >= 0 and profile.high <= 1:
        return 0.5, "a guess: put the cut-off that is used"
    return "median", "a guess: scores above the sample median; put the cut-off that is used"


def positive_label(profile: Profile) -> str:
    """The label that most likely means yes; else the rarer one."""
    for word in _POSITIVE:
        for label in profile.labels:
            if label.strip().strip(".").lower() == word:
                return label
    return min(zip(profile.counts, profile.labels, strict=True))[1]
