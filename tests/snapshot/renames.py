"""What was renamed since the snapshot was taken, and the translation of old names into today's.

The cases are written with the OLD names and the packed file holds OLD keys and texts. Calls are translated before
they are made, recorded keys and texts before they are compared. Every entry carries its reason: `To(new, reason)`.
An entry that no case needs is listed by `compare.py` at the end of a full run, so that the tables stay true.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple


class To(NamedTuple):
    """The new name (or value, or text) and why it is another one."""

    new: Any
    reason: str


# Where the few names live that the cases need and `fairtrial` itself does not export.
# A module that moved: change the value here; a name that `fairtrial` exports now: "fairtrial".
PLACES: dict[str, str] = {
    "Estimator": "fairtrial.methods.improve.candidates",
    "LinearProgram": "fairtrial.methods.improve.candidates",
    "Payoff": "fairtrial.methods.improve.candidates",
    "main": "fairtrial.cli",
}

# Public functions: {"scan_all": To("scan_every", "reason")}.
FUNCTIONS: dict[str, To] = {}

# Arguments by function ("*": every function): {"scan": {"protected": To("group", "reason")}}; used for calls, for
# sections of specs and for the recorded arguments. Every entry needs a reason.
ARGUMENTS: dict[str, dict[str, To]] = {}

# Values of arguments by (function or "*", OLD argument): {("scan", "direction"): {"both": To("differs", "reason")}};
# used for calls, specs and recorded arguments. Every entry needs a reason.
DIFFERS = "directions have the same words in every method"
ARGUMENT_VALUES: dict[tuple[str, str], dict[Any, To]] = {
    ("improve", "direction"): {"both": To("differs", DIFFERS)},
    ("scan", "direction"): {"both": To("differs", DIFFERS)},
    ("scan_all", "direction"): {"both": To("differs", DIFFERS)},
    ("transport", "direction"): {"both": To("differs", DIFFERS), "outside": To("differs", DIFFERS)},
}

# Options of the command line: {"--by": To("--groups", "reason")}. Every entry needs a reason.
OPTIONS: dict[str, To] = {}

# Columns of the estimates by kind of result ("*": every kind): {"certify": {"scale": To("value_kind", "reason")}}.
# Every entry needs a reason.
SAME = "the same quantity has the same column in every result"
KIND = "scale means difference or ratio; what values are is value_kind"
STATE = "a row's state is a code, its reason stands beside it"
SCAN = {
    "comparison": To("target", SAME),
    "comparison_n": To("target_n", SAME),
    "comparison_rate": To("target_rate", SAME),
    "comparison_low": To("target_rate_low", SAME),
    "comparison_high": To("target_rate_high", SAME),
    "comparison_expected": To("target_expected", SAME),
}
COLUMNS: dict[str, dict[str, To]] = {
    "scan": SCAN,
    "scan_all": SCAN,
    "*": {"scale": To("value_kind", KIND), "finding": To("state", STATE)},
    "certify": {
        "disparity": To("difference", SAME),
        "disparity_low": To("difference_low", SAME),
        "disparity_high": To("difference_high", SAME),
        "verdict": To("state", STATE),
        "family_verdict": To("family_state", STATE),
    },
    "transport": {
        "comparison": To("metric", SAME),
        "reference": To("target", SAME),
    },
    "explain": {
        "points": To("difference", SAME),
        "low": To("difference_low", SAME),
        "high": To("difference_high", SAME),
        "versus": To("target", SAME),
    },
    "compare": {
        "change": To("difference", SAME),
        "low": To("difference_low", SAME),
        "high": To("difference_high", SAME),
        "versus": To("target", SAME),
    },
    "flag": {
        "disparity": To("difference", SAME),
        "disparity_low": To("difference_low", SAME),
        "disparity_high": To("difference_high", SAME),
    },
}

# Keys anywhere under details, by kind of result ("*": every kind): {"certify": {"scale": To("value_kind", "reason")}}.
# Every entry needs a reason.
DETAILS: dict[str, dict[str, To]] = {
    "*": {"scale": To("value_kind", KIND)},
    "improve": {"scale": To("scale", "here it means difference or ratio")},
    "explain": {
        "metric_label": To("label", SAME),
        "binary": To("value_kind", KIND),
        "points": To("difference", SAME),
        "versus": To("target", SAME),
        "change": To("difference", SAME),
        "low": To("difference_low", SAME),
        "high": To("difference_high", SAME),
    },
    "compare": {"metric_label": To("label", SAME), "binary": To("value_kind", KIND)},
    "transport": {"comparison": To("metric", SAME)},
    "scan": SCAN,
}

# Where one old key became two: the new last part by (kind, pattern of the OLD path under details). Every entry needs
# a reason.
DETAIL_PATHS: dict[tuple[str, str], To] = {
    ("certify", "untested/*/reason"): To("state_reason", STATE),
    ("explain", "groups/*/low"): To("rate_low", SAME),
    ("explain", "groups/*/high"): To("rate_high", SAME),
    ("explain", "multi_stage/cells/*/low"): To("value_low", SAME),
    ("explain", "multi_stage/cells/*/high"): To("value_high", SAME),
}

# Values of recorded keys outside the arguments, by (kind or "*", pattern of the NEW path), fnmatch patterns:
# {("flag", "details/direction"): {"outside": To("differs", "reason")}}. Every entry needs a reason.
VALUES: dict[tuple[str, str], dict[Any, To]] = {
    ("explain", "*details/value_kind"): {True: To("percent", KIND), False: To("number", KIND)},
    ("compare", "*details/value_kind"): {True: To("percent", KIND), False: To("number", KIND)},
    ("scan", "*estimates/*/p_value/reason"): {"listed, not tested": To("not tested", STATE)},
}

# States of rows by regular expression of the OLD text, (kind or "*", pattern, code): the reason of the old text stands
# in state_reason now. Every entry needs a reason.
STATES: list[tuple[str, str, To]] = [
    ("scan", r"listed, not tested", To("listed", STATE)),
    ("*", r"not tested: fewer than .*", To("too few", STATE)),
    ("*", r"not tested: nobody meets .*", To("nobody", STATE)),
    ("transport", r"not compared: fewer than .*", To("too few", STATE)),
    ("transport", r"not compared: nobody to compare with", To("alone", STATE)),
    ("measure", r"not tested: nobody to compare with", To("no target", STATE)),
    ("measure", r"not tested: the group overlaps .*", To("overlaps", STATE)),
    ("measure", r"not tested: .*", To("no spread", STATE)),
    ("flag", r"not tested: it is everyone.*", To("everyone", STATE)),
    ("flag", r"not tested: .*", To("reference", STATE)),
]

# Codes of verdicts and of notes: {"none-shown": To("not-shown", "reason")}. Every entry needs a reason.
VERDICTS: dict[str, To] = {}
NOTES: dict[str, To] = {}

# Classes of errors and who raises them: {"NotApplicable": To("Refused", "reason")}. Every entry needs a reason.
ERRORS: dict[str, To] = {}
WHO: dict[str, To] = {}

# Texts, exact and whole: {"old sentence": To("new sentence", "reason")}. Every entry needs a reason.
TEXTS: dict[str, To] = {}

# Texts by regular expression, in order, each applied to what the ones before left:
# [(r"direction 'both'", To("direction 'differs'", "reason"))]. Every entry needs a reason.
NOT_TESTED = "the state says that it was not tested; the reason stands alone"
DECLARED = "bounds and choices are declared, and worded in one place"
PATTERNS: list[tuple[str, To]] = [
    (r"'direction' must be one of \['above', 'below', 'both'\]",
     To("'direction' must be one of ['above', 'below', 'differs']", DIFFERS)),
    (r"\], got 'differs\?'\.$", To("], got 'differs?'. Did you mean 'differs'?", DIFFERS)),
    (r"'sigma' must be 'estimated' or a positive number",
     To("'sigma' must be a number above 0 or 'estimated'", DECLARED)),
    (r"'ridge' must be a positive number", To("'ridge' must be a number above 0", DECLARED)),
    (r"'permutations' must be a whole number of at least 19",
     To("'permutations' must be a whole number between 19 and 10,000,000", DECLARED)),
    (r"'top' must be a whole number of at least 1",
     To("'top' must be a whole number between 1 and 1,000", DECLARED)),
    (r"'condition' must be None, 0, 1 or 'any'", To("'condition' must be one of [0, 1, 'any']", DECLARED)),
    (r"must be a group like \{'race': 'African-American'\}",
     To("must be a group like race = African-American", "no Python in a fault's text")),
    (r"^not tested: ((?:fewer than|nobody|a constant|the target|the rest|neither|the group|it is|its members).*)$",
     To(r"\1", NOT_TESTED)),
    (r"^not compared: ", To("", NOT_TESTED)),
    (r"Give score= and threshold= in the Audit, or distance= a model, a function or a column",
     To("Give the audit a score and a threshold, or name a distance: a model, a function or a column",
        "a note is shown by every front end")),
    (r"family_verdict", To("family_state", STATE)),
    (r"; interval='t' takes them", To("; the interval 't' takes them", "every front end shows it")),
    (r"0\.05 is 5 points\. Got ", To("0.05 is 5 points, got ", "faults are data: what came is said in one form")),
    (r"(must be one of \[.*\], got .*)\.$", To(r"\1", "faults are data: no full stop without a hint after it")),
]  # fmt: skip

# Paths of the record that came or went, (case pattern, NEW path pattern, reason), fnmatch patterns. An entry allows
# a key that only one of the two has; it does not allow another value. Every entry needs a reason.
RECORDED = "every declared argument is recorded"
NEW_KEYS: list[tuple[str, str, str]] = [
    ("*", "*estimates/*/state_reason", STATE),
    ("*", "*details/untested/*/state", STATE),
    ("*", "*provenance/arguments/*", RECORDED),
    ("*", "*primary/*/of_many", "whether an effect is one rate's is a fact of the p-value"),
    ("*", "*family/*/of_many", "whether an effect is one rate's is a fact of the p-value"),
    ("*", "*family/*/level", "each finding carries the level of its own intervals"),
    ("transport*", "provenance/seed", RECORDED),
    ("*scan*", "provenance/seed", RECORDED),
    ("*", "provenance/other/arguments/*", RECORDED),
    *(
        (case, f"*estimates/*/{name}", "tables stack: every result has its metric and states")
        for case in ("*explain*", "*compare*", "command/*", "run/*")
        for name in ("metric", "state")
    ),
]
GONE_KEYS: list[tuple[str, str, str]] = [
    *(
        (case, f"*provenance/{other}{name}*", "recorded among the arguments")
        for case in ("*explain*", "*compare*")
        for other in ("", "other/")
        for name in ("coalitions", "model", "features", "interval", "sensitive")
    ),
    ("transport*", "provenance/arguments/seed", "recorded beside the arguments, as everywhere"),
    ("*scan*", "provenance/arguments/seed", "recorded beside the arguments, as everywhere"),
    ("*improve*", "*details/sentences*", "sentences are worded when they are read, after masking"),
]

# Cases that no longer can be asked, (case pattern, reason). Every entry needs a reason.
GONE_CASES: list[tuple[str, str]] = []

# Numbers and texts that a commit changed on purpose, (case pattern, NEW path pattern, reason): not compared. Only for
# commits that say so (path "the call": it is refused now, or no longer); the next `take.py` removes the need for the
# entry. Patterns are fnmatch's: write * for the brackets that names of cases have. Every entry needs a reason.
MOVED_NUMBERS: list[tuple[str, str, str]] = []

used: set[str] = set()


def place_of(name: str) -> Any:
    """A class or function that is not exported by the package itself."""
    return getattr(importlib.import_module(PLACES[name]), name)


def _by_kind(table: str, tables: Mapping[str, Mapping[str, To]], kind: str, name: str) -> str:
    for key in (kind, "*"):
        if name in tables.get(key, {}):
            used.add(f"{table}[{key!r}][{name!r}]")
            return str(tables[key][name].new)
    return name


def _lookup(table: str, entries: Mapping[Any, To], value: Any) -> Any:
    if isinstance(value, str | int | float | bool | None) and value in entries:
        used.add(f"{table}[{value!r}]")
        return entries[value].new
    return value


def function_name(name: str) -> str:
    return str(_lookup("FUNCTIONS", FUNCTIONS, name))


def arguments(function: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, translated."""
    return {
        _by_kind("ARGUMENTS", ARGUMENTS, function, name): argument_value(function, name, value)
        for name, value in given.items()
    }


