"""Run a scenario as its user would, and compare what was claimed with the truth."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

import fairtrial
from inside.cli import program
from inside.results import Claim
from inside.trial import contradictions, first_screen
from truth.first_sentence import NOT_READ, faults
from truth.scenario import Ask, Expect, File, Scenario
from truth.world import POPULATION, Generator, People, true_gap, true_rate

# A gap of the population that is drawn, not computed, is known to a few standard errors of so many people.
STANDARD_ERRORS = 5.0


@dataclass(frozen=True, slots=True)
class Said:
    """A claim, or a refusal, with where it was made."""

    path: str  # "api" or "report"
    kind: str  # "found", "certified", "undetermined", "refused"
    method: str
    metric: str
    who: Mapping[str, str] | None = None
    side: str | None = None
    claim: Claim | None = None
    effect: str = ""

    def __str__(self) -> str:
        who = "" if self.who is None else ", ".join(f"{name}: {label}" for name, label in self.who.items())
        return f"{self.path}: {self.method} {self.kind} {self.metric} {who} {self.side or ''}".strip()


@dataclass(slots=True)
class Outcome:
    """What one repeat of a scenario said, and which of it was false, missing or forbidden."""

    said: list[Said] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not (self.false or self.missing or self.forbidden)


def seed_of(scenario: Scenario, repeat: int) -> Generator:
    """Seeds derive from the scenario's name and are never chosen."""
    digest = hashlib.sha256(scenario.name.encode()).digest()
    return np.random.default_rng([int.from_bytes(digest[:8], "big"), repeat])


def play(scenario: Scenario, repeat: int, *, report: bool = True) -> Outcome:
    """One repeat: the file is made, audited through the API and through `init --yes` and `run`."""
    generator = seed_of(scenario, repeat)
    file = scenario.seen(scenario.world(generator, scenario.size), generator)
    outcome = Outcome()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fairtrial.FairtrialWarning)
        outcome.said += _by_the_api(scenario, file)
        if report:
            trial = _report(scenario, file)
            outcome.said += _said("report", scenario, trial.claims())
            outcome.forbidden += _odd_answers(scenario, trial.to_dict(), file)
    for said in outcome.said:
        if said.claim is not None and (fault := falsehood(scenario, said)):
            outcome.false.append(f"{said}: {fault}")
        outcome.false += [f"{said}: it is not so" for expect in scenario.rarely if _meets(said, expect)]
        outcome.forbidden += [str(said) for expect in scenario.never if _meets(said, expect)]
    paths = [("api", scenario.must), *([("report", scenario.must_in_report)] if report else [])]
    for path, wanted in paths:
        there = [said for said in outcome.said if said.path == path]
        outcome.missing += [
            f"{path}: {expect}" for expect in wanted if not any(_meets(said, expect) for said in there)
        ]
    return outcome


def _by_the_api(scenario: Scenario, file: File) -> Iterable[Said]:
    audit = fairtrial.Audit(_plain(file), **scenario.roles)
    for ask in scenario.asks:
        metrics = _metrics(ask)
        needed = {} if ask.needs is None else ask.needs(file)
        try:
            result = getattr(fairtrial, ask.method)(audit, **{**ask.arguments, **needed})
        except fairtrial.InputError:
            yield from (Said("api", "refused", ask.method, metric) for metric in metrics)
            continue
        if result.claims():
            yield from _said("api", scenario, result.claims())
        else:  # a method whose answer is its verdict
            kind = "found" if result.tone == "bad" else result.verdict.code
            yield from (Said("api", kind, ask.method, metric) for metric in metrics)


def _report(scenario: Scenario, file: File) -> Any:
    """`fairtrial init people.csv --yes …` in an empty folder, then the audit.toml it wrote."""
    words = _init_words(scenario.roles) if scenario.init is None else scenario.init
    with tempfile.TemporaryDirectory() as folder:
        people, spec = Path(folder) / "people.csv", Path(folder) / "audit.toml"
        _write(people, file)
        done = CliRunner().invoke(program, ["init", str(people), "--yes", "--out", str(spec), *words])
        if done.exit_code != 0:
            raise RuntimeError(f"{scenario.name}: init failed: {done.output} {done.exception}")
        _edit(spec, scenario.roles)
        text = spec.read_text(encoding="utf-8").replace("[words]", f"[words]\n{scenario.words}#", 1)
        spec.write_text(text + scenario.more, encoding="utf-8")
        return fairtrial.run(spec)


