"""What names of columns and labels say in plain words, where the audit file has none of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fairtrial._trial.spec.name_words import parts

# What a column or a label of that very name says was done to people,
WERE = {
    "accepted": ("accept", "acceptance"), "admitted": ("admit", "admission"), "approved": ("approve", "approval"),
    "arrested": ("arrest", "arstmade"), "awarded": (), "called": ("call",), "declined": (),
    "denied": ("deny", "denial"), "detained": (), "dismissed": (), "enrolled": (), "fired": (), "flagged": (),
    "frisked": ("frisk",), "funded": (), "granted": (), "hired": ("hire",), "interviewed": ("interview",),
    "invited": ("invite",), "promoted": (), "recommended": (), "refused": (), "rejected": ("reject", "rejection"),
    "released": (), "selected": (), "searched": ("search", "search_conducted"), "shortlisted": ("shortlist",),
    "stopped": (),
}  # fmt: skip
# and what they did, or did not do.
DID = {
    "passed": ("pass",), "failed": ("fail",), "defaulted": ("default",), "repaid": ("repay",), "returned": ("return",),
    "reoffended": ("reoffend",), "survived": ("survive",), "graduated": ("graduate",),
    "got a callback": ("get a callback", "callback", "callbacks", "called_back", "got_callback", "received_callback"),
}  # fmt: skip
SEXES = {
    "women": ("female", "females", "woman", "women", "girls"), "men": ("male", "males", "man", "men", "boys"),
}  # fmt: skip
_AFTER = (
    "under",
    "over",
    "aged",
    "with",
    "without",
    "from",
    "in",
    "who",
    "whose",
    "of",
    "at",
    "born",
    "living",
)
_NOUNS = ("women", "men", "people", "children", "girls", "boys", "persons")


def done_by_name(texts: Iterable[str], label: int) -> str:
    """'were approved' of a column or label called so, 'were not approved' of its opposite; else empty."""
    for text in texts:
        for done, others in WERE.items():
            if text.lower() in (done, *others):
                return f"were {done}" if label == 1 else f"were not {done}"
        for done, others in DID.items():
            if text.lower() in (done, *others):
                return done if label == 1 else f"did not {others[0]}"
    return ""


def sex_words(name: str, label: str) -> str:
    """'women' of female, and of F where the column's name is English: in Spanish M is a woman."""
    found = next((word for word, labels in SEXES.items() if label in labels), "")
    return found or (
        {"f": "women", "m": "men"}.get(label, "") if {"sex", "gender"} & set(parts(name)) else ""
    )


def shape(told: str) -> tuple[str, str]:
    """'Black' stands before the noun, 'women' is one, 'under 25' stands behind it."""
    first, last = told.split()[0].lower(), told.split()[-1].lower()
    if first in _AFTER:
        return "after", told
    if first == "not":
        return "after", f"who are {told}"
    middle = any(f" {word} " in told for word in _AFTER)
    plural = last.endswith("s") and not last.endswith(("ss", "us", "is", "ous"))
    return ("noun" if plural or middle or last in _NOUNS else "before"), told


def is_name(label: str) -> bool:
    """Whether a label can stand before a noun: Black, African-American, Native American."""
    return len(label.split()) <= 2 and re.fullmatch(r"[^\W\d_]+([ -][^\W\d_]+)*", label) is not None
