"""What a scan says in sentences: its verdict and its notes."""

from __future__ import annotations

import warnings
from typing import Any

from fairtrial.errors import FairtrialWarning, Note
from fairtrial.methods.scan.arguments import ScanSettings
from fairtrial.methods.scan.draws import Luck
from fairtrial.methods.scan.subgroups import SubgroupDescriber
from fairtrial.results.column import State, Verdict

NO_NULL = "no null was asked for"


def state_of(score: float, luck: Luck | None, alpha: float) -> State:
    """Whether the best subgroup is more than luck."""
    if score <= 0:
        return State("nothing found")
    if luck is None:
        return State("not tested", NO_NULL)
    return State("found" if luck.p_value <= alpha else "not shown")


def verdict_of(
    describer: SubgroupDescriber, best: dict[str, Any], luck: Luck | None, null: str | None
) -> Verdict:
    """One sentence about the best subgroup."""
    question = describer.question
    side = "above" if best["direction"] == "above" else "below"
    who = f"{question.protected.label} ({best['subgroup']}, n {best['n']:,})"
    if best["state"] == "nothing found":
        nothing = f"nothing found: no subgroup of {question.protected.label} is {side} expectation"
        return Verdict("nothing-found", nothing)
    told = (
        f"{question.metric.label} of {who} is {100 * best['rate']:.1f}%, {side} the {100 * best['expected']:.1f}% "
        "expected"
    )
    if luck is None:
        return Verdict("not-tested", f"not tested: {told} (score {best['score']:.1f}); no null was drawn")
    chance = f"p = {luck.p_value:.3g} over the whole search ({luck.draws:,} draws, {null} null)"
    if best["state"] == "found":
        return Verdict("found", f"found: {told}; {chance}")
    return Verdict("not-shown", f"no bias shown: the best subgroup's score can be luck, {chance}: {told}")


def notes_of(
    describer: SubgroupDescriber, settings: ScanSettings, best: dict[str, Any], ridge: list[dict[str, Any]]
) -> list[Note]:
    """How it was searched, what the intervals mean, and what the comparison rests on."""
    level = f"{100 * settings.confidence_level:g}%"
    text = (
        f"Intervals of rates hold for all subgroups at once ({level}, Chernoff and Bonferroni), "
        "hence also for the picked one."
    )
    notes = [_search_note(describer, settings), Note("selected-intervals", text)]
    if len(describer.seen.found) > 1:
        text = "The p-value is for the best score; lower-ranked subgroups overlap it and carry no claim."
        notes.append(Note("lower-ranks", text))
    notes += _support_notes(describer, best)
    if ridge:
        notes.append(_ridge_note(best, ridge))
    notes.append(_fit_note(describer, best))
    return notes


def _search_note(describer: SubgroupDescriber, settings: ScanSettings) -> Note:
    plan, subgroups = describer.setup.plan, describer.subgroups
    if plan.exact:
        count = f"{subgroups:,.0f}" if subgroups < 1e9 else f"{subgroups:.2g}"
        return Note("search", f"Search: exact, a proof over all {count} subgroups.")
    text = (
        f"Search: {plan.restarts} restarts of coordinate ascent over {subgroups:.3g} subgroups; not a proof."
    )
    if settings.search == "auto":
        warnings.warn(f"scan: {text}", FairtrialWarning, stacklevel=7)  # the line that called scan
    return Note("search", text)


def _support_notes(describer: SubgroupDescriber, best: dict[str, Any]) -> list[Note]:
    """Who has no counterpart outside the class, and how few the counterparts are."""
    notes = []
    if best["unsupported"]:
        text = (
            f"{best['unsupported']:,} of {best['n']:,} people of the subgroup have nobody outside the class with the "
            "same features: their expectation is extrapolated."
        )
        notes.append(Note("positivity", text))
    if describer.setup.drop_unsupported:
        left_out = describer.setup.table.cell_scanned & ~describer.supported
        dropped = describer.seen.sums.protected[0][left_out].sum()
        text = f"{dropped:,.0f} protected people without a counterpart outside the class were left out of the search."
        notes.append(Note("dropped-unsupported", text))
    if 0 < best["target_n"] < 30:
        text = f"The comparison rests on {best['target_n']} people: the score is driven by them and by the ridge."
        notes.append(Note("few-comparators", text))
    return notes


def _ridge_note(best: dict[str, Any], ridge: list[dict[str, Any]]) -> Note:
    others = [row for row in ridge if row["subgroup"] != best["subgroup"]]
    scores = ", ".join(f"{row['score']:.1f} (ridge {row['ridge']:g})" for row in ridge)
    change = f"another subgroup is best at {len(others)} of them" if others else "the same subgroup each time"
    return Note("ridge-sensitivity", f"Best score by ridge: {scores}; {change}.")


def _fit_note(describer: SubgroupDescriber, best: dict[str, Any]) -> Note:
    worst = describer.worst_cell_fit()
    expected, observed = best["target_expected"], best["target_rate"]
    here = ""
    if isinstance(expected, float) and isinstance(observed, float):
        here = f" In the comparison subgroup it expects {100 * expected:.1f}% and {100 * observed:.1f}% are observed."
    if worst["gap"] is None:
        return Note("fit", f"No comparison cell has 30 people to check the model of expectations on.{here}")
    return Note(
        "fit",
        f"Fit of the expectations outside the class: largest gap {100 * worst['gap']:.1f} points over "
        f"{worst['cells']:,} cells of at least 30 people (that cell has {worst['n']:,}).{here}",
    )
