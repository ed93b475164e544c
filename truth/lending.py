"""Lending: labels for the approved only, labels lost at random, small and large gaps, prices."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from truth.scenario import Ask, Expect, File, Scenario, file_of
from truth.world import Generator, People, World, by_label, happens, known, labels

SHARES = {"Black": 0.3, "White": 0.7}
SELECTION = {"metric": "selection_rate", "by": "race", "target": {"race": "White"}}
WHITE = {"race": "White"}


def lender(approved: Mapping[str, float], repaid: Mapping[str, float] | None = None) -> World:
    """Approval by race; who is approved repays more often, and the refused would have repaid too, less often."""

    def world(generator: Generator, size: int) -> People:
        race = labels(generator, size, SHARES)
        decision = happens(generator, by_label(race, approved))
        base = by_label(race, repaid or {"Black": 0.75, "White": 0.75})
        outcome = happens(generator, np.clip(base + 0.15 * decision - 0.1, 0.01, 0.99))
        income = np.round(np.exp(10.3 + 0.3 * generator.standard_normal(size) + 0.2 * decision), -2)
        return People({"race": race}, decision, outcome, columns={"income": income})

    return world


def labels_for_the_approved(people: People, generator: Generator) -> File:
    """What a bank has: who was refused never repaid anything."""
    repaid = np.where(people.decision == 1, known(people.outcome), np.nan)
    return {**people.groups, **people.columns, "approved": people.decision, "repaid": repaid}


def labels_lost(people: People, generator: Generator) -> File:
    """One outcome in five is lost, whatever was decided."""
    lost = generator.random(people.size) < 0.2
    repaid = np.where(lost, np.nan, known(people.outcome))
    return {**people.groups, **people.columns, "approved": people.decision, "repaid": repaid}


ROLES = {"decision": "approved", "outcome": "repaid", "groups": ["race"], "favourable": 1, "missing": "drop"}
INIT = ("--decision", "approved", "--outcome", "repaid", "--group", "race", "--favourable", "1")
OUTCOME_METRICS = ("fpr", "tpr", "fnr", "tnr", "accuracy", "base_rate", "npv", "for")
NO_CLAIM_ON_OUTCOMES = tuple(
    Expect(kind, metric) for metric in OUTCOME_METRICS for kind in ("found", "certified")
)

SCENARIOS = [
    Scenario(
        name="loans with outcomes for the approved only",
        story="42% of Black and 61% of White applicants are approved; repayment is known for the approved alone.",
        world=lender({"Black": 0.42, "White": 0.61}),
        size=3000,
        seen=labels_for_the_approved,
        roles=ROLES,
        init=INIT,
        asks=(
            Ask("certify", {**SELECTION, "tolerance": 0.05}),
            Ask("measure", {"metric": "fpr", "by": "race", "target": WHITE}),
            Ask("measure", {"metric": "ppv", "by": "race", "target": WHITE}),
        ),
        must=(
            Expect("found", "selection_rate", {"race": "Black"}, "below"),
            Expect("refused", "fpr", method="measure"),
        ),
        must_in_report=(Expect("found", "selection_rate"),),
        never=(Expect("certified", "selection_rate"), *NO_CLAIM_ON_OUTCOMES),
        short=True,
    ),
    Scenario(
        name="loans with outcomes for the approved only, no gap",
        story="Half of all applicants are approved; repayment is known for the approved alone.",
        world=lender({"Black": 0.5, "White": 0.5}),
        size=3000,
        seen=labels_for_the_approved,
        roles=ROLES,
        init=INIT,
        asks=(
            Ask("measure", {"metric": "selection_rate", "by": "race", "target": WHITE}),
            Ask("certify", {"metric": "tpr", "by": "race", "target": WHITE, "tolerance": 0.1}),
        ),
        must=(Expect("refused", "tpr", method="certify"),),
        never=NO_CLAIM_ON_OUTCOMES,
    ),
    Scenario(
        name="one outcome in five is lost by chance",
        story="Approval differs by 19 points; some outcomes are missing, for approved and refused alike.",
        world=lender({"Black": 0.42, "White": 0.61}, {"Black": 0.6, "White": 0.6}),
        size=4000,
        seen=labels_lost,
        roles=ROLES,
        init=INIT,
        asks=(
            Ask("measure", {"metric": ["selection_rate", "tpr", "fpr"], "by": "race", "target": WHITE}),
            Ask("certify", {**SELECTION, "tolerance": 0.05}),
        ),
        must=(
            Expect("found", "selection_rate", {"race": "Black"}, "below"),
            Expect("found", "tpr", {"race": "Black"}, "below"),
        ),
        must_in_report=(Expect("found", "selection_rate"),),
    ),
    Scenario(
        name="everyone is approved",
        story="A lender approves every application: no group is treated differently.",
        world=lender({"Black": 1.0, "White": 1.0}),
        size=1500,
        seen=labels_for_the_approved,
        roles=ROLES,
        init=INIT,
        asks=(Ask("certify", {**SELECTION, "tolerance": 0.05}),),
        never=(Expect("found", "selection_rate"),),
    ),
    Scenario(
        name="equal lending in a large file",
        story="20,000 applicants, the same approval rate: a certificate within 5 points is due.",
        world=lender({"Black": 0.55, "White": 0.55}),
        size=20_000,
        seen=file_of("approved", "repaid"),
        roles=ROLES,
        init=INIT,
        asks=(Ask("certify", {**SELECTION, "tolerance": 0.05}),),
        must=(Expect("certified", "selection_rate"),),
    ),
    Scenario(
        name="the gap is at the edge of the tolerance",
        story="Approval differs by exactly the 5 points conceded: neither a certificate nor a violation is due.",
        world=lender({"Black": 0.5, "White": 0.55}),
        size=6000,
        seen=file_of("approved", "repaid"),
        roles=ROLES,
        init=None,
        asks=(Ask("certify", {**SELECTION, "tolerance": 0.05}),),
    ),
]


def priced(gap: float) -> World:
    """Interest in percent: skewed, and higher by `gap` for one group."""

    def world(generator: Generator, size: int) -> People:
        race = labels(generator, size, SHARES)
        rate = 3.0 + np.exp(0.8 * generator.standard_normal(size)) + by_label(race, {"Black": gap})
        # what init proposes for a score alone: above the sample's median
        decision = (rate >= np.median(rate)).astype(float)
        return People({"race": race}, decision, score=np.round(rate, 3))

    return world


PRICES = {"score": "interest", "groups": ["race"]}
MEAN = {"metric": "mean_score", "by": "race", "target": WHITE}
SCENARIOS += [
    Scenario(
        name="one group pays more interest",
        story="Interest is half a percentage point higher for Black borrowers with the same spread.",
        world=priced(0.5),
        size=2500,
        seen=file_of(score="interest"),
        roles=PRICES,
        init=None,
        asks=(
            Ask("certify", {**MEAN, "tolerance": 0.1}),
            Ask("measure", {"metric": "mean_score", "by": "race", "target": WHITE}),
        ),
        must=(
            Expect("found", "mean_score", {"race": "Black"}, "above", "certify"),
            Expect("found", "mean_score", {"race": "Black"}, "above", "measure"),
        ),
    ),
    Scenario(
        name="the same interest for all",
        story="Skewed interest rates, 120 borrowers, no gap.",
        world=priced(0.0),
        size=120,
        seen=file_of(score="interest"),
        roles=PRICES,
        init=None,
        asks=(
            Ask("certify", {**MEAN, "tolerance": 0.1}),
            Ask("measure", {"metric": "mean_score", "by": "race", "target": WHITE}),
        ),
        never=(Expect("certified", "mean_score"),),
        short=True,
    ),
]
