"""Risk scores: error rates, base rates that differ, calibration, skewed costs, hidden subgroups."""

from __future__ import annotations

import numpy as np

from truth.scenario import Ask, Expect, File, Scenario, file_of
from truth.world import Generator, People, World, by_label, happens, labels, logistic

SHARES = {"Black": 0.45, "White": 0.55}
WHITE = {"race": "White"}
HIGH = 0.5


def risk(bias: float, base: float = 0.0) -> World:
    """A risk in [0, 1], shifted by `bias` on the logit for one group, whose base rate is shifted by `base`."""

    def world(generator: Generator, size: int) -> People:
        race = labels(generator, size, SHARES)
        true = 0.9 * generator.standard_normal(size) - 0.3 + by_label(race, {"Black": base})
        outcome = happens(generator, logistic(true))
        score = logistic(true + by_label(race, {"Black": bias}))
        return People({"race": race}, (score >= HIGH).astype(float), outcome, score)

    return world


def measured(*metrics: str) -> Ask:
    return Ask("measure", {"metric": list(metrics), "by": "race", "target": WHITE})


ROLES = {
    "score": "risk", "threshold": HIGH, "outcome": "reoffended", "groups": ["race"], "favourable": 0,
}  # fmt: skip
INIT = (
    "--score", "risk", "--threshold", str(HIGH), "--outcome", "reoffended", "--group", "race", "--favourable", "0",
)  # fmt: skip
FPR = Expect("found", "fpr", {"race": "Black"}, "above")

BANDS = ("reject", "refer", "accept")


def bands(refer: float, accept: float) -> World:
    """A score cut into three bands; for one group the two cuts are shifted by so much."""

    def world(generator: Generator, size: int) -> People:
        race = labels(generator, size, SHARES)
        true = generator.standard_normal(size)
        outcome = happens(generator, logistic(1.5 * true))
        shift = [by_label(race, {"Black": one}) for one in (refer, accept)]
        band = (true >= -0.4 + shift[0]).astype(float) + (true >= 0.6 + shift[1])
        return People({"race": race}, band, outcome, order=BANDS)

    return world


def in_bands(people: People, generator: Generator) -> File:
    return {**people.groups, "band": np.array(BANDS)[people.decision.astype(int)], "repaid": people.outcome}


BAND_ROLES = {
    "decision": "band", "order": list(BANDS), "outcome": "repaid", "groups": ["race"], "favourable": "accept",
}  # fmt: skip
BAND_INIT = ("--decision", "band", "--positive", "decision=accept", "--outcome", "repaid", "--group", "race")
ACCEPT = Expect("found", "selection_rate [accept]", {"race": "Black"}, "below", effect="harmed")
REFER = Expect("found", "selection_rate [refer or above]")

