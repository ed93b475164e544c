"""Words in column names that speak for a part of the audit, the telling ones first.

A word after = must be the whole name: jobclass and credit_history are something else than class and credit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairtrial._trial.spec.profile import Profile

GROUPS = (
    "race", "ethnic", "sex", "gender", "age_cat", "age_group", "agegroup", "disab", "religion", "national",
    "minority", "personal_status", "foreign", "group",
)  # fmt: skip
# groups of which a column of two values says who is in them, by the attribute that they are groups of
LABELS = {
    "sex": ("female", "females", "woman", "women", "male", "males"),
    "race": ("black", "afam", "white", "nonwhite", "asian"),
    "ethnic": ("hispan", "hispanic", "latino", "latina", "latinx"),
}
BESIDE = ("is", "race", "ethnicity", "sex", "gender", "applicant", "dummy", "or", "and")  # is_black, sex_male
# looked for where none of those is there, and only the first is taken: alone they may mean something else
GROUPS_ELSE = (
    "sensitive",
    "sens",
    "protected",
    "female",
    "male",
    "black",
    "hispanic",
    "asian",
    "white",
    "age",
    "s",
)
ROLES = {
    "outcome": (
        "two_year", "recid", "outcome", "label", "target", "actual", "truth", "y_true", "default", "repaid", "reoffend",
        "chronic", "comorbid", "illness", "need", "income", "salary", "cost", "risk", "=class", "weapon",
        "gpa", "graduat", "pf", "crime", "violent", "result", "response", "surviv", "died", "dead",
        "death", "y",
    ),
    "decision": (
        "decision", "approved", "approval", "hired", "selected", "passed", "promoted", "admitted", "accepted",
        "enrolled", "granted", "decided", "offer", "predicted", "prediction", "y_pred", "denied", "rejected", "flagged",
        "frisk", "search", "arstmade", "loan_status", "action_taken", "pass", "admit", "hire", "approv", "reject",
        "deny", "denial", "select", "accept", "refus", "declin", "dismiss", "fired", "laid_off", "promot",
        "admiss", "award", "shortlist", "callback", "=call", "invited", "released", "detained", "=credit",
    ),
    "score": (
        "decile_score", "risk_score", "score", "probability", "proba", "prob", "risk", "rating", "percentile",
        "combine", "exam",
    ),
}  # fmt: skip
NEED = ("chronic", "comorbid", "illness", "need", "cost", "disease", "diagn", "condition")
FIELDS = {
    "employment": (
        "hire", "hired", "applicant", "candidate", "position", "exam", "promot", "passed", "oral", "written",
        "interview", "job",
    ),
    "risk-score": ("recid", "decile", "arrest", "parole", "charge", "crime", "juv", "prior", "offen"),
    "lending": (
        "loan", "credit", "mortgage", "debt", "approv", "lend", "repaid", "apr", "default",
    ),
    "healthcare": ("patient", "health", "illness", "chronic", "cost", "program", "diagn", "comorb", "hospital", "care"),
}  # fmt: skip
YES = (
    "1", "true", "yes", "y", "approved", "accepted", "hired", "selected", "passed", "pass", "granted", "admitted",
    "good", ">50k", "high", "positive", "repaid",
)  # fmt: skip
GOOD = (
    "approv", "hired", "hire", "select", "passed", "pass", "promot", "admit", "admiss", "accept", "grant", "offer",
    "enrol", "loan_status", "award", "shortlist", "callback", "invited", "released",
)  # fmt: skip
BAD = (
    "denied", "deny", "denial", "reject", "flagged", "flag", "frisk", "search", "arstmade", "recid", "risk", "default",
    "refus", "declin", "dismiss", "fired", "laid_off", "detained",
)  # fmt: skip
NO = ("0", "false", "no", "n")
NOT = ("not", "no", "non", "un", "in", "never", "without")  # what turns a word into its opposite
# codes whose meaning a public file's own codebook gives: HMDA's 1 is a loan made, German credit's 1 a good risk
CODED = {"action_taken": "1", "credit": "1"}


def speaks(name: str, word: str) -> bool:
    """Whether a word of the name begins with it, so that 'sex' is not found in 'sussex'; a short word must be there."""
    if len(word) == 1 or word.startswith("="):
        return spoken(name) == word.lstrip("=")
    if "_" in word:
        return f"_{word}" in "_" + "_".join(parts(name))
    return any(part == word or (len(word) > 4 and part.startswith(word)) for part in parts(name))


def spoken(name: str) -> str:
    """The name as words are looked for in it: decile-score and decileScore are decile_score."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("-", "_").replace(" ", "_")


