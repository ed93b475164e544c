"""Presets: the questions a field usually asks, so that a short spec is a whole audit.

A section written in the file takes the place of the preset's sections of the same method; the others stay.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fairtrial.data.audit import Audit
from fairtrial.data.groups import intersections
from fairtrial.errors import Fault, Set, Words
from fairtrial.labels import MISSING, canonical
from fairtrial.methods.declaration import trial_methods
from fairtrial.methods.gaps.known_outcomes import selective_labels, spans_decisions
from fairtrial.metrics.table import find_metrics
from fairtrial.trial.spec import Section, Spec

SMALLEST_COMPARED = 10  # people; score intervals hold for groups this small
NEED = {
    "name": "need_among_selected",
    "value": "role.outcome",
    "given": {"role.decision": 1},
    "label": "need among the selected",
    "hurts": "above",
    "harm": "a higher need among the selected means the group had to be sicker to be selected",
}

Questions = list[tuple[str, dict[str, Any]]]


def complete(spec: Spec, audit: Audit) -> tuple[tuple[Section, ...], list[str]]:
    """The spec's own sections and its preset's, in the order of a trial, and what the reader must know of them."""
    if spec.preset is None:
        return spec.sections, []
    builder = {
        "employment": _employment,
        "lending": _lending,
        "risk-score": _risk_score,
        "healthcare": _healthcare,
    }
    questions, notes = builder[spec.preset](spec, audit)
    questions, refused = answerable(questions, audit)
    notes += refused
    own = {section.method for section in spec.sections}
    kept = [(method, arguments) for method, arguments in questions if method not in own]
    sections: list[Section] = []
    for name in trial_methods():
        sections += [section for section in spec.sections if section.method == name]
        added = [arguments for method, arguments in kept if method == name]
        for index, arguments in enumerate(added):
            identity = name if len(added) == 1 else f"{name}-{index + 1}"
            title = arguments.pop("title", "")
            sections.append(Section(identity, name, arguments, title, ("preset",)))
    return tuple(sections), notes


def answerable(questions: Questions, audit: Audit) -> tuple[Questions, list[str]]:
    """The questions that selective labels can answer: what needs every outcome is asked of the selection rate."""
    found = selective_labels(audit)
    if found is None:
        return questions, []
    kept: Questions = []
    refused: list[str] = []
    for method, arguments in questions:
        asked, left = _metrics_left(method, arguments)
        refused += asked
        if left is not None and (method, left) not in kept:
            kept.append((method, left))
    text = (
        f"Not asked, because {found.words}: {', '.join(dict.fromkeys(refused))}. Among the labelled alone these would "
        "be numbers about other people; selection rates are asked instead."
    )
    return kept, [text] if refused else []


def _metrics_left(method: str, arguments: dict[str, Any]) -> tuple[list[str], dict[str, Any] | None]:
    """What of a question needs every outcome, and the question without it; None where nothing is left."""
    key = "metrics" if "metrics" in arguments else "metric"
    if key not in arguments:  # a criterion, of complete rows
        return [method], None
    asked = find_metrics("preset", arguments[key])
    refused = [metric.name for metric in asked if spans_decisions(metric)]
    if not refused:
        return [], arguments
    left = [metric.name for metric in asked if not spans_decisions(metric)] or ["selection_rate"]
    changed = {**arguments, key: left if key == "metrics" else left[0]}
    changed.pop("direction", None)  # it was the other metric's
    return refused, changed


def _need(spec: Spec, audit: Audit, *roles: str) -> None:
    """The roles without which the preset has nothing to ask."""
    faults = spec.faults()
    for role in roles:
        if not audit.has(role):
            column, cut = Set(role, of="Audit"), Set("threshold", of="Audit")
            cure = Words("name its column with {}", column)
            if role == "decision":
                cure = Words("name its column with {} (or a score with {})", column, cut)
            faults.add(("preset",), Fault("", f"{spec.preset!r} needs the {role}", cure=cure))
    faults.raise_any()


def _depth(audit: Audit) -> int:
    return min(2, len(audit.groups))


def _employment(spec: Spec, audit: Audit) -> tuple[Questions, list[str]]:
    """Impact ratios by attribute and intersection, as New York City's Local Law 144 asks (6 RCNY § 5-300 ff.)."""
    _need(spec, audit, "decision")
    total = int(audit.cells(()).rows.sum())
    share = spec.employment.smallest_category
    smallest = max(SMALLEST_COMPARED, math.ceil(share * total))
    by = known_groups(audit, _depth(audit))
    rates = {"metrics": ["selection_rate"], "by": by, "minimum": smallest}
    questions: Questions = [
        ("measure", {**rates, "title": "What are the selection rates?"}),
        ("flag", {"metric": "selection_rate", "by": by, "minimum": smallest}),
        *_four_fifths(audit, {"by": by, "minimum": smallest}),
    ]
    notes = [
        "Employment preset: an impact ratio is a category's rate of the favourable decision over that of the category "
        "with the highest one; it is marked where it is shown to be under 0.8, over all pairs. Four fifths is a rule "
        "of thumb of US practice that Local Law 144 does not contain."
    ]
    if "decision" not in spec.data.roles and spec.data.roles.get("threshold", "median") == "median":
        notes.append(
            f"“Selected” means a score above the sample median ({audit.score} ≥ {audit.threshold:g}), the "
            "scoring rate of Local Law 144."
        )
    notes += _unknowns(spec, audit) + _small_categories(spec, audit, smallest)
    return questions, notes


