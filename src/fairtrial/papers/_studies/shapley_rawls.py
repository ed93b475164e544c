"""Amri-Jouidel, Kemel and Mussard, "Shapley meets Rawls" (arXiv:2603.26476): Figure 1 and Tables 1 to 6 on Adult.

XGBoost, AIF360 and fairlearn are used where they are installed (`make papers` installs them).
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import fairtrial
from fairtrial.papers._reproduction import Asked, Made
from fairtrial.papers._studies.parts.census import (
    FEATURES,
    MEMBERS,
    Census,
    FittedCensus,
    Recorded,
    census,
    ensemble,
)
from fairtrial.papers._studies.parts.keeping import how, kept, spent, template
from fairtrial.papers._studies.parts.two_stages import scheme
from fairtrial.papers.shapley_rawls import b_sequence, coefficients

PRINTED = json.loads((Path(__file__).parent / "printed" / "shapley_rawls.json").read_text(encoding="utf-8"))
WOMEN = {"sex": "Female"}
SAID = {
    "age": "age",
    "education_num": "years of education",
    "hours_per_week": "hours a week",
    "marital": "marital status",
}
TITLES = {"equal_surplus": "Equal Surplus", "shapley": "Shapley", "solidarity": "Solidarity",
          "consensus": "Consensus", "lsp": "LSP"}  # fmt: skip
BASE = 0.5
VALID = "here, valid"
Results = dict[str, Any]


def explained(people: Census, rule: Recorded) -> Results:
    """Both stages under each of the five values; the coalitions' decisions are made once."""
    audit = fairtrial.Audit(people.frame, outcome="income", positive=">50K", groups="sex", features=FEATURES)
    settings: dict[str, Any] = {
        "test": people.in_test, "target": WOMEN, "sensitive": "always", "features": FEATURES, "coalitions": rule,
    }  # fmt: skip
    return {name: fairtrial.explain(audit, "tpr", **(settings | {"allocation": name})) for name in MEMBERS}


def table(head: str, rows: list[str]) -> str:
    lines = [f"| {head} |", "|" + "---|" * (head.count("|") + 1)]
    return "\n".join([*lines, *(f"| {row} |" for row in rows)])


def span(numbers: list[float] | tuple[float, ...]) -> str:
    value, low, high = numbers
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def stars(p: float) -> str:
    return "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else ""


def contributions(result: Any, part: str, group: str | None = None) -> list[dict[str, Any]]:
    return [row for row in result.estimates if row["part"] == part and group in (None, row["group"])]


def numbers(row: dict[str, Any]) -> list[float]:
    return [row["value"], row["value_low"], row["value_high"]]


# -- Tables 1 and 5: the first stage ---------------------------------------------------------------------------------


def first_stage(systems: dict[str, Results], printed: dict[str, Any]) -> str:
    """Printed and valid, for Shapley (the same for Equal Surplus, Consensus and LSP) and for Solidarity."""
    rows = []
    for member, head in (("shapley", ""), ("solidarity", "solidarity_")):
        shown = "ES, Shapley, Consensus, LSP" if member == "shapley" else "Solidarity"
        told = span(printed["gap"]) if member == "shapley" else ""
        men, women = printed[f"{head}men"], printed[f"{head}women"]
        rows.append(f"{shown} | printed | {printed['v']:.3f} | {men:.3f} | {women:.3f} | {told}")
        for name, results in systems.items():
            men, women = (entry["values"][member] for entry in results[member].details["groups"])
            here = f"{men + women:.3f} | {men:.3f} | {women:.3f}"
            gap = span(numbers(results["shapley"].gap)) if member == "shapley" else ""
            rows.append(f"{shown} | {name} | {here} | {gap}")
    return table("value | | v(TPR) | men | women | men − women", rows)


# -- Tables 2, 3 and 6: the second stage -----------------------------------------------------------------------------


def table_2(results: Results) -> str:
    rows = []
    for member in MEMBERS:
        sides = [contributions(results[member], "contribution to the value", g) for g in ("Male", "Female")]
        for k, feature in enumerate(FEATURES):
            printed = PRINTED["table_2"][member][k]
            cells = []
            for side, mine in zip(("men", "women"), sides, strict=True):
                cells += [
                    f"{span(printed[side])}{printed[f'{side}_stars']}",
                    f"{span(numbers(mine[k]))}{stars(mine[k]['p_value'])}",
                ]
            rows.append(f"{TITLES[member]} | {SAID[feature]} | {' | '.join(cells)}")
    return table("value | feature | men, printed | men, ours | women, printed | women, ours", rows)