def parts(name: str) -> list[str]:
    """The words of a name; a word begins after a number, too."""
    return [part for part in re.split(r"[^a-z0-9]+|(?<=[0-9])(?=[a-z])", spoken(name)) if part]


# labels by which a column is known whose name says nothing, such as colour: Black, White
_OF_SEX = {"female", "male", "woman", "man", "women", "men", "f", "m"}
_OF_RACE = {
    "black", "white", "asian", "hispanic", "latino", "caucasian", "africanamerican", "nativeamerican", "afam", "cauc",
}  # fmt: skip
_REST = {"other", "unknown", "mixed", "multiple", "missing"}


def held_by(labels: Sequence[str]) -> str | None:
    """The attribute of which these are the groups."""
    said = {"".join(part for part in parts(label) if not part.isdigit()) for label in labels}
    for of, known in (("sex", _OF_SEX), ("race", _OF_RACE)):
        if len(said & known) > 1 and said <= known | _REST:
            return of
    return None


def label_of(name: str) -> str | None:
    """The attribute of which a name says one group: black and is_black of race, white_collar of none."""
    left = [part for part in parts(name) if part not in BESIDE]
    said = [next((of for of, listed in LABELS.items() if part in listed), None) for part in left]
    return said[0] if said and None not in said else None


def rank(name: str, words: Sequence[str]) -> int | None:
    """The place of the first word that the name speaks."""
    return next((place for place, word in enumerate(words) if speaks(name, word)), None)


# -- What the labels of a decision or an outcome say: which of two means yes, and whether that is good for a
# person.
_YES_AND_NO = ({"0", "1"}, {"-1", "1"}, {"false", "true"})


def positive_label(profile: Profile) -> str | None:
    """The label that means yes, where words say it; of two numbers only -1 and 1 say it themselves."""
    if not profile.binary:
        return None
    if profile.numeric and set(profile.labels) not in _YES_AND_NO:
        return CODED.get(spoken(profile.name))
    return meaning_yes(profile.labels, profile.name)


def meaning_yes(labels: tuple[str, ...], name: str) -> str | None:
    """The label that says yes; of two else the one that is no opposite, what the column is called, or a good thing."""
    for word in YES:
        for label in labels:
            if label.strip().strip(".").lower() == word:
                return label
    for says in (_affirms, _is_named, _is_good) if len(labels) == 2 else ():
        found = [one for one, other in (labels, labels[::-1]) if says(one, other, name)]
        if len(found) == 1:
            return found[0]
    return None


def readable(profile: Profile) -> bool:
    """Whether it is known which of two values means yes."""
    return profile.zero_one or positive_label(profile) is not None


def good_for_a_person(name: str, label: str = "") -> int | None:
    """1 where a decision of 1 is good, 0 where it is bad: by its label or else its name; None where neither says it."""
    said = _tone(label)
    if said is None and (said := _tone(name)) is not None and label.strip().lower() in NO:
        return 1 - said
    return said


def _tone(text: str) -> int | None:
    good, bad = (rank(text, listed) is not None for listed in (GOOD, BAD))
    denied = any(part in NOT for part in parts(text))
    return None if good == bad else int(good != denied)


def _affirms(label: str, other: str, _: str) -> bool:
    """Whether the other is its opposite: promoted and not promoted, smoker and nonsmoker."""
    return _joined(other) in [opposite + _joined(label) for opposite in NOT]


def _is_named(label: str, _: str, name: str) -> bool:
    """Whether the column is called so: admitted in the column Admit."""
    short, long = sorted((_joined(label), _joined(name)), key=len)
    return len(short) > 3 and long.startswith(short)


def _is_good(label: str, *_: str) -> bool:
    return _tone(label) == 1


def _joined(text: str) -> str:
    return "".join(parts(text))
