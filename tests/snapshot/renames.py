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
from typing import Any

from snapshot.renamed_texts import DIFFERS, PATTERNS, RECORDS, SAME, STATE, TEXTS, To
from snapshot.renamed_texts import MOVED_NUMBERS as MOVED_NUMBERS  # asked for by name

# Where the few names live that the cases need and `fairtrial` itself does not export.
# A module that moved: change the value here; a name that `fairtrial` exports now: "fairtrial".
PLACES: dict[str, str] = {
    "Estimator": "fairtrial.methods.improve.candidates",
    "LinearProgram": "fairtrial.methods.improve.candidates",
    "Payoff": "fairtrial.methods.improve.candidates",
    "main": "fairtrial.cli",
    "read_result": "fairtrial",
}

# Public functions: {"scan_all": To("scan_every", "reason")}.
FUNCTIONS: dict[str, To] = {}

# Arguments by function ("*": every function): {"scan": {"protected": To("group", "reason")}}; used for calls, for
# sections of specs and for the recorded arguments. Every entry needs a reason.
ARGUMENTS: dict[str, dict[str, To]] = {}

# Values of arguments by (function or "*", OLD argument): {("scan", "direction"): {"both": To("differs", "reason")}};
# used for calls, specs and recorded arguments. Every entry needs a reason.
ARGUMENT_VALUES: dict[tuple[str, str], dict[Any, To]] = {
    ("scan", "direction"): {"both": To("differs", DIFFERS)},
    ("scan_all", "direction"): {"both": To("differs", DIFFERS)},
    ("transport", "direction"): {"both": To("differs", DIFFERS), "outside": To("differs", DIFFERS)},
}

# Options of the command line: {"--by": To("--groups", "reason")}. Every entry needs a reason.
OPTIONS: dict[str, To] = {}

# Columns of the estimates by kind of result ("*": every kind): {"certify": {"scale": To("value_kind", "reason")}}.
# Every entry needs a reason.
KIND = "scale means difference or ratio; what values are is value_kind"
TARGET = {"comparison_n": To("target_n", SAME), "comparison_rate": To("target_rate", SAME)}
COLUMNS: dict[str, dict[str, To]] = {
    "scan": {
        **TARGET,
        "comparison": To("target", SAME),
        "comparison_low": To("target_rate_low", SAME),
        "comparison_high": To("target_rate_high", SAME),
        "comparison_expected": To("target_expected", SAME),
    },
    "scan_all": TARGET,
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
    "scan": {"comparison": To("target", SAME), **TARGET},
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
    ("compare", "*details/value_kind"): {True: To("percent", KIND)},
    ("scan", "*estimates/*/p_value/reason"): {"listed, not tested": To("not tested", STATE)},
    ("*", "columns/*/kind"): {"verdict": To("state", STATE)},
    **{
        ("*", f"columns/{name}/kind"): {"count": To("people", "counts of people are told from other counts")}
        for name in ("n", "target_n", "unsupported")
    },
    ("*", "columns/value_kind/title"): {"scale": To("values are", KIND)},
    ("*", "columns/difference/title"): {"disparity": To("difference", SAME)},
}

# States of rows by regular expression of the OLD text, (kind or "*", pattern, code): the reason of the old text stands
# in state_reason now. Every entry needs a reason.
STATES: list[tuple[str, str, To]] = [
    ("scan", r"listed, not tested", To("listed", STATE)),
    ("*", r"not tested: fewer than .*", To("too few", STATE)),
    ("*", r"not tested: nobody meets .*", To("nobody", STATE)),
    ("transport", r"not compared: fewer than .*", To("too few", STATE)),
    ("measure", r"not tested: .*", To("no spread", STATE)),
    ("flag", r"not tested: .*", To("reference", STATE)),
]

# Tables of `to_frame`, (case pattern, kind of the result): their columns are renamed as in the results.
FRAMES: list[tuple[str, str]] = [("frames/*/frame", "measure"), ("frames/* to *", "certify")]

# Keys of the provenance that stand elsewhere in it, by kind of result: {"scan": {"arguments/seed": To("seed", …)}}.
# Every entry needs a reason.
RECORDED = "every declared argument is recorded, among the arguments"
BESIDE = "the seed is recorded beside the arguments, as everywhere"
MODELS = ("coalitions", "model", "interval", "sensitive")
PROVENANCE: dict[str, dict[str, To]] = {
    "scan": {"arguments/seed": To("seed", BESIDE)},
    "scan_all": {"arguments/seed": To("seed", BESIDE)},
    "transport": {"arguments/seed": To("seed", BESIDE)},
    "explain": {name: To(f"arguments/{name}", RECORDED) for name in MODELS},
    "compare": {
        **{name: To(f"arguments/explanation/{name}", RECORDED) for name in MODELS},
        **{f"other/{name}": To(f"other/arguments/{name}", RECORDED) for name in MODELS},
    },
}

# Codes of verdicts and of notes: {"none-shown": To("not-shown", "reason")}. Every entry needs a reason.
VERDICTS: dict[str, To] = {}
NOTES: dict[str, To] = {}

