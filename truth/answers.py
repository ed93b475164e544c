"""Whole answers: what a report says first, of files in which the numbers can be right and the words wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from truth.hiring import exactly, selection
from truth.scenario import Ask, Expect, File, Scenario, file_of
from truth.world import Floats, Generator, People, World, by_label, happens, labels

SEX = {"women": 0.5, "men": 0.5}
RACES = {"Black": 0.3, "White": 0.7}
MEN = {"sex": "men"}
HIRED = {"decision": "hired", "groups": ["sex"], "favourable": 1}
HIRED_INIT = ("--decision", "hired", "--group", "sex", "--favourable", "1", "--preset", "general")
WOMEN = Expect("found", "selection_rate", {"sex": "women"}, "below")
CERTIFY = '\n[certify]\nmetric = "selection_rate"\nby = ["{}"]\ntolerance = "5 in 100"\n'


def rates(by: str, metric: str = "selection_rate") -> tuple[Ask, ...]:
    return (Ask("measure", {"metric": metric, "by": by}),)


def departments(chances: Mapping[tuple[str, str], float], women: Mapping[str, float]) -> World:
    """Hired with a chance by sex and department; `women` is their share in each department."""

    def world(generator: Generator, size: int) -> People:
        department = labels(generator, size, dict.fromkeys(women, 1.0))
        sex = np.where(generator.random(size) < by_label(department, women), "women", "men")
        chance = np.array([chances[one, other] for one, other in zip(sex, department, strict=True)])
        return People({"sex": sex, "department": department}, happens(generator, chance))

    return world


def paid(gap: float, *, manager_gap: float = 0.0) -> World:
    """Pay with a lognormal law by job; men are managers more often by `manager_gap`, and earn more by `gap`."""

    def world(generator: Generator, size: int) -> People:
        sex = labels(generator, size, SEX)
        chance = 0.2 + manager_gap * (sex == "men")
        job = np.where(generator.random(size) < chance, "manager", "clerk")
        log = 10.3 + 0.5 * (job == "manager") + gap * (sex == "men") + 0.25 * generator.standard_normal(size)
        return People({"sex": sex, "job": job}, np.round(np.exp(log)))

    return world


def priced(generator: Generator, size: int) -> People:
    race = labels(generator, size, RACES)
    price = np.round(np.exp(6 + 0.12 * (race == "Black") + 0.2 * generator.standard_normal(size)), 2)
    return People({"race": race}, price)


def amounts(name: str, *columns: str) -> Callable[[People, Generator], File]:
    """The file of a decision that is a number."""

    def seen(people: People, generator: Generator) -> File:
        told = {column: people.groups[column] for column in columns}
        return {**told, name: people.decision}

    return seen


def risky(generator: Generator, size: int) -> People:
    """A probability of default by which loans are refused; it is higher for Black applicants."""
    race = labels(generator, size, RACES)
    risk = np.clip(np.where(race == "Black", 0.45, 0.32) + 0.12 * generator.standard_normal(size), 0.01, 0.99)
    approved = happens(generator, 1 / (1 + np.exp(8 * (risk - 0.36))))
    return People({"race": race}, approved, score=np.round(risk, 3))


def one_hot(people: People, generator: Generator) -> File:
    """Race as columns of 0 and 1."""
    race = people.groups["race"]
    columns = {f"race_{label.lower()}": (race == label).astype(int) for label in ("Black", "White", "Asian")}
    return {**columns, "hired": people.decision}


def coded(people: People, generator: Generator) -> File:
    """Sex as 1 and 2, a refusal as 1."""
    return {"SEX": np.where(people.groups["SEX"] == "1", 1, 2), "refused": people.decision}


def two_attributes(chance: Mapping[tuple[str, str], float]) -> World:
    def world(generator: Generator, size: int) -> People:
        race, sex = labels(generator, size, {"Black": 0.4, "White": 0.6}), labels(generator, size, SEX)
        drawn: Floats = np.array([chance[one, other] for one, other in zip(race, sex, strict=True)])
        return People({"race": race, "sex": sex}, happens(generator, drawn))

    return world


def alike(chance: float) -> dict[tuple[str, str], float]:
    return {(race, sex): chance for race in ("Black", "White") for sex in ("women", "men")}


BOTH = {"decision": "hired", "groups": ["race", "sex"], "favourable": 1}
BOTH_INIT = (
    "--decision",
    "hired",
    "--group",
    "race",
    "--group",
    "sex",
    "--favourable",
    "1",
    "--preset",
    "general",
)
FEWER_WOMEN = {"law": 0.8, "trade": 0.2}
SIMPSON = departments(
    {("women", "law"): 0.3, ("men", "law"): 0.2, ("women", "trade"): 0.8, ("men", "trade"): 0.7}, FEWER_WOMEN
)
NO_MORE = departments(
    {("women", "law"): 0.25, ("men", "law"): 0.25, ("women", "trade"): 0.75, ("men", "trade"): 0.75},
    FEWER_WOMEN,
)
HIDDEN = departments(
    {("women", "law"): 0.7, ("men", "law"): 0.85, ("women", "trade"): 0.2, ("men", "trade"): 0.35},
    {"law": 0.65, "trade": 0.35},
)
PAY = {"decision": "salary", "groups": ["sex"], "favourable": "high"}
PAY_INIT = ("--decision", "salary", "--group", "sex", "--favourable", "high")
PRICE = {"decision": "premium", "groups": ["race"], "favourable": "low"}

SCENARIOS = [
    Scenario(
        name="answers: callbacks of 6 and 10 in 100 within 5 points",
        story="The difference is within the tolerance, the ratio far below four fifths: nothing is certified.",
        world=selection({"Black": 0.064, "White": 0.097}, {"Black": 1, "White": 1}, "name"),
        size=4870,
        seen=exactly({"Black": (157, 2435), "White": (235, 2435)}, "name"),
        roles={"decision": "hired", "groups": ["name"], "favourable": 1},
        init=("--decision", "hired", "--group", "name", "--favourable", "1", "--preset", "general"),
        more=CERTIFY.format("name"),
        asks=rates("name"),
        must_in_report=(Expect("found", "selection_rate", {"name": "Black"}, "below"),),
        first=("6 of 100 .*Black were hired, against 10 of 100",),
        verdicts=("violated",),
        short=True,
    ),
    Scenario(
        name="answers: rare selections, the difference alone",
        story="1 in 100 of one group and 2 in 100 of the other: within 5 points, half the rate.",
        world=selection({"women": 0.01, "men": 0.02}, SEX),
        size=12_000,
        seen=file_of("hired"),
        roles=HIRED,
        init=HIRED_INIT,
        more=CERTIFY.format("sex"),
        asks=rates("sex"),
        verdicts=("violated", "undetermined"),
    ),
    Scenario(
        name="answers: a risk score that falls with approval",
        story="Low scores are good: Black applicants are harmed by the score and by the approval, never favoured.",
        world=risky,
        size=4000,
        seen=file_of("approved", score="risk_score"),
        roles={
            "decision": "approved",
            "score": "risk_score",
            "groups": ["race"],
            "favourable": 1,
            "score_favours": "low",
        },
        init=("--decision", "approved", "--score", "risk_score", "--group", "race", "--favourable", "1"),
        asks=(Ask("measure", {"metric": ["selection_rate", "mean_score"], "by": "race"}),),
        must=(Expect("found", "mean_score", {"race": "Black"}, "above", effect="harmed"),),
        must_in_report=(
            Expect("found", "selection_rate", {"race": "Black"}, "below", effect="harmed"),
            Expect("found", "mean_score", {"race": "Black"}, "above", effect="harmed"),
        ),
        never=(
            Expect("found", who={"race": "Black"}, effect="favoured"),
            Expect("found", who={"race": "White"}, effect="harmed"),
        ),
        first=("Black people were approved, against",),
    ),
    Scenario(
        name="answers: rejections, the decision turned round",
        story="Decision 1 is a rejection: the group rejected more often is harmed.",
        world=selection({"women": 0.5, "men": 0.35}, SEX),
        size=2500,
        seen=file_of("rejected", yes=("yes", "no")),
        roles={
            "decision": "rejected",
            "positive": {"decision": "yes"},
            "groups": ["sex"],
            "favourable": "no",
        },
        init=("--decision", "rejected", "--group", "sex"),
        asks=rates("sex"),
        must_in_report=(Expect("found", "selection_rate", {"sex": "women"}, "above", effect="harmed"),),
        never=(Expect("found", who={"sex": "women"}, effect="favoured"),),
        first=("women were rejected, against .* men",),
    ),
    Scenario(
        name="answers: Simpson's reversal",
        story="Women are hired less often over all and more often in each department; both are said first.",
        world=SIMPSON,
        size=6000,
        seen=file_of("hired"),
        roles=HIRED,
        init=HIRED_INIT,
        asks=rates("sex"),
        must_in_report=(WOMEN,),
        first=("women were hired, against .* men", "Among people alike in department, .*the other way round"),
        short=True,
    ),
    Scenario(
        name="answers: a gap that vanishes among people alike",
        story="Women apply where few are hired: within a department there is no gap, and that is said first.",
        world=NO_MORE,
        size=6000,
        seen=file_of("hired"),
        roles=HIRED,
        init=HIRED_INIT,
        asks=rates("sex"),
        must_in_report=(WOMEN,),
        first=("women were hired, against .* men", "Among people alike in department"),
        rarely=(Expect("found", "selection_rate", {"sex": "women"}, within=("department",)),),
    ),
    Scenario(
        name="answers: a gap hidden by departments",
        story="Over all women and men are hired alike; in each department women are hired 15 points less often.",
        world=HIDDEN,
        size=6000,
        seen=file_of("hired"),
        roles=HIRED,
        init=HIRED_INIT,
        asks=rates("sex"),
        must_in_report=(
            Expect("found", "selection_rate", {"sex": "women"}, "below", within=("department",)),
        ),
        first=("were hired, against", "Among people alike in department, the gap is 1"),
    ),
    Scenario(
        name="answers: two attributes of two groups, one gap",
        story="Sex matters and region does not: two comparisons, one finding.",
        world=two_attributes(
            {("Black", "women"): 0.3, ("White", "women"): 0.3, ("Black", "men"): 0.45, ("White", "men"): 0.45}
        ),
        size=3000,
        seen=file_of("hired"),
        roles=BOTH,
        init=BOTH_INIT,
        asks=(Ask("measure", {"metric": "selection_rate"}),),
        must_in_report=(WOMEN,),
        rarely=(
            Expect("found", "selection_rate", {"race": "Black"}),
            Expect("found", "selection_rate", {"race": "White"}),
        ),
        first=("women .*were hired, against|women were hired",),
    ),
    Scenario(
        name="answers: groups written as columns of 0 and 1",
        story="Race is three columns of 0 and 1; Black applicants are hired less often.",
        world=selection(
            {"Black": 0.3, "White": 0.5, "Asian": 0.5}, {"Black": 0.3, "White": 0.5, "Asian": 0.2}, "race"
        ),
        size=3000,
        seen=one_hot,
        roles={"decision": "hired", "groups": ["race_black"], "favourable": 1},
        init=("--decision", "hired", "--group", "race", "--favourable", "1", "--preset", "general"),
        asks=(),
        must_in_report=(Expect("found", "selection_rate", {"race": "Black"}, "below"),),
        groups={
            f"{label.lower()}: race: {label.lower()}": {"race": label}
            for label in ("Black", "White", "Asian")
        },
    ),
    Scenario(
        name="answers: pay",
        story="Women earn 0.87 of what men earn in the same jobs.",
        world=paid(0.14),
        size=2000,
        seen=amounts("salary", "sex", "job"),
        roles=PAY,
        init=PAY_INIT,
        asks=rates("sex", "mean_decision"),
        must_in_report=(Expect("found", "mean_decision", {"sex": "women"}, "below", effect="harmed"),),
        first=(r"The mean salary for women is [\d,]+, against [\d,]+ for men: 0\.[89]\d of theirs",),
    ),
    Scenario(
        name="answers: pay that is explained by the job",
        story="Men are managers more often, and managers of both sexes are paid alike.",
        world=paid(0.0, manager_gap=0.3),
        size=3000,
        seen=amounts("salary", "sex", "job"),
        roles=PAY,
        init=PAY_INIT,
        asks=rates("sex", "mean_decision"),
        must_in_report=(Expect("found", "mean_decision", {"sex": "women"}, "below", within=()),),
        rarely=(Expect("found", "mean_decision", {"sex": "women"}, within=("job",)),),
        first=("The mean salary for women", "Among people alike in job"),
    ),
    Scenario(
        name="answers: prices",
        story="Black customers pay 12% more: a high price is bad for a person.",
        world=priced,
        size=2500,
        seen=amounts("premium", "race"),
        roles=PRICE,
        init=("--decision", "premium", "--group", "race", "--favourable", "low"),
        asks=rates("race", "mean_decision"),
        must_in_report=(Expect("found", "mean_decision", {"race": "Black"}, "above", effect="harmed"),),
        never=(Expect("found", who={"race": "Black"}, effect="favoured"),),
        first=("The mean premium for Black people is",),
    ),
    Scenario(
        name="answers: codes with words",
        story="Sex is 1 and 2, and a refusal is 1; the file says what they mean.",
        world=selection({"1": 0.2, "2": 0.34}, {"1": 1, "2": 1}, "SEX"),
        size=2400,
        seen=coded,
        roles={"decision": "refused", "groups": ["SEX"], "favourable": 0},
        init=("--decision", "refused", "--group", "SEX", "--favourable", "0", "--preset", "general"),
        words='people = "applicants"\ngroups = { SEX = { 1 = "men", 2 = "women" } }\n',
        asks=rates("SEX"),
        must_in_report=(Expect("found", "selection_rate", {"SEX": "2"}, "above", effect="harmed"),),
        first=("of 100 women were refused, against .* of 100 men",),
    ),
    Scenario(
        name="answers: denials of mortgages",
        story="28 in 100 Black applicants are denied and 9 in 100 others.",
        world=selection({"yes": 0.28, "no": 0.09}, {"yes": 0.15, "no": 0.85}, "afam"),
        size=2400,
        seen=file_of("deny", yes=("yes", "no")),
        roles={"decision": "deny", "positive": {"decision": "yes"}, "groups": ["afam"], "favourable": "no"},
        init=("--decision", "deny", "--group", "afam", "--preset", "general"),
        words='people = "applicants"\ngroups = { afam = "Black" }\n',
        asks=rates("afam"),
        must_in_report=(Expect("found", "selection_rate", {"afam": "yes"}, "above", effect="harmed"),),
        first=("of 100 Black applicants were denied, against .* of 100 applicants who are not Black",),
    ),
    Scenario(
        name="answers: searches at the roadside",
        story="9 in 100 Black drivers are searched and 4 in 100 White ones; being searched is bad for a person.",
        world=selection({"black": 0.09, "white": 0.04}, {"black": 0.3, "white": 0.7}, "subject_race"),
        size=6000,
        seen=file_of("search_conducted"),
        roles={"decision": "search_conducted", "groups": ["subject_race"], "favourable": 0},
        init=(
            "--decision",
            "search_conducted",
            "--group",
            "subject_race",
            "--favourable",
            "0",
            "--preset",
            "general",
        ),
        words='people = "drivers"\n',
        asks=rates("subject_race"),
        must_in_report=(
            Expect("found", "selection_rate", {"subject_race": "black"}, "above", effect="harmed"),
        ),
        first=("of 100 black drivers were searched, against",),
    ),
    Scenario(
        name="answers: a tiny group beside large ones",
        story="Nine people prefer not to say; they are too few to judge, and nobody is sent to gather more.",
        world=selection(
            {"a": 0.5, "b": 0.5, "prefer not to say": 0.3},
            {"a": 1, "b": 1, "prefer not to say": 0.004},
            "ethnicity",
        ),
        size=2009,
        seen=exactly({"a": (500, 1000), "b": (498, 1000), "prefer not to say": (3, 9)}, "ethnicity"),
        roles={"decision": "hired", "groups": ["ethnicity"], "favourable": 1},
        init=("--decision", "hired", "--group", "ethnicity", "--favourable", "1", "--preset", "general"),
        more=CERTIFY.format("ethnicity"),
        asks=rates("ethnicity"),
        never=(Expect("found"),),
        screen=("Too few people to judge on their own: ethnicity: prefer not to say",),
    ),
    Scenario(
        name="answers: 48 people",
        story="24 women and 24 men of equal merit: rates and the power are told, and nothing is settled.",
        world=selection({"women": 0.5, "men": 0.5}, SEX, "sex"),
        size=48,
        seen=exactly({"women": (11, 24), "men": (13, 24)}),
        roles=HIRED,
        init=HIRED_INIT,
        more=CERTIFY.format("sex") + "minimum = 10\n",
        asks=rates("sex"),
        never=(Expect("found"), Expect("certified")),
        verdicts=("undetermined",),
        first=("46 of 100 women were hired, against 54 of 100 men. That may be chance",),
        screen=("80% probability",),
        short=True,
    ),
    Scenario(
        name="answers: everything fair",
        story="24,000 people of two races and sexes, all hired alike: within 5 points, and the power is told.",
        world=two_attributes(alike(0.4)),
        size=24_000,
        seen=file_of("hired"),
        roles=BOTH,
        init=BOTH_INIT,
        more='\n[certify]\nmetric = "selection_rate"\ntolerance = "5 in 100"\n',
        asks=(),
        must_in_report=(Expect("certified", "selection_rate"),),
        rarely=(Expect("found"),),
        screen=("80% probability",),
    ),
    Scenario(
        name="answers: everything unfair",
        story="Every group is hired at a rate of its own.",
        world=two_attributes(
            {("Black", "women"): 0.1, ("Black", "men"): 0.3, ("White", "women"): 0.5, ("White", "men"): 0.7}
        ),
        size=4000,
        seen=file_of("hired"),
        roles=BOTH,
        init=BOTH_INIT,
        more='\n[certify]\nmetric = "selection_rate"\ntolerance = "5 in 100"\n',
        asks=(),
        must_in_report=(
            WOMEN,
            Expect("found", "selection_rate", {"race": "Black"}, "below", effect="harmed"),
        ),
        never=(Expect("certified"),),
        verdicts=("violated",),
    ),
    Scenario(
        name="answers: one hidden subgroup",
        story="Black women alone are hired half as often as everybody else.",
        world=two_attributes(alike(0.5) | {("Black", "women"): 0.25}),
        size=4000,
        seen=file_of("hired"),
        roles=BOTH,
        init=BOTH_INIT,
        asks=(),
        must_in_report=(
            Expect("found", "selection_rate", {"race": "Black", "sex": "women"}, "below", effect="harmed"),
        ),
        first=("Black women were hired, against",),
    ),
]
