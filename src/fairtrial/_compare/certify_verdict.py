"""What certify says of all groups together: certified, violated or undetermined, and why."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairtrial._compare.comparing import across_cuts
from fairtrial._compare.disparities import Disparities
from fairtrial._compare.judgement import Judgement, both_scales_words, open_gaps
from fairtrial._compare.needed import hint_words
from fairtrial._compare.rows import gap_sentence, row_told
from fairtrial._compare.unknown_outcomes import needed_words
from fairtrial._compare.words import DESCRIBED, TOO_FEW, band_words, groups_words, number_words, unit_of
from fairtrial._inference.laws.end_gaps import EndGaps
from fairtrial._inference.laws.gaps import JointTest, no_gap
from fairtrial._metrics.groups import describes_people
from fairtrial._results.column import Verdict, scalar
from fairtrial._results.text import counted

Place = tuple[Judgement, int]  # a group at a cut
Told = tuple[dict[str, str], ...]


def find_verdict(criterion: str, judged: Sequence[Judgement], joint: JointTest) -> Verdict:
    """Certified when every group is (intersection-union); violated when one is at once with all; else undetermined."""
    found, told = _strongest_of(criterion, judged)
    part = least_compared([one.of for one in judged])
    if part.band is None:
        return _without_tolerance(criterion, judged, joint, (found, told))
    band = _bands(judged) if criterion else band_words(part.band, part.binary, part.scale)
    name = f"{criterion.replace('_', ' ')}: " if criterion else ""
    if told:
        return _violated(part, f"{name}{found}; tolerance {band}", told, plain=bool(criterion or part.cut))
    if all((one.verdict == "certified").all() for one in judged):
        return Verdict("certified", f"certified: {name}{statement_of(criterion, judged)}", _told_by(judged))
    if len(judged) == 1 and open_gaps(part).any():
        return _depends(judged[0], band)
    hint = ""
    if len(judged) == 1:
        hint = hint_words(part, judged[0].needed) + _labels_hint(judged[0])
    certified = sum(int((one.verdict == "certified").sum()) for one in judged)
    total = sum(one.verdict.size for one in judged)
    label = across_cuts([part]).metric.label
    what, of = label, counted(total, "group")
    if criterion:
        what, of = f"{criterion.replace('_', ' ')} ({_labels(judged)})", counted(total, "rate")
    elif part.cut:
        of = f"{counted(total, 'comparison')} (groups at cuts)"
    return Verdict(
        "undetermined",
        f"undetermined: {what} is certified within {band} of {part.target_label} for {certified:,} of {of} and "
        f"violated for none{hint}",
    )


def _told_by(judged: Sequence[Judgement]) -> Told:
    """The rows whose numbers a certificate tells: the smallest and the largest ratio, all where it warns."""
    if any(wide_tolerance(one.of) for one in judged):
        return ({},)
    known = [
        (value, row_told(one.of, index))
        for one in judged
        for index, row in enumerate(one.ratios)
        if (value := scalar(row.get("ratio"))) is not None
    ]
    ends = (min, max) if known else ()
    return tuple(end(known, key=lambda told: told[0])[1] for end in ends)


def least_compared(parts: Sequence[Disparities]) -> Disparities:
    """The part of which the smallest share of a group is compared: what is said of it holds for the others."""
    return min(parts, key=lambda one: 1.0 if one.within is None else float(one.within.gaps.compared.min()))


def _labels(judged: Sequence[Judgement]) -> str:
    return " and ".join(one.of.metric.label for one in judged)


def _bands(judged: Sequence[Judgement]) -> str:
    """The tolerance in words; that of each rate where they differ."""
    words: dict[str, str] = {}
    for one in judged:
        assert one.of.band is not None
        words.setdefault(band_words(one.of.band, one.of.binary, one.of.scale), one.of.metric.label)
    if len(words) == 1:
        return next(iter(words))
    return " and ".join(f"{told} ({label})" for told, label in words.items())


def _strongest_of(criterion: str, judged: Sequence[Judgement]) -> tuple[str, Told]:
    """The strongest gap in words, or that of each rate, and which rows they are; nothing where none is violated."""
    every = [(one, int(i)) for one in judged for i in np.flatnonzero(one.family == "violated")]
    families = [[place for place in every if place[0] is one] for one in judged] if criterion else [every]
    words, told = [], []
    for family in filter(None, families):
        one, index = _strongest(family)
        several = "groups and cuts" if one.of.cut else "groups"
        others = f" (strongest of {len(family)} {several})" if len(family) > 1 else ""
        words.append(_sentence(one, index) + others)
        told.append(row_told(one.of, index))
    return "; ".join(words), tuple(told)


def _strongest(violated: Sequence[Place]) -> Place:
    """The smallest p-value, a harmed group's where there is one."""
    chosen = [place for place in violated if place[0].of.effect(place[1]) != "favoured"] or violated
    return min(chosen, key=lambda place: float(place[0].p[place[1]]))


def _sentence(one: Judgement, index: int) -> str:
    return gap_sentence(one.of, index, one.pointwise, one.of.request.level)


def _violated(part: Disparities, text: str, told: Told, *, plain: bool = False) -> Verdict:
    """Of what people are and not of what was decided, a gap is described and not called violated."""
    if describes_people(part.metric) and not plain:
        return Verdict(DESCRIBED.code, f"differs: {text}; it describes the people, not the decisions", told)
    return Verdict("violated", f"violated: {text}", told)


