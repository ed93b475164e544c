"""What a scan says in sentences: its verdict and its notes."""

from __future__ import annotations

import warnings
from typing import Any

from fairtrial.errors import FairtrialWarning, Note
from fairtrial.methods.scan.draws import Luck
from fairtrial.methods.scan.options import Options
from fairtrial.methods.scan.subgroups import Teller
from fairtrial.methods.scan.table import Asked
from fairtrial.results.column import Verdict


def finding_of(score: float, luck: Luck | None, alpha: float) -> str:
    if score <= 0:
        return "nothing found"
    if luck is None:
        return "not tested"
    return "found" if luck.p_value <= alpha else "not shown"


def verdict_of(
    label: str, asked: Asked, best: dict[str, Any], luck: Luck | None, finding: str, null: str | None
) -> Verdict:
    side = "above" if best["direction"] == "above" else "below"
    who = f"{asked.protected.label} ({best['subgroup']}, n {best['n']:,})"
    if finding == "nothing found":
        return Verdict(
            "nothing-found", f"nothing found: no subgroup of {asked.protected.label} is {side} expectation"
        )
    told = f"{label} of {who} is {100 * best['rate']:.1f}%, {side} the {100 * best['expected']:.1f}% expected"
    if luck is None:
        return Verdict("not-tested", f"not tested: {told} (score {best['score']:.1f}); no null was drawn")
    chance = f"p = {luck.p_value:.3g} over the whole search ({luck.draws:,} draws, {null} null)"
    if finding == "found":
        return Verdict("found", f"found: {told}; {chance}")
    return Verdict("not-shown", f"no bias shown: the best subgroup's score can be luck, {chance}: {told}")


def notes_of(
    teller: Teller, options: Options, best: dict[str, Any], ridge: list[dict[str, Any]]
) -> list[Note]:
    setup = teller.setup
    notes = []
    if setup.plan.exact:
        count = f"{teller.subgroups:,.0f}" if teller.subgroups < 1e9 else f"{teller.subgroups:.2g}"
        text = f"Search: exact, a proof over all {count} subgroups."
    else:
        text = (
            f"Search: {setup.plan.restarts} restarts of coordinate ascent over {teller.subgroups:.3g} subgroups; "
            "not a proof."
        )
        if options.search == "auto":
            warnings.warn(f"scan: {text}", FairtrialWarning, stacklevel=5)
    notes.append(Note("search", text))
    level = f"{100 * options.confidence_level:g}%"
    text = (
        f"Intervals of rates hold for all subgroups at once ({level}, Chernoff and Bonferroni), "
        "hence also for the picked one."
    )
    notes.append(Note("selected-intervals", text))
    if len(teller.seen.found) > 1:
        notes.append(
            Note(
                "lower-ranks",
                "The p-value is for the best score; lower-ranked subgroups overlap it and carry no claim.",
            )
        )
    if best["unsupported"]:
        text = (
            f"{best['unsupported']:,} of {best['n']:,} people of the subgroup have nobody outside the class with the "
            "same features: their expectation is extrapolated."
        )
        notes.append(Note("positivity", text))
    if setup.drop_unsupported:
        dropped = teller.seen.sums.protected[0][setup.table.cell_scanned & ~teller.supported].sum()
        notes.append(
            Note(
                "dropped-unsupported",
                f"{dropped:,.0f} protected people without a counterpart outside the class were left out of the search.",
            )
        )
    if 0 < best["comparison_n"] < 30:
        text = f"The comparison rests on {best['comparison_n']} people: the score is driven by them and by the ridge."
        notes.append(Note("few-comparators", text))
    others = [row for row in ridge if row["subgroup"] != best["subgroup"]]
    if ridge:
        scores = ", ".join(f"{row['score']:.1f} (ridge {row['ridge']:g})" for row in ridge)
        change = (
            f"; another subgroup is best at {len(others)} of them"
            if others
            else "; the same subgroup each time"
        )
        notes.append(Note("ridge-sensitivity", f"Best score by ridge: {scores}{change}."))
    notes.append(_fit_note(teller, best))
    return notes


def _fit_note(teller: Teller, best: dict[str, Any]) -> Note:
    worst = teller.worst_cell_fit()
    expected, observed = best["comparison_expected"], best["comparison_rate"]
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
