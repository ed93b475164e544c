"""Words in column names that speak for a part of the audit, the telling ones first."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
        "chronic", "comorbid", "illness", "need", "income", "salary", "cost", "credit", "risk", "class", "weapon",
        "gpa", "graduat", "pf", "crime", "violent", "result", "response", "surviv", "died", "dead",
        "death", "y",
    ),
    "decision": (
        "decision", "approved", "approval", "hired", "selected", "passed", "promoted", "admitted", "accepted",
        "enrolled", "granted", "decided", "offer", "predicted", "prediction", "y_pred", "denied", "rejected", "flagged",
        "frisked", "searched", "arstmade", "loan_status", "action_taken", "pass", "admit", "hire", "approv", "reject",
        "deny", "denial", "select", "accept", "refus", "declin", "dismiss", "fired", "laid_off", "promot",
        "admiss", "award", "shortlist", "callback", "call", "invited",
    ),
    "score": (
        "decile_score", "risk_score", "score", "probability", "proba", "prob", "risk", "rating", "percentile",
        "combine", "exam",
    ),
}  # fmt: skip
# what comes after a decision and never is one
LATER = (
    "recid", "reoffend", "default", "repaid", "gpa", "graduat", "crime", "violent", "weapon", "chronic", "comorbid",
    "illness", "need", "cost", "surviv", "died", "dead", "death",
)  # fmt: skip
FIELDS = {
    "employment": (
        "hire", "hired", "applicant", "candidate", "position", "exam", "promot", "passed", "oral", "written",
        "interview", "job",
    ),
    "risk-score": ("recid", "decile", "arrest", "parole", "charge", "crime", "juv", "prior", "offen"),
    "lending": (
        "loan", "credit", "income", "mortgage", "debt", "approv", "capital", "lend", "repaid", "apr", "default",
    ),
    "healthcare": ("patient", "health", "illness", "chronic", "cost", "program", "diagn", "comorb", "hospital", "care"),
}  # fmt: skip
YES = (
    "1", "true", "yes", "y", "approved", "accepted", "hired", "selected", "passed", "pass", "granted", "admitted",
    "good", ">50k", "high", "positive", "repaid",
)  # fmt: skip
GOOD = (
    "approv",
    "hire",
    "select",
    "pass",
    "promot",
    "admit",
    "accept",
    "grant",
    "offer",
    "enrol",
    "loan_status",
    "award",
    "shortlist",
    "callback",
    "invited",
)
BAD = (
    "denied", "deny", "denial", "reject", "flag", "frisk", "search", "arst", "recid", "risk", "default", "refus",
    "declin", "dismiss", "fired", "laid_off",
)  # fmt: skip
# codes whose meaning a public file's own codebook gives: HMDA's 1 is a loan made, German credit's 1 a good risk
CODED = {"action_taken": "1", "credit": "1"}


def speaks(name: str, word: str) -> bool:
    """Short words must stand alone, so that 'sex' is not found in 'sussex'; a letter must be the whole name."""
    text = spoken(name)
    if len(word) == 1:
        return text == word
    if "_" in word or len(word) > 5:
        return word in text
    return word in parts(name) or (len(word) > 4 and word in text)


def spoken(name: str) -> str:
    """The name as words are looked for in it: decile-score and decileScore are decile_score."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("-", "_").replace(" ", "_")


def parts(name: str) -> list[str]:
    """The words of a name."""
    return [part for part in re.split(r"[^a-z0-9]+", spoken(name)) if part]


def label_of(name: str) -> str | None:
    """The attribute of which a name says one group: black and is_black of race, white_collar of none."""
    left = [part for part in parts(name) if part not in BESIDE]
    said = [next((of for of, listed in LABELS.items() if part in listed), None) for part in left]
    return said[0] if said and None not in said else None


def rank(name: str, words: Sequence[str]) -> int | None:
    """The place of the first word that the name speaks."""
    return next((place for place, word in enumerate(words) if speaks(name, word)), None)