def argument_value(function: str, name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [argument_value(function, name, item) for item in value]
    for key in ((function, name), ("*", name)):
        if key in ARGUMENT_VALUES:
            value = _lookup(f"ARGUMENT_VALUES[{key!r}]", ARGUMENT_VALUES[key], value)
    return value


def option(text: str) -> str:
    return str(_lookup("OPTIONS", OPTIONS, text))


def path_of(kind: str, parts: tuple[str, ...]) -> tuple[str, ...]:
    """A recorded path with today's names; `kind` is the kind of the result it lies in."""
    if "estimates" in parts:
        place = parts.index("estimates") + 2
        if place < len(parts):
            column = _by_kind("COLUMNS", COLUMNS, kind, parts[place])
            return (*parts[:place], column, *parts[place + 1 :])
    if "details" in parts:
        place = parts.index("details") + 1
        rest = tuple(_by_kind("DETAILS", DETAILS, kind, part) for part in parts[place:])
        for (of_kind, pattern), to in DETAIL_PATHS.items():
            if of_kind == kind and fnmatchcase("/".join(parts[place:]), pattern):
                used.add(f"DETAIL_PATHS[{(of_kind, pattern)!r}]")
                rest = (*rest[:-1], str(to.new))
        return (*parts[:place], *rest)
    if "arguments" in parts:
        place = parts.index("arguments") + 1
        if place < len(parts):
            name = _by_kind("ARGUMENTS", ARGUMENTS, kind, parts[place])
            return (*parts[:place], name, *parts[place + 1 :])
    if len(parts) >= 2 and parts[-2] == "notes":
        return (*parts[:-1], str(_lookup("NOTES", NOTES, parts[-1])))
    return parts


def value_of(kind: str, old: tuple[str, ...], new: tuple[str, ...], value: Any) -> Any:
    """A recorded value with today's names and words."""
    if "arguments" in old:
        place = old.index("arguments") + 1
        if place < len(old):
            value = argument_value(kind, old[place], value)
    if old[-2:] == ("verdict", "code"):
        return _lookup("VERDICTS", VERDICTS, value)
    if old[-1] == "error" and len(old) == 1:
        return _lookup("ERRORS", ERRORS, value)
    if old[-1] == "who" and len(old) == 1:
        return _lookup("WHO", WHO, value)
    if new[-1] == "state" and isinstance(value, str):
        return _state_of(kind, value)
    path = "/".join(new)
    for (of_kind, pattern), entries in VALUES.items():
        if of_kind in (kind, "*") and fnmatchcase(path, pattern):
            value = _lookup(f"VALUES[{(of_kind, pattern)!r}]", entries, value)
    return text_of(value) if isinstance(value, str) else value


def _state_of(kind: str, text: str) -> str:
    for of_kind, pattern, to in STATES:
        if of_kind in (kind, "*") and re.fullmatch(pattern, text):
            used.add(f"STATES[{(of_kind, pattern)!r}]")
            return str(to.new)
    return text


@cache
def text_of(text: str) -> str:
    """A recorded text in today's words."""
    if text in TEXTS:
        used.add(f"TEXTS[{text!r}]")
        return str(TEXTS[text].new)
    for pattern, to in PATTERNS:
        changed = re.sub(pattern, str(to.new), text)
        if changed != text:
            used.add(f"PATTERNS[{pattern!r}]")
        text = changed
    return text


def listed(table: str, case: str, path: str) -> bool:
    """Whether an entry of MOVED_NUMBERS, NEW_KEYS or GONE_KEYS speaks of this place."""
    for entry in globals()[table]:
        if fnmatchcase(case, entry[0]) and fnmatchcase(path, entry[1]):
            used.add(f"{table}[{entry[:2]!r}]")
            return True
    return False


def gone(case: str) -> bool:
    for pattern, _ in GONE_CASES:
        if fnmatchcase(case, pattern):
            used.add(f"GONE_CASES[{pattern!r}]")
            return True
    return False


def entries() -> dict[str, str]:
    """Every entry by its name, with its reason."""
    found: dict[str, str] = {}
    for table in ("FUNCTIONS", "OPTIONS", "VERDICTS", "NOTES", "ERRORS", "WHO", "TEXTS"):
        found |= {f"{table}[{name!r}]": to.reason for name, to in globals()[table].items()}
    for table in ("ARGUMENTS", "ARGUMENT_VALUES", "COLUMNS", "DETAILS", "VALUES"):
        for key, inner in globals()[table].items():
            found |= {f"{table}[{key!r}][{name!r}]": to.reason for name, to in inner.items()}
    found |= {f"PATTERNS[{pattern!r}]": to.reason for pattern, to in PATTERNS}
    found |= {f"DETAIL_PATHS[{key!r}]": to.reason for key, to in DETAIL_PATHS.items()}
    found |= {f"STATES[{(kind, pattern)!r}]": to.reason for kind, pattern, to in STATES}
    for table in ("NEW_KEYS", "GONE_KEYS", "MOVED_NUMBERS"):
        found |= {f"{table}[{entry[:2]!r}]": entry[2] for entry in globals()[table]}
    return found | {f"GONE_CASES[{pattern!r}]": reason for pattern, reason in GONE_CASES}
