"""A commented audit.toml from a proposal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairtrial._trial.spec.guess import Guess
from fairtrial._trial.spec.plain_words import done_by_name
from fairtrial._trial.spec.speech import value_text

PRESET_WORDS = {
    "general": "what any file can tell: rates by group, errors where the outcome is known, which groups differ",
    "employment": "selection rates, impact ratios (four fifths), intersections, as New York's Local Law 144 asks",
    "lending": "approval rates, adverse impact ratios, standardized mean differences",
    "insurance": "rates of the favourable decision, ratios, odds ratios, prices, and the bias record",
    "risk-score": "false positive and negative rates, predictive value, calibration",
    "healthcare": "how great the need, which is the outcome, is among those who were selected",
    "public-sector": "selection and error rates, and the bias record that the EU's AI Act asks for",
}
_ROLES = {
    "decision": "what the system decided, 1 or 0",
    "outcome": "what really happened or was needed",
    "score": "what the decision rests on",
}
_COUNTS = {
    "count": "a guess: how many people each row stands for; without it each row is one person",
    "total": "a guess: how many people each row is about; the decision counts some of them",
}
_METRICS = {
    "general": "selection_rate",
    "employment": "selection_rate",
    "lending": "selection_rate",
    "insurance": "selection_rate",
    "risk-score": "fpr",
    "healthcare": "selection_rate",
    "public-sector": "selection_rate",
}


def compose(guess: Guess, source: str, title: str, reading: Mapping[str, str] | None = None) -> str:
    """The text of the spec; every guess says that it is one."""
    lines = [
        "# An audit in one file. Check what stands here, then hand it to `fairtrial run`.",
        "",
        f"# Asks: {PRESET_WORDS[guess.preset]}.",
        f"# Others: {', '.join(name for name in PRESET_WORDS if name != guess.preset)}; or leave the line out and",
        "# write your own sections. A section of your own takes the place of the preset's sections of the same method;",
        "# one with `within` (people alike) stands beside them.",
        f"preset = {value_text(guess.preset)}",
        "",
        "[report]",
        f"title = {value_text(title)}",
        '# author = "Who answers for this audit"',
        '# context = "What the system does, for whom, and since when."',
        '# decision = "What will be decided on the strength of this report."',
        "suppress_below = 10          # numbers about fewer people are masked in everything that is published",
        "",
        "[data]",
        f"source = {value_text(source)}",
        *([f"reading = {value_text(dict(reading))}"] if reading else []),
        *_roles(guess),
        "",
        *_words(guess),
        "",
        *_definitions(guess),
        "[run]",
        "seed = 0",
        "jobs = 1",
        "alpha = 0.05                 # chance of even one false finding in the whole trial",
        "",
        *_explained(guess),
        *_further(guess),
    ]
    return "\n".join(lines) + "\n"


def _roles(guess: Guess) -> list[str]:
    """Which column plays which part."""
    lines = []
    for role, words in _ROLES.items():
        name = getattr(guess, role)
        if name is not None:
            lines.append(_line(role, name, guess.remarks.get(role, words)))
        elif role != "score" or guess.preset != "employment":
            lines.append(f'# {role} = "…"'.ljust(28) + f" # {words}")
    for role, words in _COUNTS.items():
        if getattr(guess, role) is not None:
            lines.append(_line(role, getattr(guess, role), words))
    if guess.unit is not None:
        lines.append(_line("unit", guess.unit, "rows with the same value are about one person"))
    if guess.merge:
        lines.append(_line("merge", guess.merge, "spellings that count as one group"))
    if guess.threshold is not None:
        lines.append(_line("threshold", guess.threshold, guess.remarks["threshold"]))
    if guess.positive:
        lines.append(_line("positive", guess.positive, guess.remarks["positive"]))
    if guess.favourable is not None:
        remark = guess.remarks.get("favourable", "the decision that is good for a person: 1, 0 or its label")
        lines.append(_line("favourable", guess.favourable, remark))
    else:
        remark = "which decision is good for a person? Findings then say who is harmed"
        lines.append("# favourable = 1".ljust(28) + f" # {remark}")
    lines += _score_favours(guess)
    rule = "error (refuse), drop (leave a row out of what needs the value) or category (for groups)"
    return [
        *lines,
        *(f"# CHECK: {text}" for text in guess.warnings),
        _line("groups", guess.groups, "the attributes to compare; sections may use their intersections"),
        *(
            [_line("bins", guess.bins, "equal parts; or edges of your own, such as [25, 45, 65]")]
            if guess.bins
            else []
        ),
        "# " + _line("features", guess.features or ["…"], "needed by explain, improve and scan"),
        _line("missing", guess.missing, rule),
    ]


def _score_favours(guess: Guess) -> list[str]:
    """Which scores are good for a person, where no threshold ties them to the decision."""
    if guess.score is None or guess.decision is None:
        return []
    if guess.score_favours is not None:
        return [_line("score_favours", guess.score_favours, guess.remarks["score_favours"])]
    remark = "are high scores good for a person, or low ones? Findings then say who is harmed by the score"
    return ['# score_favours = "high"'.ljust(28) + f" # {remark}"]


def _words(guess: Guess) -> list[str]:
    """What people, decisions and codes are called in sentences."""
    asked = {
        "people": ("applicants", "what the people are called"),
        "decision": ("were …", "what the decision means, said of people"),
        "outcome": ("…", "what the outcome means, said of people"),
    }
    asked["decision"] = (_done(guess), asked["decision"][1])
    lines = [
        "[words]                      # how the report says it; without these it takes the file's labels"
    ]
    lines += [_line(key, value, asked.get(key, ("", "check it"))[1]) for key, value in guess.words.items()]
    return lines + [
        f"# {key} = {value_text(text)}".ljust(28) + f" # {remark}"
        for key, (text, remark) in asked.items()
        if key not in guess.words and (key == "people" or getattr(guess, key) is not None)
    ]


def _done(guess: Guess) -> str:
    """What the decision's own name says, as a start."""
    counted = guess.positive.get("decision", "1")
    texts = (str(guess.decision), *([counted] if isinstance(counted, str) else counted))
    return done_by_name(texts, 1) or "were …"