def table_3(results: Results, draws: Results, formula: Results) -> tuple[str, list[str], str]:
    """The table; the features of the other sign; how much wider printed intervals are than the paper's formula."""
    rows, turned, wider = [], [], []
    for member in MEMBERS:
        mine = contributions(results[member], "contribution to the gap")
        for k, feature in enumerate(FEATURES):
            printed, value = PRINTED["table_3"][member][k], mine[k]["value"]
            half = 1.959964 * formula[member][k]
            wider.append((printed["gap"][2] - printed["gap"][1]) / (2 * half))
            low, high = np.quantile(draws[member][:, k], [0.025, 0.975])
            rows.append(
                f"{TITLES[member]} | {SAID[feature]} | {span(printed['gap'])}{printed['stars']} | "
                f"[{printed['bootstrap'][1]:.3f}, {printed['bootstrap'][2]:.3f}] | "
                f"{span(numbers(mine[k]))}{stars(mine[k]['p_value'])} | [{value - half:.3f}, {value + half:.3f}] | "
                f"[{low:.3f}, {high:.3f}]"
            )
            if np.sign(value) != np.sign(printed["gap"][0]):
                turned.append(f"{SAID[feature]} under {TITLES[member]}")
    head = "value | feature | printed | printed bootstrap | ours | by Proposition B.2 | our bootstrap"
    return table(head, rows), turned, f"{min(wider):.1f} to {max(wider):.1f} times"


def table_6(results: Results) -> str:
    rows = []
    for member in MEMBERS:
        men, women = (
            contributions(results[member], "contribution to the value", g) for g in ("Male", "Female")
        )
        gaps = contributions(results[member], "contribution to the gap")
        for k, feature in enumerate(FEATURES):
            printed = PRINTED["table_6"][member][k]
            rows.append(
                f"{TITLES[member]} | {SAID[feature]} | {printed['men']:.3f} | {men[k]['value']:.3f} | "
                f"{printed['women']:.3f} | {women[k]['value']:.3f} | {span(printed['gap'])} | "
                f"{span(numbers(gaps[k]))}{stars(gaps[k]['p_value'])}"
            )
    return table(
        "value | feature | men, printed | men, ours | women, printed | women, ours | difference, printed | "
        "difference, ours",
        rows,
    )


def votes(result: Any) -> str:
    """The paper's majority vote, printed (by the stars of Table 3) and ours (unadjusted tests at 5%)."""
    ours = {vote["feature"]: vote for vote in result.details["votes"]}
    rows = []
    for k, feature in enumerate(FEATURES):
        printed = sum(bool(PRINTED["table_3"][member][k]["stars"]) for member in MEMBERS)
        rows.append(
            f"{SAID[feature]} | {printed} of 5 | {ours[feature]['rejecting']} of {ours[feature]['of']}"
        )
    return table("feature | printed: values that reject | ours", rows)


def positives(people: Census) -> list[np.ndarray]:
    income, male = people.income[people.in_test], people.male[people.in_test]
    return [np.flatnonzero((income == 1) & (male == side)) for side in (True, False)]


def gap_of(people: Census, decisions: np.ndarray) -> float:
    """Men minus women, in units of the baseline."""
    men, women = (decisions[rows].mean() for rows in positives(people))
    return float((men - women) / BASE)


def bootstrap(people: Census, decisions: np.ndarray, draws: int) -> Results:
    """Resample the test people within gender and outcome and decompose again."""
    tables = {name: coefficients(b_sequence(name, 4)) for name in MEMBERS}
    random = np.random.default_rng(1)
    rows = positives(people)
    found = {name: np.empty((draws, 4)) for name in MEMBERS}
    for b in range(draws):
        rates = [decisions[random.choice(part, part.size)].mean(axis=0) for part in rows]
        for name in MEMBERS:
            found[name][b] = b_sequence(name, 2)[1] / BASE * (tables[name] @ (rates[0] - rates[1]))
    return found


def double_sum(people: Census, decisions: np.ndarray) -> Results:
    """Proposition B.2 as it is printed: the standard errors by the double sum over pairs of coalitions."""
    covariance = np.zeros((16, 16))
    for rows in positives(people):
        seen = decisions[rows].astype(float)
        rate, both = seen.mean(axis=0), seen.T @ seen / rows.size
        covariance += (both - np.outer(rate, rate)) / rows.size
    found = {}
    for name in MEMBERS:
        lines = b_sequence(name, 2)[1] / BASE * coefficients(b_sequence(name, 4))
        found[name] = np.sqrt(np.einsum("ks,st,kt->k", lines, covariance, lines))
    return found


def readings(people: Census, model: Any) -> str:
    """The same features under three places for gender: the paper's headline depends on it."""
    audit = fairtrial.Audit(people.frame, outcome="income", positive=">50K", groups="sex", features=FEATURES)
    settings: dict[str, Any] = {"test": people.in_test, "target": WOMEN}
    always: dict[str, Any] = {
        "coalitions": FittedCensus(people, model).decided(),
        "sensitive": "always",
        "features": FEATURES,
    }
    rows = []
    ways: list[tuple[str, dict[str, Any]]] = [
        ("in every classifier (the paper)", always),
        ("in none", {"model": model, "sensitive": "absent"}),
        ("a player", {"model": model, "sensitive": "player"}),
    ]
    for label, asked in ways:
        result = fairtrial.explain(audit, "tpr", **asked, **settings)
        values = [f"{row['value']:+.3f}" for row in contributions(result, "contribution to the gap")]
        values += [""] * (len(FEATURES) + 1 - len(values))
        rows.append(f"{label} | {' | '.join(values)} | {result.gap['value']:+.3f}")
    return table(f"gender is | {' | '.join(SAID.values())} | gender | gap", rows)


