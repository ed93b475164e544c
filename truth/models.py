"""Searches, models and alternatives: hidden subgroups, a model that ignores everyone, a fairer rule or none."""

from __future__ import annotations

from typing import Any

import numpy as np

from truth.scenario import Ask, Expect, File, Scenario, file_of
from truth.world import Generator, People, World, by_label, happens, labels, logistic


def hidden(gap: float) -> World:
    """Among Black people under 25 in the south the decision falls on `gap` more; ages are years."""

    def world(generator: Generator, size: int) -> People:
        race = labels(generator, size, {"Black": 0.45, "White": 0.55})
        region = labels(generator, size, {"south": 0.4, "north": 0.3, "west": 0.3})
        age = generator.integers(18, 70, size)
        inside = (race == "Black") & (region == "south") & (age < 30)
        chance = 0.3 + 0.1 * (age < 30) + np.where(inside, gap, 0.0)
        return People(
            {"race": race}, happens(generator, np.asarray(chance)), columns={"region": region, "age": age}
        )

    return world


SCAN = {"metric": "selection_rate", "protected": {"race": "Black"}, "direction": "above", "permutations": 199}
SCAN_ROLES = {"decision": "stopped", "groups": ["race"], "features": ["region", "age"]}


def credit(misled: float) -> World:
    """Repayment depends on income; the bank's rule also listens to a proxy of race, by `misled`."""

    def world(generator: Generator, size: int) -> People:
        race = labels(generator, size, {"Black": 0.4, "White": 0.6})
        income = generator.standard_normal(size)
        proxy = by_label(race, {"Black": 1.0}) + 0.7 * generator.standard_normal(size)
        outcome = happens(generator, logistic(1.6 * income))
        decision = (1.6 * income - misled * (proxy - 0.4) > 0).astype(float)
        return People({"race": race}, decision, outcome, columns={"income": income, "proxy": proxy})

    return world


def everyone_approved(file: File) -> dict[str, Any]:
    """A fitted model that says 1 to everyone."""
    from sklearn.dummy import DummyClassifier

    features = np.column_stack([file["income"], file["proxy"]])
    return {
        "model": DummyClassifier(strategy="constant", constant=1).fit(
            features, np.ones(len(features), dtype=int)
        )
    }


def own_model(file: File) -> dict[str, Any]:
    """The model whose decisions were audited."""
    import pandas as pd
    from sklearn.linear_model import LogisticRegression

    features = pd.DataFrame({"income": file["income"], "proxy": file["proxy"]})
    return {"model": LogisticRegression(C=1e6, max_iter=2000).fit(features, file["approved"])}


CREDIT_ROLES = {
    "decision": "approved", "outcome": "repaid", "groups": ["race"], "features": ["income", "proxy"],
}  # fmt: skip


def challenger(people: People, generator: Generator) -> File:
    file = dict(file_of("approved", "repaid")(people, generator))
    file["challenger"] = (np.asarray(people.columns["income"]) > 0).astype(int)
    return file


FOUND = "found"
CHALLENGE = {"by": "race", "candidates": {"fixed": "challenger"}, "margin": 0.02}
SCENARIOS = [
    Scenario(
        name="a subgroup nobody thought of",
        story="Black people under 30 in the south are stopped 30 points more often than comparable people.",
        world=hidden(0.3),
        size=2500,
        seen=file_of("stopped"),
        roles=SCAN_ROLES,
        init=None,
        asks=(Ask("scan", SCAN),),
        must=(Expect(FOUND, method="scan"),),
    ),
    Scenario(
        name="no subgroup to find",
        story="Age matters for all alike; no subgroup of Black people is treated differently.",
        world=hidden(0.0),
        size=1500,
        seen=file_of("stopped"),
        roles=SCAN_ROLES,
        init=None,
        asks=(Ask("scan", SCAN),),
        rarely=(Expect(FOUND, method="scan"),),
    ),
    Scenario(
        name="a model that says yes to everyone",
        story="All are approved, by a fitted model: no gap, and none may be taken from a refitted model.",
        world=lambda generator, size: _approve_all(credit(1.5)(generator, size)),
        size=1200,
        seen=file_of("approved", "repaid"),
        roles=CREDIT_ROLES,
        init=None,
        asks=(Ask("explain", {"metric": "selection_rate", "by": "race"}, everyone_approved),),
        never=(Expect(FOUND, method="explain"),),
    ),
    Scenario(
        name="a proxy carries the gap",
        story="The audited model listens to a proxy of race: approval differs by tens of points.",
        world=credit(1.5),
        size=2000,
        seen=file_of("approved", "repaid"),
        roles=CREDIT_ROLES,
        init=None,
        asks=(Ask("explain", {"metric": "selection_rate", "by": "race"}, own_model),),
        must=(Expect(FOUND, method="explain"),),
    ),
    Scenario(
        name="a fairer rule that is as good exists",
        story="Without the proxy the rule is more accurate and nearly without a gap; the challenger is fixed.",
        world=credit(1.5),
        size=3000,
        seen=challenger,
        roles=CREDIT_ROLES,
        init=None,
        asks=(Ask("improve", CHALLENGE),),
        must=(Expect(FOUND, method="improve"),),
    ),
    Scenario(
        name="the challenger is no fairer",
        story="The rule in use is already the one without the proxy.",
        world=credit(0.0),
        size=2000,
        seen=challenger,
        roles=CREDIT_ROLES,
        init=None,
        asks=(Ask("improve", CHALLENGE),),
        rarely=(Expect(FOUND, method="improve"),),
    ),
    Scenario(
        name="how little would have to change: nothing",
        story="Approval does not depend on race.",
        world=credit(0.0),
        size=1500,
        seen=file_of("approved", "repaid"),
        roles=CREDIT_ROLES,
        init=None,
        asks=(Ask("transport", {"metric": "statistical_parity", "by": "race"}),),
        rarely=(Expect(FOUND, method="transport"),),
    ),
    Scenario(
        name="how little would have to change: much",
        story="Approval differs by tens of points.",
        world=credit(1.5),
        size=1500,
        seen=file_of("approved", "repaid"),
        roles=CREDIT_ROLES,
        init=None,
        asks=(Ask("transport", {"metric": "statistical_parity", "by": "race"}),),
        must=(Expect(FOUND, method="transport"),),
    ),
]


def _approve_all(people: People) -> People:
    return People(people.groups, np.ones(people.size), people.outcome, columns=people.columns)