def _definitions(guess: Guess) -> list[str]:
    """Groups that the file writes as columns of 0 and 1."""
    lines: list[str] = []
    for name, conditions in guess.define.items():
        lines += [f"[groups.{value_text(name)}]"]
        lines += [f"{value_text(column)} = {value_text(label)}" for column, label in conditions.items()]
        lines += [""]
    return lines


def _line(key: str, value: Any, remark: str) -> str:
    return f"{key} = {value_text(value)}".ljust(28) + f" # {remark}"


def _explained(guess: Guess) -> list[str]:
    """The gap among people alike in what may explain it, beside the gap as it is."""
    if not guess.within or (guess.decision is None and guess.threshold is None):
        return []
    metric = "mean_decision" if guess.amount else _METRICS[guess.preset]
    return [
        "# The gap among people who are alike in what may explain it; the report shows it beside the gap as it is.",
        "# CHECK: name what may rightly explain a difference, or delete this section.",
        "[measure]",
        _line("metric", [metric], "the same rate, of people alike"),
        _line("within", guess.within, "what people must be alike in"),
        "",
    ]


def _further(guess: Guess) -> list[str]:
    """Questions one may add, ready to be uncommented."""
    if guess.decision is None and guess.score is None:
        return ["# With a decision named above, more can be asked: certify, flag, scan, explain, improve."]
    metric = "mean_decision" if guess.amount else _METRICS[guess.preset]
    by = value_text(guess.groups[0]) if guess.groups else '"…"'
    return [
        "# More questions; take the # away. Arguments are those of the Python functions of the same name.",
        "#",
        "# [certify]                  # is it fair within a tolerance that you choose?",
        f"# metric = {value_text(metric)}",
        f"# by = {by}",
        '# tolerance = "… in 100"     # yours to choose: so many more or fewer of 100 people are tolerated',
        "#",
        "# [flag]                     # which known groups, and which of their intersections, are harmed?",
        f"# metric = {value_text(metric)}",
        '# direction = "harmed"       # needs favourable under [data]',
        "# depth = 2",
        "#",
        "# [improve]                  # was there a fairer way, just as good? Needs features and an outcome.",
        f"# by = {by}",
    ]
