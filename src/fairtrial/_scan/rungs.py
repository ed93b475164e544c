"""Which null is drawn from: the one that was named, or the ladder's rung, and what it assumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairtrial._errors import Fault, NotApplicable, Note, Set, Words
from fairtrial._results.text import counted
from fairtrial._scan.arguments import ScanSettings
from fairtrial._scan.solver.arrays import FloatArray
from fairtrial._scan.solver.blocks import SMALL_TABLE, THIN
from fairtrial._scan.solver.matched import MatchedTable
from fairtrial._scan.solver.scan_table import ScanTable

# Less of the class than this in strata that can move: the ladder goes on to fitted models. Planted biases were found
# by strata and by models in .37 and .48 of the data sets where 95% could move, .33 and .37 (60%), .48 and .78 (41%),
# .28 and .40 (42%), .25 and .57 (22%), .13 and .50 (10%).
FEW_MOVE = 0.5
# Columns of a pooled model above which fitting it is no longer reasonable.
MOST_COLUMNS = 3_000
_MODELS = {
    "pairwise": "all pairwise interactions",
    "saturated": "one rate per cell",
    "main": "main effects only",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rung:
    """The null that is drawn from, the strata, and how much of the class can move within them."""

    name: Literal["stratified", "bootstrap", "propensity", "global"]
    by_ladder: bool
    matched: MatchedTable
    share: float
    on_score: bool
    looked_for: bool

    def note(self, model: str = "", thin: int = 0) -> Note:
        """What the draws assume; `model` says which one was fitted, `thin` how many tables were not looked at."""
        if self.name == "stratified":
            return self._stratified()
        if self.name == "global":
            text = (
                "Global null, as in the article: class membership is permuted over everybody. It is wrong when the "
                "class depends on the features; use it to reproduce published numbers only."
            )
            return Note("null-global", text)
        if self.name == "bootstrap":
            drawn = "Bootstrap null: events are drawn from a fit that is blind to the class"
            return Note("null-bootstrap", f"{drawn} ({model}). Valid only if that model is right.")
        few = f"Only {100 * self.share:.0f}% of the protected class is in strata that can move:"
        why = f"{few} second rung of the ladder. " if self.by_ladder else ""
        drawn = (
            f"{why}Propensity null: classes are drawn from a fitted P(class | features, condition) ({model})."
        )
        holds = "Valid only if that model is right."
        if self.looked_for:
            holds = "Holds if the model of the class or that of the event is right; looked for up to three-way tables"
            few = f"{counted(thin, 'table')} of more than {SMALL_TABLE} cells with fewer than {THIN:.0f} people each"
            holds += f", but {few} {'was' if thin == 1 else 'were'} not looked at." if thin else "."
        return Note("null-propensity", f"{drawn} {holds}")

    def _stratified(self) -> Note:
        strata, moving = self.matched.strata, int(self.matched.moves().sum())
        within = "features and neighbouring scores" if self.on_score else "features and condition"
        text = (
            f"Stratified null: class membership is permuted among people with the same {within}; "
            f"{100 * self.share:.0f}% of the protected class is in strata that can move "
            f"({moving:,} of {counted(strata, 'stratum', 'strata')})."
        )
        if self.share < FEW_MOVE:
            text += " The others say nothing about the class, so weak findings may be missed."
        return Note("null-stratified", text)


def rung_of(settings: ScanSettings, table: ScanTable) -> Rung:
    """The null that was named; the ladder's rung goes by the sizes of the strata alone."""
    strata = MatchedTable.of(table)
    share = strata.share_that_moves()
    by_ladder = settings.null in ("ladder", None)
    name = settings.null
    if name is None or name == "ladder":
        name = "stratified" if share >= FEW_MOVE else "propensity"
    return Rung(
        name=name, by_ladder=by_ladder, matched=strata, share=share, on_score=table.on_score,
        looked_for=settings.null_model == "blocks" and settings.score == "matched",
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Models:
    """ê and m̂ of every cell, and in words what they are."""

    chance: FloatArray
    rates: FloatArray
    words: str
    thin: int = 0  # tables that were not looked at


def fitted_models(who: str, table: ScanTable, settings: ScanSettings, names: tuple[str, ...] = ()) -> Models:
    """ê = P(class | X, C), which sees no event, and m̂ = E(event | X, C), which sees no class."""
    if settings.null_model == "blocks":
        from fairtrial._scan.solver.blocks import fit_class, fit_event

        of_class, of_event = fit_class(table), fit_event(table)
        words = f"class: {_blocks(of_class.blocks, names)}; event: {_blocks(of_event.blocks, names)}"
        return Models(chance=of_class.rates, rates=of_event.rates, words=words, thin=of_class.thin)
    from fairtrial._scan.solver.expectation import pooled_propensity, pooled_rates

    _check_columns(who, table, settings)
    how = (table, settings.ridge, settings.null_model)
    return Models(
        chance=pooled_propensity(*how), rates=pooled_rates(*how), words=_MODELS[settings.null_model]
    )


def _blocks(blocks: tuple[tuple[int, ...], ...], names: tuple[str, ...]) -> str:
    """Main effects and the blocks, by the names of their attributes."""
    if not blocks:
        return "main effects"
    listed = [" × ".join(names[j] if j < len(names) else "condition" for j in block) for block in blocks]
    return f"main effects and tables of {', '.join(listed)}"


def _check_columns(who: str, table: ScanTable, settings: ScanSettings) -> None:
    arity = table.arity.astype(float)
    products = (arity.sum() ** 2 - (arity**2).sum()) / 2
    if settings.null_model == "pairwise" and products > MOST_COLUMNS:
        smaller = Set("null_model", "main"), Set("null_model", "blocks")
        cure = Words("use {} or {}, coarser features, or {}", *smaller, Set("null", "stratified"))
        columns = f"would have {products:,.0f} pairwise columns"
        raise NotApplicable(who, Fault("null_model", columns, subject="the null's model", cure=cure))
