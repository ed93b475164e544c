"""Validity of improve: every component at the points where its null is hardest to hold.

Gaps one to two standard errors from zero are where the kink of |·| breaks the article's bootstrap; the smooth
components are checked there with both signs, with three groups and one-sided, and the article's is shown to fail.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from validity.board import Cell
from validity.improve_designs import (
    accuracy_errors,
    close_groups_errors,
    fairness_errors,
    one_sided_errors,
    portfolio_rejections,
    selected_mean_errors,
    standard_errors,
    three_groups_errors,
    whole_procedure_errors,
)
from validity.improve_fixed import CELLS as FIXED
from validity.improve_forward import CELLS as FORWARD
from validity.improve_learned import CELLS as LEARNED
from validity.improve_more import CELLS as OTHERS
from validity.improve_prices import CELLS as PRICES
from validity.improve_rare import CELLS as RARE
from validity.improve_unlabelled import CELLS as UNLABELLED
from validity.repeated_people import IMPROVE as REPEATED

PORTFOLIO_SHORT = 8  # a whole analysis takes seconds: enough to fail when most repeats go wrong
MISLED = 1.2  # the one parameter in which the two portfolio simulations differ; 0 is the frontier


def _cell(name: str, design: str, run: Any, **settings: Any) -> Cell:
    return Cell(
        method="improve", name=name, design=design, claim=settings.pop("claim", "size"), run=run, **settings
    )


CELLS = [
    *REPEATED,
    *(
        _cell(
            f"smooth fairness, gaps {k:g} s.e., {'same' if same else 'opposite'} side, status quo {side}",
            "Appendix E's normals, 100 people, candidate exactly as unfair; sign from a training half",
            partial(
                fairness_errors,
                which=1,
                gap0=(1 if side == "positive" else -1) * standard_errors(k),
                gap1=(1 if same == (side == "positive") else -1) * standard_errors(k),
            ),
        )
        for k, same, side in (
            (1.0, False, "positive"),
            (1.5, False, "positive"),
            (1.5, False, "negative"),
            (2.0, False, "positive"),
            (2.0, True, "positive"),
            (2.0, True, "negative"),
        )
    ),
    _cell(
        "smooth fairness, half the gap",
        "Appendix E's normals, 400 people, Δf = .5 and the candidate's gap exactly half",
        partial(
            fairness_errors,
            which=1,
            gap0=standard_errors(4, 400),
            gap1=-standard_errors(2, 400),
            rows=400,
            delta=0.5,
        ),
    ),
    _cell(
        "fairness of the article, gaps 1 s.e., opposite side",
        "Appendix E's normals, 100 people, candidate exactly as unfair; sign from a training half",
        partial(fairness_errors, which=0, gap0=standard_errors(1), gap1=-standard_errors(1)),
        variant="paper",
        counterpart="smooth fairness, gaps 1 s.e., opposite side, status quo positive",
    ),
    _cell(
        "smooth fairness, mean of the selected",
        "65 selected of the smaller group, gaps of one s.e. on opposite sides, nominal 2.5%",
        partial(selected_mean_errors, which="smooth"),
        nominal=0.025,
    ),
    _cell(
        "fairness of the article, mean of the selected",
        "65 selected of the smaller group, gaps of one s.e. on opposite sides, nominal 2.5%",
        partial(selected_mean_errors, which="paper"),
        nominal=0.025,
        variant="paper",
        counterpart="smooth fairness, mean of the selected",
    ),
    _cell(
        "accuracy component, 100 people",
        "paired binary decisions, rate .5, T_g = 0",
        partial(accuracy_errors, rate=0.5, rows=100, delta=0.0),
    ),
    _cell(
        "accuracy component, 10% more accurate",
        "paired binary decisions, rate .8, Δ = .1, T_g = 0",
        partial(accuracy_errors, rate=0.8, rows=100, delta=0.1),
    ),
    _cell(
        "three groups, equal gap opened elsewhere",
        "the candidate closes the worst gap and opens an equal one elsewhere, 3 × 200 people",
        partial(three_groups_errors, only_worst=False),
    ),
    _cell(
        "three groups, gaps within two s.e.", "the candidate permutes the groups' levels", close_groups_errors
    ),
    _cell(
        "one-sided, no disparity",
        "F0 = 0 and a candidate that lifts the protected group",
        partial(one_sided_errors, old=(0.5, 0.5), new=(0.5, 0.8), kind="relative"),
    ),
    _cell(
        "one-sided, same disparity",
        "F1 = F0 > 0",
        partial(one_sided_errors, old=(0.6, 0.5), new=(0.7, 0.6), kind="relative"),
    ),
    _cell(
        "one-sided, no disparity, differences",
        "F0 = 0 and a candidate that lifts the protected group",
        partial(one_sided_errors, old=(0.5, 0.5), new=(0.5, 0.8), kind="absolute"),
    ),
    _cell(
        "whole procedure, median",
        "seven splits, more accurate and exactly as unfair",
        partial(whole_procedure_errors, aggregation="median"),
    ),
    _cell(
        "whole procedure, running median",
        "seven splits, more accurate and exactly as unfair",
        partial(whole_procedure_errors, aggregation="running-median"),
    ),
    _cell(
        "power of the smooth fairness component, perfectly fair candidate",
        "Appendix E, 100 people, η = 0",
        partial(fairness_errors, which=1, gap0=1.52, gap1=0.0),
        claim="power",
        nominal=0.77,
    ),
    _cell(
        "power of the smooth fairness component, fairer candidate",
        "Appendix E, 400 people, η = 1",
        partial(fairness_errors, which=1, gap0=1.52, gap1=1.0, rows=400),
        claim="power",
        nominal=0.957,
    ),
    _cell(
        "the portfolio finds a known better rule",
        f"2,000 people, status quo misled by a proxy ({MISLED:g}); whole analyses",
        partial(portfolio_rejections, misled=MISLED),
        whole_analysis=True,
        claim="power",
        nominal=0.9,
        short=PORTFOLIO_SHORT,
        long=60,
    ),
    _cell(
        "the portfolio at the frontier",
        "2,000 people, the same status quo misled by 0; whole analyses",
        partial(portfolio_rejections, misled=0.0),
        whole_analysis=True,
        short=PORTFOLIO_SHORT,
        long=60,
    ),
    *FORWARD,
    *OTHERS,
    *RARE,
    *UNLABELLED,
    *LEARNED,
    *PRICES,
    *FIXED,
]
