"""Presets: the questions a field usually asks, so that a short spec is a whole audit.

A section written in the file takes the place of the preset's sections of the same method (of the same table, where it
is one of the field's tables); the others stay. One that adjusts with `within` asks something else and stands beside.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._audit.groups import MINIMUM_SIZE, intersections
from fairtrial._errors import Fault, InputError, Set, Words
from fairtrial._labels import MISSING, canonical
from fairtrial._method.declaration import trial_methods
from fairtrial._method.selective_labels import BOUNDED, selective_labels, spans_decisions
from fairtrial._metrics.table import find_metrics
from fairtrial._trial.preset_tables import (
    Questions,
    answerable_tables,
    bias_record,
    credit_tables,
    employment_tables,
    usual_entries,
)
from fairtrial._trial.spec.load import Spec
from fairtrial._trial.spec.sections import Section
from fairtrial._trial.spec.tables import Lending

NOBODY: dict[str, Any] = {}  # what is asked besides where nobody can be compared
SMALLEST_COMPARED = 10  # people; score intervals hold for groups this small
NEED = {
    "name": "need_among_selected",
    "value": "role.outcome",
    "given": {"role.decision": 1},
    "label": "need among the selected",
    "hurts": "above",
    "harm": "a higher need among the selected means the group had to be sicker to be selected",
}


def complete(spec: Spec, audit: Audit) -> tuple[tuple[Section, ...], list[str]]:
    """The spec's own sections and its preset's, in the order of a trial, and what the reader must know of them."""
    if spec.preset is None:
        return spec.sections, []
    builder = {
        "general": _general,
        "employment": _employment,
        "lending": _lending,
        "insurance": _insurance,
        "risk-score": _risk_score,
        "healthcare": _healthcare,
        "public-sector": _public_sector,
    }
    if audit.probable:
        required = "known with a probability are not for a preset yet"
        cure = "ask in sections of your own: measure, certify and flag take them"
        raise InputError(spec.name, Fault("groups", required, cure=cure))
    questions, notes = builder[spec.preset](spec, audit)
    questions, refused = answerable(questions, audit)
    questions, uncounted = answerable_tables(questions, audit)
    notes += refused + uncounted
    return tuple(_in_order(spec, questions)), notes


def _in_order(spec: Spec, questions: Questions) -> Iterator[Section]:
    """The file's own sections and those of the preset that none of them replaces."""
    kept = _not_replaced(spec, questions)
    for name in trial_methods():
        mine = [section for section in spec.sections if section.method == name]
        alike = [section for section in mine if section.arguments.get("within")]
        yield from (section for section in mine if section not in alike)
        added = [arguments for method, arguments in kept if method == name]
        for number, arguments in enumerate(added, len(mine) + 1):
            identity = name if len(mine) + len(added) == 1 else f"{name}-{number}"
            title = arguments.pop("title", "")
            yield Section(identity, name, arguments, title, ("preset",))
        yield from alike  # the gap as it is comes first


def _not_replaced(spec: Spec, questions: Questions) -> Questions:
    told = [section for section in spec.sections if not section.arguments.get("within")]
    own = {(section.method, section.arguments.get("table")) for section in told}
    return [(name, arguments) for name, arguments in questions if (name, arguments.get("table")) not in own]


def answerable(questions: Questions, audit: Audit) -> tuple[Questions, list[str]]:
    """The questions that selective labels can answer: what needs every outcome is asked of the selection rate, unless
    unknown outcomes are reckoned with."""
    if audit.unlabelled is not None:
        others = [name for name, _ in questions if name not in BOUNDED]
        text = f"Not asked, because unknown outcomes are reckoned with: {', '.join(dict.fromkeys(others))}."
        return [question for question in questions if question[0] in BOUNDED], [text] if others else []
    found = selective_labels(audit)
    if found is None:
        return questions, []
    kept: Questions = []
    refused: list[str] = []
    for method, arguments in questions:
        asked, left = ([], arguments) if method == "tabulate" else _metrics_left(method, arguments)
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
    if "metric" not in arguments or method == "transport":  # of complete rows
        return [method], None
    asked = find_metrics("preset", arguments["metric"])
    refused = [metric.name for metric in asked if spans_decisions(metric)]
    if not refused:
        return [], arguments
    left = [metric.name for metric in asked if not spans_decisions(metric)] or ["selection_rate"]
    changed = {**arguments, "metric": left if method == "measure" else left[0]}
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
        elif role == "decision" and audit.decision_is_real:
            required = f"{spec.preset!r} asks about a yes or no, but {audit.decision!r} is a number"
            faults.add(("preset",), Fault("", required, cure="use the preset 'general'"))
    faults.raise_any()


def _depth(audit: Audit) -> int:
    return min(2, len(audit.groups))