def _four_fifths(audit: Audit, asked: Mapping[str, Any]) -> Questions:
    """The field's own tolerance, on the rate of the favourable decision."""
    metric: Any = "selection_rate"
    if audit.favourable == 0:
        metric = {
            "name": "favourable_rate",
            "value": "role.not_decision",
            "label": "rate of the favourable decision",
        }
    others = "the reference group" if "target" in asked else "everyone else"
    title = f"Is every group within four fifths of {others}?"
    return [("certify", {"metric": metric, "scale": "ratio", "tolerance": 0.8, "title": title, **asked})]


def known_groups(audit: Audit, depth: int) -> list[Any]:
    """Groups of up to `depth` attributes without unknowns; plain attribute names when nothing is unknown."""
    groups = intersections(audit, audit.groups, depth)
    return [group.to_dict() for group in groups if all(MISSING not in values for _, values in group.where)]


def _unknowns(spec: Spec, audit: Audit) -> list[str]:
    """Attributes that are unknown for some people."""
    notes = []
    for name in audit.groups:
        if MISSING in audit.levels(name):
            cells = audit.cells((name,))
            code = cells.labels[name].index(MISSING)
            unknown = int(cells.rows[cells.codes[:, 0] == code].sum())
            few = _few(spec, unknown)
            notes.append(f"{name} is unknown for {few or f'{unknown:,} people'}: counted here, not compared.")
    return notes


def _few(spec: Spec, count: int) -> str:
    """What is published in place of a count that is masked; empty when it is not."""
    below = spec.report.suppress_below
    return f"fewer than {below} people" if count < below else ""


def _small_categories(spec: Spec, audit: Audit, smallest: int) -> list[str]:
    """Categories that are too small for an impact ratio."""
    share, total = spec.employment.smallest_category, int(audit.cells(()).rows.sum())
    left_out = []
    for name in audit.groups:
        cells = audit.cells((name,))
        for (code,), n in zip(cells.codes, cells.rows, strict=True):
            label = cells.labels[name][int(code)]
            if n < smallest and label != MISSING:
                left_out.append(f"{label} ({_few(spec, int(n)) or f'{n / total:.1%} of the people'})")
    if not left_out:
        return []
    return [
        f"Left out of the impact ratios, because under {share:.0%} of the people or under "
        f"{SMALLEST_COMPARED} of them: {', '.join(left_out)}. Their selection rates are in the table."
    ]


