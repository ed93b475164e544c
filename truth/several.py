"""Several attributes, messy labels, ages, repeated people, weights, missing groups."""

from __future__ import annotations

import numpy as np

from truth.scenario import Ask, Expect, File, Scenario, file_of
from truth.world import Generator, People, World, by_label, happens, labels

SEX = {"women": 0.5, "men": 0.5}
RACE = {"Black": 0.4, "White": 0.6}


def only_together(generator: Generator, size: int) -> People:
    """Both margins are fair to within a point; Black women are approved 25 points less often than anyone else."""
    race, sex = labels(generator, size, {"Black": 0.5, "White": 0.5}), labels(generator, size, SEX)
    odd = (race == "Black") == (sex == "women")
    return People({"race": race, "sex": sex}, happens(generator, np.where(odd, 0.4, 0.6)))


def one_of_two(generator: Generator, size: int) -> People:
    """Two yes/no attributes, of which disability alone lowers the chance."""
    disabled = labels(generator, size, {"Yes": 0.2, "No": 0.8})
    veteran = labels(generator, size, {"Yes": 0.3, "No": 0.7})
    chance = by_label(disabled, {"Yes": 0.33, "No": 0.5})
    return People({"disabled": disabled, "veteran": veteran}, happens(generator, chance))


def nothing_matters(generator: Generator, size: int) -> People:
    columns = {
        name: labels(generator, size, dict.fromkeys(("a", "b", "c"), 1.0)) for name in ("x", "y", "z", "w")
    }
    return People(columns, happens(generator, np.full(size, 0.3)))


def men_above(generator: Generator, size: int) -> People:
    sex = labels(generator, size, SEX)
    return People({"sex": sex}, happens(generator, by_label(sex, {"women": 0.3, "men": 0.5})))


def messy(people: People, generator: Generator) -> File:
    """Labels with other cases and blanks, as forms filled in by hand have them."""
    sex = people.groups["sex"].astype("U10")
    changed = generator.random(people.size)
    sex = np.where(changed < 0.1, np.char.capitalize(sex), sex)
    sex = np.where(changed > 0.95, np.char.add(sex, " "), sex)
    return {"sex": sex, "hired": people.decision}


def unknown_groups(people: People, generator: Generator) -> File:
    """One in ten did not say."""
    sex = np.where(generator.random(people.size) < 0.1, "", people.groups["sex"])
    return {"sex": sex, "hired": people.decision}


def two_headers(people: People, generator: Generator) -> File:
    """Two columns nobody uses, whose names differ only in case."""
    note = generator.integers(0, 5, people.size)
    return {"sex": people.groups["sex"], "hired": people.decision, "Note": note, "note": note[::-1]}


def by_age(generator: Generator, size: int) -> People:
    """Under 25 fewer are approved; the file has the age in years."""
    age = generator.integers(18, 80, size)
    young = np.where(age < 25, "young", "other")
    chance = np.where(age < 25, 0.3, 0.5)
    return People({"youth": young}, happens(generator, chance), columns={"age": age})


def ten_rows_each(gap: float) -> World:
    """Each person has ten rows, nearly all alike: 1,500 rows are 150 people."""

    def world(generator: Generator, size: int) -> People:
        people = size // 10
        group = labels(generator, people, {"A": 0.4, "B": 0.6})
        own = np.clip(generator.beta(0.6, 0.6, people) + by_label(group, {"A": -gap}), 0.02, 0.98)
        person = np.repeat(np.arange(people), 10)
        columns = {"person": np.char.add("p", person.astype(str))}
        return People({"group": group[person]}, happens(generator, own[person]), columns=columns)

    return world


def oversampled(generator: Generator, size: int) -> People:
    """Events were sampled ten times as often; the weights say so, and the rates are equal."""
    many = 8 * size
    group = labels(generator, many, {"A": 0.3, "B": 0.7})
    decision = happens(generator, by_label(group, {"A": 0.05, "B": 0.05}))
    # In A, events are ten times as likely to be in the file; in B, twice.
    chance = np.where(decision == 1, by_label(group, {"A": 1.0, "B": 0.2}), 0.1)
    kept = np.flatnonzero(generator.random(many) < chance)[:size]
    weight = 0.1 / chance[kept]
    columns = {"weight": weight}
    return People({"group": group[kept]}, decision[kept], columns=columns, weight=weight)


def same_job(generator: Generator, size: int) -> People:
    """Each department hires at one rate for all; women apply where few are hired (Berkeley, 1973)."""
    department = labels(generator, size, {"easy": 0.5, "hard": 0.5})
    women = generator.random(size) < np.where(department == "hard", 0.7, 0.3)
    sex = np.where(women, "women", "men")
    chance = by_label(department, {"easy": 0.6, "hard": 0.25})
    return People({"sex": sex}, happens(generator, chance), columns={"department": department})


def ask(by: object, **more: object) -> Ask:
    return Ask("measure", {"metric": "selection_rate", "by": by, **more})


HIRED = {"decision": "hired", "groups": ["sex"], "favourable": 1}
INIT = ("--decision", "hired", "--group", "sex", "--favourable", "1")
WOMEN = Expect("found", "selection_rate", {"sex": "women"}, "below")
MEN = {"sex": "men"}

