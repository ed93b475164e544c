"""Partly known: outcomes for the approved or the released only, groups by a proxy's probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from truth.lending import INIT, ROLES, WHITE, labels_for_the_approved, lender
from truth.scenario import Ask, Expect, File, Scenario
from truth.world import Floats, Generator, People, World, by_label, happens, known, labels

BOUNDS = {**{name: value for name, value in ROLES.items() if name != "missing"}, "unlabelled": "bounds"}
ALL_RATES = ["fpr", "tpr", "accuracy", "base_rate"]


# -- bail ---------------------------------------------------------------------------------------------------------
def court(released: Mapping[str, float], returns: Mapping[str, float]) -> World:
    """Release by race; who is released returns more often than who is held would have."""

    def world(generator: Generator, size: int) -> People:
        race = labels(generator, size, {"Black": 0.4, "White": 0.6})
        decision = happens(generator, by_label(race, released))
        outcome = happens(generator, np.clip(by_label(race, returns) + 0.1 * decision - 0.05, 0.01, 0.99))
        return People({"race": race}, decision, outcome)

    return world


def labels_for_the_released(people: People, generator: Generator) -> File:
    """Whether somebody comes back to court is known of those who were let go."""
    returned = np.where(people.decision == 1, known(people.outcome), np.nan)
    return {**people.groups, "released": people.decision, "returned": returned}


COURT = {
    "decision": "released", "outcome": "returned", "groups": ["race"], "favourable": 1, "unlabelled": "bounds",
}  # fmt: skip
COURT_INIT = ("--decision", "released", "--outcome", "returned", "--group", "race", "--favourable", "1")


def followed_up(people: People, generator: Generator) -> File:
    """A third of the refused, drawn at random, were looked into."""
    drawn = generator.random(people.size) < 1 / 3
    repaid = np.where((people.decision == 1) | drawn, known(people.outcome), np.nan)
    return {**people.groups, **people.columns, "approved": people.decision, "repaid": repaid}


# -- hiring by a proxy --------------------------------------------------------------------------------------------
Hired = Callable[[Floats, Any], Floats]


def firm(sure: float, hired: Hired) -> World:
    """People of three groups with probabilities as of name and address, and hiring by them, or by the group."""

    def world(generator: Generator, size: int) -> People:
        chances = generator.dirichlet([sure] * 3, size)
        place = (generator.random(size)[:, None] > chances.cumsum(axis=1)).sum(axis=1).clip(0, 2)
        decision = happens(generator, hired(chances, place))
        columns = dict(zip(("p_white", "p_black", "p_other"), chances.T, strict=True))
        race = np.array(["White", "Black", "Other"])[place]
        return People({"race": race}, decision, columns=columns)

    return world


def by_race(white: float, black: float, other: float) -> Hired:
    return lambda chances, place: np.array([white, black, other])[place]


def by_address(chances: Floats, place: Any) -> Floats:
    """Who lives where White people live is hired, whoever it is."""
    return np.asarray(0.3 + 0.4 * chances[:, 0])


def without_race(people: People, generator: Generator) -> File:
    """The file has the probabilities and not the race."""
    return {**people.columns, "hired": people.decision}


RACE = {"race": {"White": "p_white", "Black": "p_black", "Other": "p_other"}}
PROXY = {"decision": "hired", "groups": RACE, "favourable": 1}
PROXY_ASKS = (
    Ask("certify", {"metric": "selection_rate", "target": WHITE, "tolerance": 0.05}),
    Ask("measure", {"metric": "selection_rate", "target": WHITE}),
    Ask("flag", {"metric": "selection_rate", "target": WHITE}),
)
PROXY_INIT = ("--decision", "hired", "--group", "p_black", "--favourable", "1")

SCENARIOS = [
    Scenario(
        name="loans with outcomes for the approved, by bounds",
        story="42% of Black and 61% of White applicants are approved; what the refused would have done stays open.",
        world=lender({"Black": 0.42, "White": 0.61}),
        size=3000,
        seen=labels_for_the_approved,
        roles=BOUNDS,
        init=INIT,
        asks=(
            Ask("certify", {"metric": "tpr", "target": WHITE, "tolerance": 0.1}),
            Ask("measure", {"metric": [*ALL_RATES, "ppv", "selection_rate"], "target": WHITE}),
            Ask("flag", {"metric": "accuracy", "target": WHITE, "tolerance": 0.05}),
        ),
        must=(
            Expect("undetermined", "tpr", {"race": "Black"}, method="certify"),
            Expect("found", "selection_rate", {"race": "Black"}, "below"),
        ),
        must_in_report=(Expect("found", "selection_rate"),),
        short=True,
    ),
    Scenario(
        name="loans of which a third of the refused was followed up",
        story="42% of Black and 61% of White applicants are approved; a random third of the refused is looked into.",
        world=lender({"Black": 0.42, "White": 0.61}),
        size=4000,
        seen=followed_up,
        roles={**BOUNDS, "unlabelled": {"odds": 1}},
        init=INIT,
        asks=(
            Ask("certify", {"metric": "tpr", "target": WHITE, "tolerance": 0.05}),
            Ask("measure", {"metric": ALL_RATES, "target": WHITE}),
        ),
        must=(Expect("found", "tpr", {"race": "Black"}, "below", method="certify"),),
    ),
    Scenario(
        name="bail, nearly everybody released",
        story="99% of White and 78% of Black defendants are released; who is held is never seen to return or not.",
        world=court({"Black": 0.78, "White": 0.99}, {"Black": 0.85, "White": 0.85}),
        size=3000,
        seen=labels_for_the_released,
        roles=COURT,
        init=COURT_INIT,
        asks=(
            Ask("certify", {"metric": "base_rate", "target": WHITE, "tolerance": 0.02}),
            Ask("measure", {"metric": ["tpr", "fpr", "ppv"], "target": WHITE}),
        ),
        must=(Expect("undetermined", "base_rate"),),
    ),
    Scenario(
        name="bail, everybody alike",
        story="Nine in ten are released, whoever they are; who is held is never seen to return or not.",
        world=court({"Black": 0.9, "White": 0.9}, {"Black": 0.85, "White": 0.85}),
        size=3000,
        seen=labels_for_the_released,
        roles=COURT,
        init=COURT_INIT,
        asks=(
            Ask("certify", {"metric": "tpr", "target": WHITE, "tolerance": 0.2}),
            Ask("flag", {"metric": "fpr", "target": WHITE}),
        ),
        must=(Expect("certified", "tpr", {"race": "Black"}),),
    ),
    Scenario(
        name="hiring with BISG, hiring by race",
        story="55% of White and 25% of Black applicants are hired; race is known with a probability, often a high one.",
        world=firm(0.02, by_race(0.55, 0.25, 0.5)),
        size=6000,
        seen=without_race,
        roles=PROXY,
        init=PROXY_INIT,
        asks=PROXY_ASKS,
        must=(
            Expect("found", "selection_rate", {"race": "Black"}, "below", method="certify"),
            Expect("found", "selection_rate", {"race": "Black"}, "below", method="measure", effect="harmed"),
        ),
        must_in_report=(Expect("found", "selection_rate", {"race": "Black"}, "below"),),
        short=True,
    ),
    Scenario(
        name="hiring with BISG, hiring by address",
        story="Who lives where White people live is hired more often, whoever it is; race is hardly known.",
        world=firm(0.6, by_address),
        size=4000,
        seen=without_race,
        roles=PROXY,
        init=PROXY_INIT,
        asks=PROXY_ASKS,
        must=(Expect("undetermined", "selection_rate", {"race": "Black"}),),
    ),
]