def _lending(spec: Spec, audit: Audit) -> tuple[Questions, list[str]]:
    """Approval rates and mean scores by attribute, compared with the reference groups that the file names."""
    _need(spec, audit, "decision")
    references = _references(spec, audit)
    metrics = ["selection_rate", *(["mean_score"] if audit.has("score") else [])]
    questions: Questions = []
    for name in audit.groups:
        asked: dict[str, Any] = {"metrics": metrics, "by": [name]}
        if name in references:
            asked["target"] = {name: references[name]}
        questions.append(("measure", {**asked, "title": f"What are the approval rates by {name}?"}))
    questions.append(("flag", {"metric": "selection_rate", "depth": _depth(audit)}))
    for name in audit.groups:
        target = {"target": {name: references[name]}} if name in references else {}
        questions += _four_fifths(audit, {"by": [name], **target})
    notes = [
        "Lending preset: the impact ratio is a group's rate of the favourable decision over that of the group of the "
        "same attribute with the highest one."
    ]
    without = [name for name in audit.groups if name not in references]
    if without:
        notes.append(
            f"No reference group is named for {', '.join(without)}: each group is compared with everyone else. Name "
            "the reference with references under [lending]."
        )
    if audit.has("score"):
        notes.append(
            "The standardized difference of mean scores is in units of the root mean of the two groups' variances."
        )
    return questions, notes


def _references(spec: Spec, audit: Audit) -> dict[str, Any]:
    """The reference group of each attribute, as the file names it; both must be in the data."""
    faults = spec.faults()
    named = dict(spec.lending.references or {})
    for name, label in named.items():
        place = ("lending", "references")
        if name not in audit.groups:
            faults.add(
                place, Fault("", f"names {name!r}, which is not one of the groups {list(audit.groups)}")
            )
        elif canonical(label) not in audit.levels(name):
            listed = ", ".join(map(repr, audit.levels(name)[:20]))
            faults.add(
                place, Fault("", f"names {name} = {label!r}, which is not in the data; levels: {listed}")
            )
    faults.raise_any()
    return named


def _risk_score(spec: Spec, audit: Audit) -> tuple[Questions, list[str]]:
    """Error rates, predictive value and calibration of a score with a cut-off."""
    _need(spec, audit, "decision", "outcome")
    questions: Questions = [
        ("measure", {"metrics": ["fpr", "fnr", "ppv"], "title": "What are the error rates?"}),
        ("flag", {"metric": "fpr", "depth": _depth(audit)}),
        ("transport", {"criterion": "equalized_odds", "by": audit.groups[0]}),
    ]
    if audit.has("score"):
        calibration = {
            "metrics": ["calibration"],
            "by": [audit.groups[0]],
            "title": "Does a score mean the same for all?",
        }
        questions.insert(1, ("measure", calibration))
    notes = [
        "Risk-score preset: when base rates differ, error rates and predictive values cannot all be equal "
        "(Kleinberg, Mullainathan and Raghavan, 2017; Chouldechova, 2017). Which of them must be is not a "
        "statistical question."
    ]
    return questions, notes


def _healthcare(spec: Spec, audit: Audit) -> tuple[Questions, list[str]]:
    """Need among the selected: at equal treatment, selected people of every group are equally ill."""
    _need(spec, audit, "decision", "outcome")
    questions: Questions = [
        (
            "measure",
            {"metrics": [NEED, "selection_rate"], "title": "How ill are the people who are selected?"},
        ),
        ("flag", {"metric": NEED, "depth": _depth(audit)}),
    ]
    notes = [
        "Healthcare preset: the outcome is taken as need. If the selected of one group are sicker than "
        "those of another, the first had to be sicker to be selected (Obermeyer, Powers, Vogeli and "
        "Mullainathan, 2019)."
    ]
    return questions, notes