def mitigations(people: Census, fitted: FittedCensus) -> dict[str, Results]:
    """AIF360's post-processing (rates from the test or the training rows) and fairlearn's, as far as installed."""
    makers = {
        "AIF360, fitted on the test rows": lambda: fitted.by_aif360(True),
        "AIF360, fitted on the training rows": lambda: fitted.by_aif360(False),
        "fairlearn, fitted on the training rows": fitted.by_fairlearn,
    }
    found: dict[str, Results] = {}
    for name, make in makers.items():
        try:
            found[name] = explained(people, make())
        except ImportError:
            print(f"left out, not installed: {name}")
    return found


@dataclass(frozen=True)
class Studied:
    """Everything the tables are made of."""

    full: bool
    people: Census
    classifiers: str
    before: Results
    decisions: np.ndarray
    after: dict[str, Results]
    draws: Results
    seconds: dict[str, float]


@cache
def studied(full: bool) -> Studied:
    """The classifiers fitted and every coalition explained, once."""
    warnings.filterwarnings("ignore", module="sklearn")
    people = census()
    model, classifiers = ensemble(people, full)
    fitted = FittedCensus(people, model)
    rule, started = fitted.decided(), time.process_time()
    before = explained(people, rule)
    fitting, started = time.process_time() - started, time.process_time()
    explained(people, rule)
    inference, started = time.process_time() - started, time.process_time()
    masks = [tuple(FEATURES[k] for k in range(4) if mask >> k & 1) for mask in range(16)]
    decisions = np.column_stack([rule(names) if names else np.zeros(people.in_test.sum()) for names in masks])
    draws = bootstrap(people, decisions, 1000 if full else 300)
    resampling = time.process_time() - started
    after = mitigations(people, fitted)
    times = {"fitting": fitting, "inference": inference, "resampling": resampling}
    return Studied(full, people, classifiers, before, decisions, after, draws, times)


def table_4(found: Studied) -> str:
    """Times, printed and here."""
    times = found.seconds
    return table(
        "| printed (56 cores) | ours (processor, one core)",
        [
            f"two stages, all five values | 8 minutes | {times['inference']:.2f} s; with the 15 fits "
            f"{times['fitting']:.0f} s",
            f"bootstrap, each value | 78 to 99 minutes | {times['resampling']:.1f} s for all five, "
            f"{len(found.draws['lsp']):,} draws",
        ],
    )


def after_text(found: Studied) -> str:
    shown = next(iter(found.after.values()), None)
    return table_6(shown) if shown else "Neither AIF360 nor fairlearn is installed."


def third(found: Studied) -> tuple[str, list[str], str]:
    return table_3(found.before, found.draws, double_sum(found.people, found.decisions))


ITEMS: dict[str, Callable[[Asked], Made]] = {
    "table 1": lambda asked: (first_stage({VALID: studied(asked.full).before}, PRINTED["table_1"]), None),
    "table 2": lambda asked: (table_2(studied(asked.full).before), None),
    "table 3": lambda asked: (third(studied(asked.full))[0], None),
    "table 4": lambda asked: (table_4(studied(asked.full)), None),
    "table 5": lambda asked: (first_stage(studied(asked.full).after, PRINTED["table_5"]), None),
    "table 6": lambda asked: (after_text(studied(asked.full)), None),
    "figure 1": lambda asked: ("", scheme(studied(asked.full).before["shapley"], FEATURES, SAID)),
}


def _parts(full: bool) -> tuple[dict[str, Any], str]:
    """Everything the page tells but its time, and Figure 1."""
    found, asked = studied(full), Asked(full)
    people, before, decisions = found.people, found.before, found.decisions
    shown = next(iter(found.after.values()), None)
    _, turned, wider = third(found)
    told = dict(
        classifiers=found.classifiers, people=len(people.frame), evaluated=int(people.in_test.sum()),
        men=positives(people)[0].size, women=positives(people)[1].size,
        **{name.replace(" ", "_"): make(asked)[0] for name, make in ITEMS.items()},
        turned=", ".join(turned) or "none", wider=wider, votes=votes(before["shapley"]),
        readings=readings(people, ensemble(people, False)[0]),
        whole=gap_of(people, decisions[:, 15]), without=gap_of(people, decisions[:, 7]),
        change=before["shapley"].compare(shown["shapley"]).verdict.text if shown else "",
    )  # fmt: skip
    return told, str(ITEMS["figure 1"](asked)[1])


def page(asked: Asked) -> tuple[str, dict[str, Any]]:
    """The page and its figure."""
    installed = [name for name in ("xgboost", "aif360", "fairlearn") if find_spec(name)]
    told, drawing = kept("shapley", {"full": asked.full, "with": installed}, lambda: _parts(asked.full))
    text = template("shapley_rawls").format(how=how(asked), time=spent(), **told)
    return text, {"shapley_meets_rawls_figure_1": drawing}