SCENARIOS = [
    Scenario(
        name="score bands, one cut higher for one group",
        story="Bands reject, refer, accept: Black applicants are referred alike, but accepted at a higher score only.",
        world=bands(0.0, 0.4),
        size=4000,
        seen=in_bands,
        roles=BAND_ROLES,
        init=BAND_INIT,
        asks=(
            measured("selection_rate", "tpr"),
            Ask("certify", {"metric": "selection_rate", "by": "race", "target": WHITE, "tolerance": 0.05}),
            Ask("flag", {"metric": "selection_rate", "by": "race", "target": WHITE}),
        ),
        must=(ACCEPT, Expect("found", "tpr [accept]", {"race": "Black"}, "below")),
        rarely=(REFER,),
        short=True,
    ),
    Scenario(
        name="score bands, the same cuts for everybody",
        story="Bands reject, refer, accept, cut alike for groups of the same scores.",
        world=bands(0.0, 0.0),
        size=12000,
        seen=in_bands,
        roles=BAND_ROLES,
        init=BAND_INIT,
        asks=(
            measured("selection_rate", "tpr"),
            Ask("certify", {"metric": "selection_rate", "by": "race", "target": WHITE, "tolerance": 0.05}),
        ),
        must=(Expect("certified", "selection_rate [accept]", {"race": "Black"}),),
        rarely=(REFER, Expect("found", "selection_rate [accept]")),
    ),
    Scenario(
        name="a score that overstates one group's risk",
        story="Black people get a higher score than people who reoffend as often.",
        world=risk(0.8),
        size=4000,
        seen=file_of(outcome="reoffended", score="risk"),
        roles=ROLES,
        init=INIT,
        asks=(
            measured("fpr", "tpr", "ppv"),
            Ask("certify", {"metric": "fpr", "by": "race", "target": WHITE, "tolerance": 0.05}),
        ),
        must=(
            FPR,
            Expect("found", "fpr", {"race": "Black"}, "above", "certify"),
            Expect("found", "ppv", {"race": "Black"}, "below"),
        ),
        must_in_report=(FPR,),
        short=True,
    ),
    Scenario(
        name="a calibrated score, other base rates",
        story="The score is right for everyone; base rates differ, so error rates must.",
        world=risk(0.0, 0.8),
        size=5000,
        seen=file_of(outcome="reoffended", score="risk"),
        roles=ROLES,
        init=INIT,
        asks=(measured("fpr", "base_rate"),),
        must=(FPR,),
        never=(
            Expect("found", "base_rate", effect="harmed"),
            Expect("found", "base_rate", effect="favoured"),
        ),
    ),
    Scenario(
        name="a fair score",
        story="No group differs in anything.",
        world=risk(0.0),
        size=3000,
        seen=file_of(outcome="reoffended", score="risk"),
        roles=ROLES,
        init=INIT,
        asks=(
            measured("fpr", "tpr", "ppv", "mean_score"),
            Ask("certify", {"metric": "fpr", "by": "race", "target": WHITE, "tolerance": 0.03}),
        ),
    ),
    Scenario(
        name="a fair score in a large file",
        story="40,000 people, no gap: a certificate within 5 points is due.",
        world=risk(0.0),
        size=40_000,
        seen=file_of(outcome="reoffended", score="risk"),
        roles=ROLES,
        init=None,
        asks=(Ask("certify", {"metric": "fpr", "by": "race", "target": WHITE, "tolerance": 0.05}),),
        must=(Expect("certified", "fpr"),),
        from_readme=True,
    ),
    Scenario(
        name="scores without outcomes",
        story="A file with scores and groups alone: nothing can be said of errors.",
        world=lambda generator, size: _above_median(risk(0.5)(generator, size)),
        size=2000,
        seen=file_of(score="risk"),
        roles={"score": "risk", "groups": ["race"]},
        init=None,
        asks=(Ask("measure", {"metric": "mean_score", "by": "race", "target": WHITE}), measured("fpr")),
        must=(
            Expect("found", "mean_score", {"race": "Black"}, "above"),
            Expect("refused", "fpr", method="measure"),
        ),
        from_readme=True,
    ),
]


def costs(means: dict[str, float], spread: float) -> World:
    """Costs with a lognormal law: a few people cost most of the money."""

    def world(generator: Generator, size: int) -> People:
        clinic = labels(generator, size, dict.fromkeys(means, 1.0))
        cost = np.exp(spread * generator.standard_normal(size) - spread**2 / 2) * by_label(clinic, means)
        dear = (cost >= np.median(cost)).astype(float)  # what init proposes for a score alone
        return People({"clinic": clinic}, dear, score=np.round(1000 * cost, 2))

    return world


CLINICS = dict.fromkeys("ABCDEFGHIJ", 1.0)
COST = {"score": "cost", "groups": ["clinic"]}
SCENARIOS += [
    Scenario(
        name="ten clinics of forty patients, skewed costs, no gap",
        story="Costs are lognormal; a clinic without an expensive patient looks cheap.",
        world=costs(CLINICS, 1.0),
        size=400,
        seen=file_of(score="cost"),
        roles=COST,
        init=None,
        asks=(
            Ask("measure", {"metric": "mean_score", "by": "clinic"}),
            Ask("flag", {"metric": "mean_score", "by": "clinic"}),
        ),
        short=True,
    ),
    Scenario(
        name="one of three clinics costs twice as much",
        story="400 patients each, costs lognormal.",
        world=costs({"A": 2.0, "B": 1.0, "C": 1.0}, 0.8),
        size=1200,
        seen=file_of(score="cost"),
        roles=COST,
        init=None,
        asks=(
            Ask("measure", {"metric": "mean_score", "by": "clinic"}),
            Ask("flag", {"metric": "mean_score", "by": "clinic"}),
        ),
        must=(
            Expect("found", "mean_score", {"clinic": "A"}, "above", "measure"),
            Expect("found", "mean_score", {"clinic": "A"}, "above", "flag"),
        ),
    ),
]


def _above_median(people: People) -> People:
    """The decision that init proposes for a score alone."""
    assert people.score is not None
    cut = (people.score >= np.median(people.score)).astype(float)
    return People(people.groups, cut, people.outcome, people.score)