def _general(spec: Spec, audit: Audit) -> tuple[Questions, list[str]]:
    """What any file can tell: rates by group, errors where the outcome is known, and which groups differ."""
    if not audit.has("decision"):
        return _undecided(spec, audit)
    if audit.decision_is_real:
        return _amounts(audit), []
    complete_outcome = audit.has("outcome") and not audit.outcome_is_real and selective_labels(audit) is None
    metrics = ["selection_rate", *(["fpr", "fnr"] if complete_outcome else [])]
    metrics += ["mean_score"] if audit.has("score") else []
    # groups that were defined may overlap, so that crossing them says nothing new
    depth = 1 if audit.define else _depth(audit)
    few = _few(audit)
    questions: Questions = [
        ("measure", {"metric": metrics, "title": "What are the rates?", **few}),
        ("flag", {"metric": "selection_rate", "depth": depth, **few}),
    ]
    return questions if few is not NOBODY else questions[:1], []


def _few(audit: Audit) -> dict[str, Any]:
    """A smaller minimum where no attribute has two groups of the usual one; exact limits hold for groups so small."""
    if audit.define:
        return {}
    second = max(sorted(audit.cells((name,)).rows)[-2:][0] for name in audit.groups)
    if second >= MINIMUM_SIZE:
        return {}
    return {"minimum": SMALLEST_COMPARED} if second >= SMALLEST_COMPARED else NOBODY


def _amounts(audit: Audit) -> Questions:
    """Of a decision that is a number, such as pay: means, medians and tails."""
    return [
        ("measure", {"metric": ["mean_decision"], "title": f"What is the mean {audit.decision}?"}),
        ("tabulate", {"table": "pay", "title": "How do means, medians and the top tenth compare?"}),
        ("flag", {"metric": "mean_decision", "depth": 1 if audit.define else _depth(audit)}),
    ]


def _undecided(spec: Spec, audit: Audit) -> tuple[Questions, list[str]]:
    """Without a decision there are only people to describe."""
    metrics = [name for role, name in (("outcome", "base_rate"), ("score", "mean_score")) if audit.has(role)]
    if not metrics:
        _need(spec, audit, "decision")
    notes = [
        "No decision is named, so that nothing is said of how people were treated: what is shown tells how the groups "
        "themselves differ."
    ]
    return [("measure", {"metric": metrics, "title": "How do the groups differ?"})], notes


def _employment(spec: Spec, audit: Audit) -> tuple[Questions, list[str]]:
    """Impact ratios by attribute and intersection, as New York City's Local Law 144 asks (6 RCNY § 5-300 ff.)."""
    _need(spec, audit, "decision")
    total = int(audit.cells(()).rows.sum())
    share = spec.employment.smallest_category
    smallest = max(SMALLEST_COMPARED, math.ceil(share * total))
    by = known_groups(audit, _depth(audit))
    rates = {"metric": ["selection_rate"], "by": by, "minimum": smallest}
    questions: Questions = [
        ("measure", {**rates, "title": _rates_title(audit, "What are the selection rates?")}),
        ("flag", {"metric": "selection_rate", "by": by, "minimum": smallest}),
    ]
    notes = [
        "Employment preset: an impact ratio is a category's rate of the favourable decision over that of the category "
        "with the highest one; it is marked where it is shown to be under 0.8, over all pairs. Four fifths is a rule "
        "of thumb of US practice that Local Law 144 does not contain."
    ]
    return [*questions, *employment_tables(spec.employment, by)], notes


def _rates_title(audit: Audit, usual: str, by: str = "") -> str:
    """The field's title of its rates, or that of a decision that the file calls otherwise."""
    return f"What is the {audit.roles.rate}{by}?" if audit.roles.rate else usual


def known_groups(audit: Audit, depth: int) -> list[Any]:
    """Groups of up to `depth` attributes without unknowns; plain attribute names when nothing is unknown."""
    groups = intersections(audit, audit.groups, depth)
    return [group.to_dict() for group in groups if all(MISSING not in values for _, values in group.where)]


def _lending(spec: Spec, audit: Audit) -> tuple[Questions, list[str]]:
    """Approval rates and mean scores by attribute, compared with the reference groups that the file names."""
    return _credit(spec, audit, "lending", spec.lending)


def _insurance(spec: Spec, audit: Audit) -> tuple[Questions, list[str]]:
    """What lending asks, and the bias record."""
    questions, notes = _credit(spec, audit, "insurance", spec.insurance)
    groups = known_groups(audit, 1)
    entries = usual_entries(groups, ["selection_rate"])
    notes.append(
        "Insurance: New York's Insurance Circular Letter No. 7 (11 July 2024) and Colorado's Regulation 10-1-1 under "
        "SB 21-169 (for life insurance from 14 November 2023, for private cars and health plans from 15 October 2025) "
        "ask insurers to test for unfair discrimination; neither sets a threshold."
    )
    return [*questions, *bias_record(spec.bias, entries)], notes