def _without_tolerance(
    criterion: str, judged: Sequence[Judgement], joint: JointTest, strongest: tuple[str, Told]
) -> Verdict:
    """The joint test alone decides: adding the groups' own tests to it would err 8% of the time with ten groups."""
    part = least_compared([one.of for one in judged])
    alike, label = part.alike_words, across_cuts([part]).metric.label
    found, told = strongest
    rejected = joint.p_value <= 1.0 - part.request.level
    nothing = "without a tolerance nothing can be certified"
    if criterion:
        p = f"joint p {joint.p_value:.3f}" if joint.p_value >= 0.001 else "joint p < 0.001"
        equal = f"{criterion.replace('_', ' ')} (equal {_labels(judged)}{alike})"
        if rejected:
            return Verdict(
                "violated",
                f"violated: {equal} is rejected, {p}: {found or 'no single group stands out'}",
                told,
            )
        return Verdict("none-shown", f"no violation shown: {equal} is not rejected, {p}; {nothing}")
    if part.cut:
        if rejected:
            text = (
                found
                or f"{label}: the groups differ jointly at some cut (p {joint.p_value:.3f}), none stands out"
            )
            return Verdict("violated", f"violated: {text}", told)
        text = (
            f"no disparity in {label} was found{alike} (joint p {joint.p_value:.3f} over all cuts); {nothing}"
        )
        return Verdict("none-shown", f"no violation shown: {text}", told)
    if rejected and found:
        return _violated(part, found, told)
    if rejected:
        text = f"the groups differ jointly (p {joint.p_value:.3f}), though no single group stands out{alike}"
        return _violated(part, f"{label}: {text}", ())
    alone = "; a single group stands out by itself, see the table" if found else ""
    if part.bounds is not None and (judged[0].verdict == "undetermined").any():
        alone += f"; whether there is one {part.bounds.depends}"
    return Verdict(
        "none-shown",
        f"no violation shown: no disparity in {label} was found{alike} (joint p {joint.p_value:.3f}{alone}); {nothing}",
    )


def _depends(judged: Judgement, band: str) -> Verdict:
    """What is undetermined because of unknown outcomes: how far they may move the gap, and what would settle it."""
    part, gaps = judged.of, judged.of.gaps
    assert part.bounds is not None
    assert isinstance(gaps, EndGaps)
    waiting = np.flatnonzero(open_gaps(part))
    width = gaps.most.estimate - gaps.least.estimate
    widest = int(waiting[np.argmax(width[waiting])])
    others = f" (widest of {waiting.size} groups)" if waiting.size > 1 else ""
    text = (
        f"undetermined: {part.bounds.depends}: {_sentence(judged, widest)}{others}; tolerance {band}"
        f"{_labels_hint(judged)}"
    )
    return Verdict("undetermined", text, (row_told(part, widest),))


def _labels_hint(judged: Judgement) -> str:
    """The group that needs most labels to be settled, and how many."""
    known = [(found.labels, index) for index, found in enumerate(judged.labels) if found is not None]
    if not known:
        return ""
    _, index = max(known)
    found, part = judged.labels[index], judged.of
    assert found is not None
    unit = unit_of(part.binary, part.scale)
    size = number_words(abs(found.gap), unit)
    gap = f"a gap of {size} points" if unit == "points" else f"a ratio of {size}"
    gap = "no gap" if found.gap == no_gap(part.scale) else gap
    several = f" ({part.groups[index].label})" if len(part.groups) > 1 else ""
    return f"; {needed_words(found, gap, part.request.power)}{several}"


def statement_of(criterion: str, judged: Sequence[Judgement]) -> str:
    """What a certificate says: metric, groups, scale, tolerance and level, and what speaks against the tolerance."""
    if judged[0].of.cut:
        return _statement_of_cuts(judged)
    return "; ".join(map(_statement, judged))


def _statement(judged: Judgement) -> str:
    part = judged.of
    assert part.band is not None
    labels = groups_words([group.label for group in part.groups])
    untested = sum(item.state.code == TOO_FEW.code for item in part.untested)
    left_out = "; 1 smaller group was not tested" if untested == 1 else ""
    if untested > 1:
        left_out = f"; {untested} smaller groups were not tested"
    band = band_words(part.band, part.binary, part.scale)
    return (
        f"{part.metric.label} of {labels} is within {band} of {part.target_label} at level "
        f"{100 * part.request.level:g}%{both_scales_words(part, judged.ratios)}{left_out}{wide_tolerance(part)}"
    )


def _statement_of_cuts(judged: Sequence[Judgement]) -> str:
    parts = [one.of for one in judged]
    first = across_cuts(parts)
    assert first.band is not None
    ratios = [row for one in judged for row in one.ratios]
    band = band_words(first.band, first.binary, first.scale)
    groups = ", ".join(dict.fromkeys(group.label for part in parts for group in part.groups))
    wide = next((text for part in parts if (text := wide_tolerance(part))), "")
    untested = sum(len(part.untested) for part in parts)
    left_out = f"; {counted(untested, 'comparison')} not tested" if untested else ""
    cuts = ", ".join(part.cut for part in parts)
    return (
        f"{first.metric.label} at every cut ({cuts}) of {groups} is within {band} of {first.target_label} "
        f"at level {100 * first.request.level:g}%{both_scales_words(first, ratios)}{left_out}{wide}"
    )


def wide_tolerance(part: Disparities) -> str:
    """A warning where the tolerance is not smaller than the smallest compared rate: it would let any such rate pass."""
    if part.band is None or not part.binary or part.scale == "ratio":
        return ""
    smallest = float(min(part.rate.min(), part.target_rate.min()))
    ends = [abs(end) for end in part.band if end != 0.0] or [0.0]
    if min(ends) < smallest:
        return ""
    least = number_words(smallest, "points")
    return (
        f"; warning: a tolerance of {band_words(part.band, True)} is no smaller than the smallest rate compared "
        f"({least}%), so that even a rate of zero could pass: ask for a ratio"
    )