def _odd_answers(scenario: Scenario, content: Mapping[str, Any], file: File) -> Iterable[str]:
    """What the report says first that is not so in the file, is not what it must say, or contradicts itself."""
    shown = first_screen(content)
    first = "".join(piece["text"] for piece in shown["headline"])
    told = " ".join([first, *("".join(piece["text"] for piece in text) for _, text in shown["answers"])])
    for text in contradictions(content):
        yield f"report: contradicts itself: {text}"
    for text in faults(content, file):
        if scenario.first or not text.startswith(NOT_READ):
            yield f"report: first sentence: {text}"
    for said, patterns in ((first, scenario.first), (told, scenario.screen)):
        for pattern in patterns:
            if re.search(pattern, said) is None:
                yield f"report: {pattern!r} is not in {said!r}"
    if scenario.verdicts and content["verdict"]["code"] not in scenario.verdicts:
        yield f"report: the verdict is {content['verdict']['code']}"


def _init_words(roles: Mapping[str, Any]) -> list[str]:
    """What a user who knows the roles adds to `init --yes`."""
    words: list[str] = []
    for name in ("decision", "outcome", "score", "threshold", "favourable"):
        if roles.get(name) is not None:
            words += [f"--{name}", str(roles[name])]
    for group in roles["groups"]:
        words += ["--group", group]
    return words


def _edit(spec: Path, roles: Mapping[str, Any]) -> None:
    """What init cannot know and its user writes into the file: repeated people, weights, cuts, features, an order."""
    lines = {
        name: json.dumps(roles[name]) for name in ("unit", "weight", "features", "order") if name in roles
    }
    if "bins" in roles:
        cuts = ", ".join(f"{name} = {json.dumps(edges)}" for name, edges in roles["bins"].items())
        lines["bins"] = f"{{ {cuts} }}"
    if "unlabelled" in roles:
        said = roles["unlabelled"]
        lines["unlabelled"] = json.dumps(said) if isinstance(said, str) else f"{{ odds = {said['odds']} }}"
    text = spec.read_text(encoding="utf-8")
    if isinstance(roles["groups"], Mapping):
        text = _with_probabilities(text, roles["groups"])
    if "order" in roles:  # in the place of the label that counts as 1, and of whether 1 is good
        replaced = ("positive =", "favourable =")
        text = "\n".join(line for line in text.splitlines() if not line.startswith(replaced)) + "\n"
    for name, value in lines.items():
        kept = [line for line in text.splitlines() if not line.startswith(f"{name} =")]
        text = "\n".join(kept).replace("[data]", f"[data]\n{name} = {value}", 1) + "\n"
    spec.write_text(text, encoding="utf-8")


def _with_probabilities(text: str, groups: Mapping[str, Any]) -> str:
    """Columns of probabilities in place of the columns that init took for groups, and a question that takes them."""
    kept = ("source", "decision", "positive", "favourable")
    lines = [line for line in text.splitlines() if line.partition(" =")[0] in kept]
    tables = [
        line
        for name, columns in groups.items()
        for line in (f"[data.groups.{name}]", *(f'{label} = "{column}"' for label, column in columns.items()))
    ]
    return "\n".join(["[data]", *lines, *tables, "[measure]", 'metric = ["selection_rate"]']) + "\n"


def _said(path: str, scenario: Scenario, claims: Iterable[Claim]) -> Iterable[Said]:
    for claim in claims:
        who = {} if claim.method == "scan" else _people_meant(scenario, claim.who)
        yield Said(path, claim.verdict, claim.method, claim.metric, who, claim.direction, claim, claim.effect)


def _people_meant(scenario: Scenario, words: str) -> Mapping[str, str]:
    """'race: Black, sex: women' as labels of the world."""
    found: dict[str, str] = {}
    for part in words.split(", "):
        attribute, _, label = part.partition(": ")
        found |= scenario.groups.get(label, {attribute: label})
    if not all(name in _population(scenario.name).groups for name in found):
        raise LookupError(f"{scenario.name}: who is meant by {words!r}?")
    return found


def _target_meant(scenario: Scenario, words: str) -> object:
    if words in ("everyone else", "overall"):
        return {"everyone else": "rest", "overall": "overall"}[words]
    try:
        return float(words)
    except ValueError:
        return _people_meant(scenario, words)