SCENARIOS = [
    Scenario(
        name="unfair only where race and sex meet",
        story="Each race and each sex has the same rate; two of the four intersections are 20 points lower.",
        world=only_together,
        size=3000,
        seen=file_of("approved"),
        roles={"decision": "approved", "groups": ["race", "sex"], "favourable": 1},
        init=("--decision", "approved", "--group", "race", "--group", "sex", "--favourable", "1"),
        asks=(
            Ask("flag", {"metric": "selection_rate", "depth": 2}),
            ask(["race", "sex"]),
        ),
        must=(
            Expect("found", "selection_rate", {"race": "Black", "sex": "women"}, "below", "flag"),
            Expect("found", "selection_rate", {"race": "White", "sex": "men"}, "below", "flag"),
        ),
        short=True,
    ),
    Scenario(
        name="two attributes with the labels Yes and No",
        story="Disabled people are approved less often; veterans are not treated differently.",
        world=one_of_two,
        size=3000,
        seen=file_of("approved"),
        roles={"decision": "approved", "groups": ["disabled", "veteran"], "favourable": 1},
        init=("--decision", "approved", "--group", "disabled", "--group", "veteran", "--favourable", "1"),
        asks=(ask(None), Ask("flag", {"metric": "selection_rate"})),
        must=(Expect("found", "selection_rate", {"disabled": "Yes"}, "below"),),
        must_in_report=(Expect("found", "selection_rate", {"disabled": "Yes"}, "below"),),
        from_readme=True,
        short=True,
    ),
    Scenario(
        name="four attributes, none of which matters",
        story="Twelve groups and 48 pairs of them, one rate for all.",
        world=nothing_matters,
        size=2500,
        seen=file_of("chosen"),
        roles={"decision": "chosen", "groups": ["x", "y", "z", "w"]},
        init=(
            "--decision",
            "chosen",
            "--group",
            "x",
            "--group",
            "y",
            "--group",
            "z",
            "--group",
            "w",
        ),
        asks=(ask(None), Ask("flag", {"metric": "selection_rate", "depth": 2})),
        from_readme=True,
    ),
    Scenario(
        name="labels written by hand",
        story="women, Women and 'women ' are the same people; the product says so and asks for one spelling.",
        world=men_above,
        size=2000,
        seen=messy,
        roles=HIRED,
        init=None,
        asks=(ask("sex", target=MEN),),
        must=(WOMEN,),
        groups={
            "Women": {"sex": "women"},
            "women ": {"sex": "women"},
            "Men": {"sex": "men"},
            "men ": {"sex": "men"},
        },
        warnings=True,
    ),
    Scenario(
        name="some did not say",
        story="One in ten left the question of sex open.",
        world=men_above,
        size=2000,
        seen=unknown_groups,
        roles=HIRED | {"missing": "drop"},
        init=INIT,
        asks=(ask("sex", target=MEN),),
        must=(WOMEN,),
        must_in_report=(WOMEN,),
        from_readme=True,
    ),
    Scenario(
        name="two headers that differ only in case",
        story="Neither of them is used.",
        world=men_above,
        size=2000,
        seen=two_headers,
        roles=HIRED,
        init=INIT,
        asks=(ask("sex", target=MEN),),
        must=(WOMEN,),
        must_in_report=(WOMEN,),
    ),
    Scenario(
        name="the young, by their age in years",
        story="One cut at 25; people below it are approved 20 points less often.",
        world=by_age,
        size=3000,
        seen=lambda people, generator: {"age": people.columns["age"], "approved": people.decision},
        roles={"decision": "approved", "groups": ["age"], "bins": {"age": [25]}, "favourable": 1},
        init=None,
        asks=(ask("age"),),
        must=(Expect("found", "selection_rate", {"youth": "young"}, "below"),),
        groups={"under 25": {"youth": "young"}, "25 and over": {"youth": "other"}},
        from_readme=True,
    ),
    Scenario(
        name="150 people with ten rows each, no gap",
        story="Rows of one person are nearly alike; named by unit, they count as one.",
        world=ten_rows_each(0.0),
        size=1500,
        seen=file_of("yes"),
        roles={"decision": "yes", "groups": ["group"], "unit": "person"},
        init=None,
        asks=(ask("group", target={"group": "B"}),),
        from_readme=True,
    ),
    Scenario(
        name="400 people with ten rows each, a large gap",
        story="The same with a gap of about 30 points.",
        world=ten_rows_each(0.35),
        size=4000,
        seen=file_of("yes"),
        roles={"decision": "yes", "groups": ["group"], "unit": "person"},
        init=None,
        asks=(ask("group", target={"group": "B"}),),
        must=(Expect("found", "selection_rate", {"group": "A"}, "below"),),
    ),
    Scenario(
        name="a sample with weights, no gap",
        story="Events were sampled more often in one group; with the weights there is no gap.",
        world=oversampled,
        size=3000,
        seen=file_of("stopped"),
        roles={"decision": "stopped", "groups": ["group"], "weight": "weight"},
        init=None,
        asks=(ask("group", target={"group": "B"}),),
    ),
    Scenario(
        name="women apply where few are hired",
        story="Within a department all are hired alike; over all there is a gap, and both are said.",
        world=same_job,
        size=4000,
        seen=file_of("hired"),
        roles=HIRED,
        init=None,
        asks=(ask("sex", target=MEN), Ask("flag", {"metric": "selection_rate", "by": "sex"})),
        must=(WOMEN,),
    ),
    Scenario(
        name="a group nobody expected to be favoured",
        story="Men are favoured: the harmed side is told, and no claim says that women are favoured.",
        world=men_above,
        size=1500,
        seen=file_of("hired", yes=(True, False)),
        roles=HIRED,
        init=INIT,
        asks=(ask("sex"), Ask("flag", {"metric": "selection_rate", "by": "sex", "direction": "harmed"})),
        must=(WOMEN, Expect("found", "selection_rate", {"sex": "women"}, "below", "flag")),
        must_in_report=(WOMEN,),
        never=(Expect("found", "selection_rate", {"sex": "men"}, method="flag"),),
    ),
]
