"""Texts that were worded anew since the snapshot was taken, each with its reason.

Words that occur often are patterns, here; single texts and whole records of refused calls stand in fault_texts.json,
by their reason: {"texts": {reason: {old: new}}, "records": {reason: {case: {path: value}}}}.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple


class To(NamedTuple):
    """The new name (or value, or text) and why it is another one."""

    new: Any
    reason: str


_KEPT: dict[str, dict[str, dict[str, Any]]] = json.loads(
    Path(__file__).with_name("fault_texts.json").read_text(encoding="utf-8")
)


def _with_reasons(part: str) -> dict[str, To]:
    return {old: To(new, reason) for reason, group in _KEPT[part].items() for old, new in group.items()}


# Texts, exact and whole: {"old sentence": To("new sentence", "reason")}. Every entry needs a reason.
TEXTS: dict[str, To] = _with_reasons("texts")

# Refused calls whose whole record is another one (the class of the error, the order of several faults), by case:
# compared exactly, too. Every entry needs a reason.
RECORDS: dict[str, To] = _with_reasons("records")

# Texts by regular expression, in order, each applied to what the ones before left:
# [(r"direction 'both'", To("direction 'differs'", "reason"))]. Every entry needs a reason.
DIFFERS = "directions have the same words in every method"
STATE = "a row's state is a code, its reason stands beside it"
NOT_TESTED = "the state says that it was not tested; the reason stands alone"
DECLARED = "bounds and choices are declared, and worded in one place"
CURE = "cures are data: an argument of the Audit is named as such wherever it is named"
NO_PYTHON = "no Python in a text that every front end shows"
FAULT = "faults are data: sentence, what came, cure and hint are joined in one form"
IN_A_FILE = "the file's key stands before the fault and is not said twice"
FRONT_END = "the command line names options, the file keys"
NO_DOUBLE = "a difference that differs from the tolerance is said without 'not not'"
SAME = "the same quantity has the same column in every result"
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
     To("must be a group like race = African-American", NO_PYTHON)),
    (r"^not tested: ((?:fewer than|nobody|a constant|the target|the rest|neither|the group|it is|its members).*)$",
     To(r"\1", NOT_TESTED)),
    (r"^not compared: ", To("", NOT_TESTED)),
    (r"Give\s+score= and threshold= in the Audit, or distance= a model, a function or a column",
     To("Give the audit a score and a threshold, or name a distance: a model, a function or a column",
        NO_PYTHON)),
    (r"family_verdict", To("family_state", STATE)),
    (r"0\.05 is 5 points\. Got ", To("0.05 is 5 points, got ", FAULT)),
    (r"(must be one of \[.*\], got .*)\.$", To(r"\1", FAULT)),
    # since the faults of all front ends are worded from data
    (r" Or make one: Metric\(name, value, given\)\.$", To(" Or make one of your own.", NO_PYTHON)),
    (r"(is missing in \d+ rows: choose missing='drop')(?= \(or)", To(r"\1 in the Audit", CURE)),
    (r"(?<=: say which counts as 1, e\.g\. )(positive=\{.*\})$", To(r"\1 in the Audit", CURE)),
    (r"(?<=Or say which label counts: )positive=$", To("positive= in the Audit", CURE)),
    (r"(?<=: cut it with )(bins=\{.*?\})(?= \(quarters\))", To(r"\1 in the Audit", CURE)),
    (r"(?<=, here or as )(groups|features)= of the Audit$", To(r"\1= in the Audit", CURE)),
    (r"(?<=\. Check )features=(?=, the rows, and the threshold$)", To("features= in the Audit", CURE)),
    (r"^(\[(?:data|measure)\] (\w+): )'\2' ", To(r"\1", IN_A_FILE)),
    (r"(\[measure\] metrics: )'metric' (?=is unknown)", To(r"\1", IN_A_FILE)),
    (r"^flag: 'metric' (?=is unknown)", To("flag: --metric ", FRONT_END)),
    (r"^Audit: 'decision' (?=names)", To("Audit: --decision ", FRONT_END)),
    (r"(?<=transport: no two groups have 100000 rows each to compare by g); name larger groups with by=, or lower "
     r"minimum=", To(": name larger groups with by =, or lower minimum =", FRONT_END)),
    (r"^unknown role (?='role\.decisoin'; roles are)", To("'metric' names the unknown role ", FAULT)),
    (r"(or a group like \{'race': 'A'\}, got .*)\.$", To(r"\1", FAULT)),
    (r"Use certify\(audit, ('\w+'), …\)", To(r"Use certify with metric=\1", NO_PYTHON)),
    (r"('tolerance' must be a number) from 0 to below 1(?=, got)", To(r"\1 of at least 0 and below 1", DECLARED)),
    (r"(?<=must be )a share (?=between 0 and 1 or 'status quo')", To("a number ", DECLARED)),
    (r"(?<='baseline' must be )(?:'random', 'prior' or a positive number|one of \['random', 'prior'\])",
     To("a number above 0 or one of ['random', 'prior']", DECLARED)),
    (r"(?<='background' must be a whole number )of rows (?=of at least 1)", To("", DECLARED)),
    (r"(?<='budget' must be a whole number of )coalitions(?=, got)", To("at least 1", DECLARED)),
    (r"('(?:target_ratio|deviation)' must be) above zero(?=, got)", To(r"\1 a number above 0", DECLARED)),
    (r"(?<='threshold' must be a )finite (?=number, got ')", To("", DECLARED)),
    (r"fairtrial/result/1", To("fairtrial/result/2", SAME)),
    # questions of flag
    (r"(?<=more than )-0(?=(?:\.0 points)? below)", To("0", "zero has no sign in a sentence")),
    (r"(?<=^Which groups have a )(.+) not (?=[\d.]+ (?:points )?above )", To(r"\1 other than ", NO_DOUBLE)),
    (r"(?<=^The group's )(.+ is) not not (?=[\d.]+ (?:points )?above )", To(r"\1 ", NO_DOUBLE)),
    # tables of summaries
    (r"(?m)^(group +n +rate .*?)disparity(?= +95% interval)", To(r"\1difference", SAME)),
    (r"(?m)(?<=  )listed, not tested$", To("listed: not tested", STATE)),
]  # fmt: skip

# Numbers and texts that a commit changed on purpose, (case pattern, NEW path pattern, reason): not compared. Only for
# commits that say so (path "the call": it is refused now, or no longer); the next `take.py` removes the need for the
# entry. Patterns are fnmatch's: write * for the brackets that names of cases have. Every entry needs a reason.
MOVED_NUMBERS: list[tuple[str, str, str]] = [
    ("texts/explain*", "columns", "value_kind stands beside metric, as in every result"),
    ("command/*--help", "out", "pages of help are derived from the declarations, which other tests compare"),
]
