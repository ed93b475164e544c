"""Messages speak of Python arguments; whoever types a command is told the options instead."""

from __future__ import annotations

import re
import shlex

# commands whose options are the arguments of a function, one by one
QUESTIONS = ("measure", "certify", "flag", "plan", "scan", "transport", "explain", "improve")
_OPTIONS = {"groups": "by", "features": "feature", "candidates": "candidate", "metrics": "metric"}
_ARGUMENTS = (
    "averaged|background|bandwidth|banned|baseline|bins|bootstrap|budget|by|candidates|capacity|coalitions|condition|"
    "confidence_level|correction|decision|depth|direction|discrete|distance|expectation|features|fitted_elsewhere|"
    "groups|immutable|interval|jobs|likelihood|metrics?|minimum|missing|model|monotone|null|outcome|permutations|"
    "pooled|positive|probability|protected|reference|rule|scale|score|scores|search|seed|sensitive|sigma|splits|strata|"
    "target|target_method|threshold|tolerance|unit|units|unsupported|weight"
)
_PAIR = re.compile(rf"\b({_ARGUMENTS})=\{{'([^']*)': ([^{{}}\[\]]*?)\}}")
_VALUE = re.compile(rf"\b({_ARGUMENTS})=('[^']*'|-?[0-9.]*[0-9]\b)")
_NAME = re.compile(rf"\b({_ARGUMENTS})=(?=[\s.,;:)]|$)")
_QUOTED = re.compile(rf"'({'|'.join(_OPTIONS)})'(?= (?:names|must|is|of) )")
_GROUP = re.compile(r"\{'([^']*)': '([^']*)'\}")


def in_options(text: str) -> str:
    """The message as it is typed on the command line.

    >>> in_options("'tpr' needs the decision: name its column with decision= in the Audit")
    "'tpr' needs the decision: name its column with --decision"
    >>> in_options("say which counts as 1, e.g. positive={'outcome': 'yes, late'}; or missing='drop'")
    "say which counts as 1, e.g. --positive 'outcome=yes, late'; or --missing drop"
    >>> in_options("cut it with bins={'income': 4} (quarters)"), in_options("a group like {'race': 'A'}, got 'A'")
    ('cut it with --bins income=4 (quarters)', "a group like race=A, got 'A'")
    """
    text = text.replace("by=[{…}, {…}]", "--group once for each")
    text = _PAIR.sub(lambda m: f"{_option(m[1])} {shlex.quote(f'{m[2]}={_bare(m[3])}')}", text)
    text = _VALUE.sub(lambda m: f"{_option(m[1])} {shlex.quote(_bare(m[2]))}", text)
    text = _NAME.sub(lambda m: _option(m[1]), text)
    text = _QUOTED.sub(lambda m: _option(m[1]), text)
    text = _GROUP.sub(lambda m: shlex.quote(f"{m[1]}={m[2]}"), text)
    return re.sub(r"(--[a-z-]+) (?:in|of) the Audit", r"\1", text)


def _option(argument: str) -> str:
    return f"--{_OPTIONS.get(argument, argument).replace('_', '-')}"


def _bare(value: str) -> str:
    return value.strip().strip("'")