def _credit(spec: Spec, audit: Audit, name: str, settings: Lending) -> tuple[Questions, list[str]]:
    """Rates, ratios, odds, scores and prices by attribute, each against its reference."""
    _need(spec, audit, "decision")
    references = _references(spec, audit, name, settings)
    metrics = ["selection_rate", *(["mean_score"] if audit.has("score") else [])]
    questions: Questions = []
    for attribute in audit.groups:
        asked: dict[str, Any] = {"metric": metrics, "by": [attribute]}
        if attribute in references:
            asked["target"] = {attribute: references[attribute]}
        title = _rates_title(audit, f"What are the approval rates by {attribute}?", f" by {attribute}")
        questions.append(("measure", {**asked, "title": title}))
    questions.append(("flag", {"metric": "selection_rate", "depth": _depth(audit)}))
    return [*questions, *credit_tables(settings, audit, references)], _credit_notes(audit, name, references)


def _credit_notes(audit: Audit, name: str, references: Mapping[str, Any]) -> list[str]:
    notes = [
        f"{name.capitalize()} preset: the impact ratio is a group's rate of the favourable decision over that of the "
        "group of the same attribute with the highest one."
    ]
    without = [attribute for attribute in audit.groups if attribute not in references]
    if without:
        notes.append(
            f"No reference group is named for {', '.join(without)}: each group is compared with everyone else. Name "
            f"the reference with references under [{name}]."
        )
    if audit.has("score"):
        notes.append(
            "The standardized difference of mean scores is in units of the root mean of the two groups' variances."
        )
    return notes


def _references(spec: Spec, audit: Audit, preset: str, settings: Lending) -> dict[str, Any]:
    """The reference group of each attribute, as the file names it; both must be in the data."""
    faults = spec.faults()
    named = dict(settings.references or {})
    for name, label in named.items():
        place = (preset, "references")
        if name not in audit.groups:
            faults.add(
                place,
                Fault(
                    "",
                    f"names {name!r}, which is not one of the groups {list(audit.groups)}",
                    cure="name one of these",
                ),
            )
        elif canonical(label) not in audit.levels(name):
            listed = ", ".join(map(repr, audit.levels(name)[:20]))
            faults.add(
                place,
                Fault(
                    "",
                    f"names {name} = {label!r}, which is not in the data; levels: {listed}",
                    cure="Name one of these",
                ),
            )
    faults.raise_any()
    return named


def _risk_score(spec: Spec, audit: Audit) -> tuple[Questions, list[str]]:
    """Error rates, predictive value and calibration of a score with a cut-off."""
    _need(spec, audit, "decision", "outcome")
    questions: Questions = [
        ("measure", {"metric": ["fpr", "fnr", "ppv"], "title": "What are the error rates?"}),
        ("flag", {"metric": "fpr", "depth": _depth(audit)}),
        ("transport", {"metric": "equalized_odds", "by": audit.groups[0]}),
    ]
    if audit.has("score"):
        calibration = {
            "metric": ["calibration"],
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
            {"metric": [NEED, "selection_rate"], "title": "How ill are the people who are selected?"},
        ),
        ("flag", {"metric": NEED, "depth": _depth(audit)}),
    ]
    hazard = "has to be sicker than others to be selected"
    questions += bias_record(spec.bias, usual_entries(known_groups(audit, 1), [NEED], hazard))
    notes = [
        "Healthcare preset: the outcome is taken as need. If the selected of one group are sicker than "
        "those of another, the first had to be sicker to be selected (Obermeyer, Powers, Vogeli and "
        "Mullainathan, 2019). In the United States 45 CFR § 92.210 (89 FR 37522, 6 May 2024) asks covered entities to "
        "look for and reduce the risk of discrimination by patient care decision support tools; it sets no threshold."
    ]
    return questions, notes


def _public_sector(spec: Spec, audit: Audit) -> tuple[Questions, list[str]]:
    """Selection and error rates, and the bias record of Article 10 of the EU's AI Act."""
    _need(spec, audit, "decision")
    complete_outcome = audit.has("outcome") and not audit.outcome_is_real and selective_labels(audit) is None
    measures = ["selection_rate", *(["fpr", "fnr"] if complete_outcome else [])]
    questions: Questions = [
        ("measure", {"metric": measures, "title": "What are the rates?"}),
        ("flag", {"metric": "selection_rate", "depth": _depth(audit)}),
        *bias_record(spec.bias, usual_entries(known_groups(audit, 1), measures)),
    ]
    notes = [
        "Public-sector preset: the bias record names group, hazard, measure, threshold, mitigation and review, as a "
        "way to write down what Article 10(2)(f) and (g) of Regulation (EU) 2024/1689 (13 June 2024) asks. Write it "
        "under [[bias.records]]; what nobody stated is said to be not stated."
    ]
    return questions, notes