# Classes of errors and who raises them: {"NotApplicable": To("Refused", "reason")}. Every entry needs a reason.
ERRORS: dict[str, To] = {}
WHO: dict[str, To] = {
    "Result.from_dict": To("read_result", "a result of any kind is read by the methods, above the results"),
}

# Paths of the record that came or went, (case pattern, NEW path pattern, reason), fnmatch patterns. An entry allows
# a key that only one of the two has; it does not allow another value. Every entry needs a reason.
NEW_KEYS: list[tuple[str, str, str]] = [
    ("*", "*estimates/*/state_reason", STATE),
    ("*", "*details/untested/*/state", STATE),
    ("*", "*provenance/arguments/*", RECORDED),
    ("*", "*primary/*/of_many", "whether an effect is one rate's is a fact of the p-value"),
    ("*", "*family/*/of_many", "whether an effect is one rate's is a fact of the p-value"),
    ("*", "*family/*/level", "each finding carries the level of its own intervals"),
    ("frames/*", "columns/state_reason/*", STATE),
    ("texts/*", "columns/state_reason/*", STATE),
    ("texts/explain*", "columns/metric/*", "tables stack: every result has its metric and states"),
    ("texts/explain*", "columns/state/*", "tables stack: every result has its metric and states"),
    ("texts/metrics", "criteria/fnr_parity/*", "more criteria joined the one table"),
    ("texts/metrics", "criteria/conditional_parity/*", "more criteria joined the one table"),
    ("*", "provenance/other/arguments/*", RECORDED),
    *(
        (case, f"*estimates/*/{name}", "tables stack: every result has its metric and states")
        for case in ("*explain*", "*compare*", "run/*")
        for name in ("metric", "state")
    ),
]
WORDED = "sentences are worded when they are read, after masking"
GONE_KEYS: list[tuple[str, str, str]] = [
    *(
        (case, f"{result}provenance/{other}features/*", "recorded among the arguments, by player")
        for case, result, other in [
            ("*explain*", "", ""),
            ("compare/*", "", ""),
            ("compare/*", "", "other/"),
            ("run/people*", "results/explain/", ""),
        ]
    ),
    ("*improve*", "*details/sentences/*", WORDED),
    ("run/people*", "results/improve/details/sentences/*", WORDED),
]

# Cases that no longer can be asked, (case pattern, reason). Every entry needs a reason.
GONE_CASES: list[tuple[str, str]] = []

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
    if parts[0] == "columns" and len(parts) > 1:
        return (parts[0], _by_kind("COLUMNS", COLUMNS, kind, parts[1]), *parts[2:])
    if "provenance" in parts:
        parts = _in_provenance(kind, parts)
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


def _in_provenance(kind: str, parts: tuple[str, ...]) -> tuple[str, ...]:
    place = parts.index("provenance") + 1
    rest = "/".join(parts[place:])
    for old, to in PROVENANCE.get(kind, {}).items():
        if rest == old or rest.startswith(f"{old}/"):
            used.add(f"PROVENANCE[{kind!r}][{old!r}]")
            return (*parts[:place], *f"{to.new}{rest.removeprefix(old)}".split("/"))
    return parts


def frame_kind(case: str) -> str:
    """The kind of the result whose table the case is about, or nothing."""
    return next((kind for pattern, kind in FRAMES if fnmatchcase(case, pattern)), "")


def record_of(case: str) -> dict[str, Any] | None:
    """The whole record of a call that is refused otherwise today."""
    if case not in RECORDS:
        return None
    used.add(f"RECORDS[{case!r}]")
    return dict(RECORDS[case].new)


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
    in_a_frame = new[:2] == ("columns", "state") and new[-1].isdigit()
    if (new[-1] == "state" or in_a_frame) and isinstance(value, str):
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
    for table in ("FUNCTIONS", "OPTIONS", "VERDICTS", "NOTES", "ERRORS", "WHO", "TEXTS", "RECORDS"):
        found |= {f"{table}[{name!r}]": to.reason for name, to in globals()[table].items()}
    for table in ("ARGUMENTS", "ARGUMENT_VALUES", "COLUMNS", "DETAILS", "VALUES", "PROVENANCE"):
        for key, inner in globals()[table].items():
            found |= {f"{table}[{key!r}][{name!r}]": to.reason for name, to in inner.items()}
    found |= {f"PATTERNS[{pattern!r}]": to.reason for pattern, to in PATTERNS}
    found |= {f"DETAIL_PATHS[{key!r}]": to.reason for key, to in DETAIL_PATHS.items()}
    found |= {f"STATES[{(kind, pattern)!r}]": to.reason for kind, pattern, to in STATES}
    for table in ("NEW_KEYS", "GONE_KEYS", "MOVED_NUMBERS"):
        found |= {f"{table}[{entry[:2]!r}]": entry[2] for entry in globals()[table]}
    return found | {f"GONE_CASES[{pattern!r}]": reason for pattern, reason in GONE_CASES}
