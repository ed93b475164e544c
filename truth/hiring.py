"""Hiring and other selections: rare, equal, below four fifths, helpful or harmful, in one group's intersection."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from truth.scenario import Ask, Expect, File, Scenario, file_of
from truth.world import Generator, People, World, by_label, happens, labels


def selection(rates: Mapping[str, float], shares: Mapping[str, float], attribute: str = "sex") -> World:
    """Selected with a chance by group."""

    def world(generator: Generator, size: int) -> People:
        group = labels(generator, size, shares)
        return People({attribute: group}, happens(generator, by_label(group, rates)))

    return world


def exactly(
    counts: Mapping[str, tuple[int, int]], attribute: str = "sex"
) -> Callable[[People, Generator], File]:
    """The very file of a story: so many selected of so many, with the rates of the story as the truth."""

    def seen(people: People, generator: Generator) -> File:
        group = np.concatenate([np.repeat(label, n) for label, (_, n) in counts.items()])
        hired = np.concatenate([np.arange(n) < k for k, n in counts.values()]).astype(int)
        return {attribute: group, "hired": hired}

    return seen


HALF = {"women": 0.5, "men": 0.5}
ROLES = {"decision": "hired", "groups": ["sex"], "favourable": 1}
INIT = ("--decision", "hired", "--group", "sex", "--favourable", "1", "--preset", "employment")
MEN = {"sex": "men"}
MEASURE = Ask("measure", {"metric": "selection_rate", "by": "sex", "target": MEN})
BELOW = Expect("found", "selection_rate", {"sex": "women"}, "below")


def certify(tolerance: float, **more: object) -> Ask:
    return Ask(
        "certify", {"metric": "selection_rate", "by": "sex", "target": MEN, "tolerance": tolerance, **more}
    )


SCENARIOS = [
    Scenario(
        name="6 of 500 women and 15 of 500 men",
        story="A rare selection, .4 of the men's rate: nobody asked for a certificate of 5 points.",
        world=selection({"women": 0.012, "men": 0.03}, HALF),
        size=1000,
        seen=exactly({"women": (6, 500), "men": (15, 500)}),
        roles=ROLES,
        init=INIT,
        asks=(MEASURE, certify(0.8, scale="ratio")),
        never=(Expect("certified"),),
        from_readme=True,
        short=True,
    ),
    Scenario(
        name="a rare selection in a large file",
        story="1.2% of women and 3% of men are hired, 20,000 applicants: far below four fifths.",
        world=selection({"women": 0.012, "men": 0.03}, HALF),
        size=20_000,
        seen=file_of("hired"),
        roles=ROLES,
        init=INIT,
        asks=(MEASURE, certify(0.8, scale="ratio")),
        must=(BELOW, Expect("found", "selection_rate", {"sex": "women"}, "below", "certify")),
        must_in_report=(BELOW,),
        never=(Expect("certified"),),
    ),
    Scenario(
        name="clearly below four fifths",
        story="20% of women and 40% of men are hired.",
        world=selection({"women": 0.2, "men": 0.4}, HALF),
        size=1500,
        seen=file_of("hired", yes=("yes", "no")),
        roles=ROLES | {"positive": {"decision": "yes"}, "favourable": "yes"},
        init=("--decision", "hired", "--group", "sex", "--favourable", "yes", "--preset", "employment"),
        asks=(MEASURE, certify(0.8, scale="ratio")),
        must=(BELOW, Expect("found", "selection_rate", {"sex": "women"}, "below", "certify")),
        must_in_report=(BELOW,),
        never=(Expect("certified"),),
        from_readme=True,
        short=True,
    ),
    Scenario(
        name="equal hiring, within four fifths",
        story="30% of women and of men are hired, 12,000 applicants.",
        world=selection({"women": 0.3, "men": 0.3}, HALF),
        size=12_000,
        seen=file_of("hired"),
        roles=ROLES,
        init=INIT,
        asks=(MEASURE, certify(0.8, scale="ratio"), certify(0.05)),
        must=(Expect("certified", "selection_rate"),),
    ),
    Scenario(
        name="four groups of fifty, equal rates",
        story="Some group is always below four fifths of another by luck.",
        world=selection(
            {"A": 0.3, "B": 0.3, "C": 0.3, "D": 0.3}, {"A": 1, "B": 1, "C": 1, "D": 1}, "ethnicity"
        ),
        size=200,
        seen=file_of("hired"),
        roles={"decision": "hired", "groups": ["ethnicity"], "favourable": 1},
        init=("--decision", "hired", "--group", "ethnicity", "--favourable", "1", "--preset", "employment"),
        asks=(
            Ask("measure", {"metric": "selection_rate", "by": "ethnicity"}),
            Ask("flag", {"metric": "selection_rate", "by": "ethnicity"}),
        ),
        from_readme=True,
        short=True,
    ),
    Scenario(
        name="a group of four people",
        story="996 people and a group of four: neither is compared with the other.",
        world=selection({"small": 0.5, "large": 0.5}, {"small": 0.004, "large": 0.996}, "office"),
        size=1000,
        seen=exactly({"small": (4, 4), "large": (17, 996)}, "office"),
        roles={"decision": "hired", "groups": ["office"]},
        init=("--decision", "hired", "--group", "office"),
        asks=(
            Ask("measure", {"metric": "selection_rate", "by": "office"}),
            Ask("certify", {"metric": "selection_rate", "by": "office", "tolerance": 0.1}),
        ),
        must=(),
        never=(Expect("found"), Expect("certified")),
        from_readme=True,
    ),
    Scenario(
        name="nobody of forty",
        story="None of 40 applicants of one group is hired, and 20% of the 400 others.",
        world=selection({"new": 0.01, "known": 0.2}, {"new": 0.1, "known": 0.9}, "origin"),
        size=440,
        seen=exactly({"new": (0, 40), "known": (80, 400)}, "origin"),
        roles={"decision": "hired", "groups": ["origin"], "favourable": 1},
        init=None,
        asks=(
            Ask("measure", {"metric": "selection_rate", "by": "origin", "target": {"origin": "known"}}),
            Ask("flag", {"metric": "selection_rate", "by": "origin", "target": {"origin": "known"}}),
        ),
        must=(Expect("found", "selection_rate", {"origin": "new"}, "below"),),
        never=(Expect("certified"),),
    ),
    Scenario(
        name="no gap in six groups",
        story="Six departments with the same rate of promotion.",
        world=selection(
            dict.fromkeys("ABCDEF", 0.25), {"A": 5, "B": 3, "C": 2, "D": 2, "E": 1, "F": 1}, "department"
        ),
        size=2800,
        seen=file_of("promoted"),
        roles={"decision": "promoted", "groups": ["department"], "favourable": 1},
        init=("--decision", "promoted", "--group", "department", "--favourable", "1"),
        asks=(
            Ask("measure", {"metric": "selection_rate", "by": "department"}),
            Ask("flag", {"metric": "selection_rate", "by": "department"}),
            Ask("certify", {"metric": "selection_rate", "by": "department", "tolerance": 0.02}),
        ),
        short=True,
    ),
]

STOPPED = {"Black": 0.25, "White": 0.12}
RACES = {"Black": 0.4, "White": 0.6}
ABOVE = Expect("found", "selection_rate", {"race": "Black"}, "above")
SCENARIOS += [
    Scenario(
        name="a decision that hurts",
        story="Being searched is decision 1: the group searched more often is the harmed one.",
        world=selection(STOPPED, RACES, "race"),
        size=2000,
        seen=file_of("searched"),
        roles={"decision": "searched", "groups": ["race"], "favourable": 0},
        init=("--decision", "searched", "--group", "race", "--favourable", "0"),
        asks=(
            Ask("measure", {"metric": "selection_rate", "by": "race", "target": {"race": "White"}}),
            Ask("flag", {"metric": "selection_rate", "by": "race", "direction": "harmed"}),
        ),
        must=(
            ABOVE,
            Expect("found", "selection_rate", {"race": "Black"}, "above", "flag"),
        ),
        must_in_report=(ABOVE,),
        short=True,
    ),
    Scenario(
        name="nobody said what is good",
        story="The same searches without a word on whether a search helps or hurts.",
        world=selection(STOPPED, RACES, "race"),
        size=2000,
        seen=file_of("searched"),
        roles={"decision": "searched", "groups": ["race"]},
        init=("--decision", "searched", "--group", "race"),
        asks=(Ask("measure", {"metric": "selection_rate", "by": "race", "target": {"race": "White"}}),),
        must=(ABOVE,),
        from_readme=True,
    ),
]