@cache
def _population(scenario_name: str) -> People:
    from truth.scenarios import SCENARIOS

    scenario = next(one for one in SCENARIOS if one.name == scenario_name)
    return scenario.world(np.random.default_rng(12345), POPULATION)


def falsehood(scenario: Scenario, said: Said) -> str:
    """Why a claim is false; nothing where it is true, or claims nothing."""
    claim = said.claim
    if claim is None or said.kind == "undetermined" or said.who is None:
        return ""
    people = _population(scenario.name)
    rate, target, members = _true_rates(scenario, people, claim)
    ratio = claim.scale == "ratio"
    gap = rate / target if ratio else rate - target
    none = 1.0 if ratio else 0.0
    low, high = claim.tolerance or (none, none)
    slack = _slack(members, rate) * (1.0 / target if ratio else 1.0)
    if said.kind == "certified":
        inside = low - slack <= gap <= high + slack
        return "" if inside else f"the true {claim.scale} is {gap:.3f}"
    outside = gap > high + slack if claim.direction == "above" else gap < low - slack
    if claim.direction == "differs":
        outside = gap > high + slack or gap < low - slack
    return "" if outside else f"the true {claim.scale} is {gap:.3f}"


def _true_rates(scenario: Scenario, people: People, claim: Claim) -> tuple[float, float, int]:
    """The rates that a claim compares, and how many of the population the first is of."""
    if claim.method == "scan":  # the class in a subgroup, against the same subgroup outside the class
        inside = people.in_words(claim.who)
        subgroup = "; ".join(claim.who.split("; ")[1:])
        others = people.in_words("; ".join(part for part in (claim.against, subgroup) if part))
        rate, expected = (true_rate(people, claim.metric, side) for side in (inside, others))
        return rate, expected, int(inside.sum())
    who = _people_meant(scenario, claim.who)
    if claim.within:
        return *_alike_rates(people, claim, who, _target_meant(scenario, claim.against)), int(
            people.members(who).sum()
        )
    rate, target = true_gap(people, claim.metric, who, _target_meant(scenario, claim.against))
    return rate, target, int(people.members(who).sum())


def _alike_rates(
    people: People, claim: Claim, who: Mapping[str, str], against: object
) -> tuple[float, float]:
    """The rates among people alike, each stratum counting as its people of both sides do together (Mantel–Haenszel)."""
    inside = people.members(who)
    others = people.members(against) if isinstance(against, Mapping) else ~inside
    strata = np.array(
        [
            "\n".join(map(str, row))
            for row in zip(*(people.groups[name] for name in claim.within), strict=True)
        ]
    )
    sums = np.zeros(3)
    for stratum in np.unique(strata):
        here = strata == stratum
        n, m = int((inside & here).sum()), int((others & here).sum())
        if n and m:
            weight = n * m / (n + m)
            rates = (true_rate(people, claim.metric, side & here) for side in (inside, others))
            sums += weight * np.array([*rates, 1.0])
    return float(sums[0] / sums[2]), float(sums[1] / sums[2])


def _slack(members: int, rate: float) -> float:
    spread = np.sqrt(max(rate * (1 - rate), 0.01)) if 0 <= rate <= 1 else 3.0 * abs(rate)
    return float(STANDARD_ERRORS * spread / np.sqrt(max(members, 1)))


def _meets(said: Said, expect: Expect) -> bool:
    if expect.within is not None and (said.claim is None or said.claim.within != expect.within):
        return False
    for name in ("kind", "metric", "method", "side", "effect"):
        wanted = getattr(expect, name)
        if wanted is not None and getattr(said, name) != wanted:
            return False
    return expect.who is None or said.who == expect.who


def _metrics(ask: Ask) -> list[str]:
    named: Any = ask.arguments.get("metric", "")
    return [named] if isinstance(named, str) else list(named)


def _plain(file: File) -> Any:
    """As most users have it."""
    import pandas as pd

    return pd.DataFrame({name: np.asarray(values) for name, values in file.items()})


def _write(path: Path, file: File) -> None:
    """A CSV in which what is not known is empty, and 1.0 is written as 1."""
    columns = [np.asarray(values).tolist() for values in file.values()]
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(file)
        writer.writerows([_cell(value) for value in row] for row in zip(*columns, strict=True))


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return "" if np.isnan(value) else int(value) if value.is_integer() else value
    return value
