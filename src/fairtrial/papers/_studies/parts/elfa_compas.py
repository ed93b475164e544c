"""ELFA, section 6: COMPAS, Figures 4 to 6."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

import fairtrial
from fairtrial._inference.multiplicity import benjamini_hochberg
from fairtrial._results.charts.theme import COLOURS, finish
from fairtrial.papers._studies.parts.elfa_certifying import PRINTED
from fairtrial.papers._studies.parts.trees import Leaf, tree_drawing

AGES = ["Less than 25", "25 - 45", "Greater than 45"]
CAUCASIAN = {"race": "Caucasian"}
PANELS: dict[str, dict[str, Any]] = {
    "(a) African-American": {"race": "African-American"},
    "(b) everyone": {"sex": ["Female", "Male"]},
}
# As the authors' code has it: the groups of one node are corrected together, and with no others.
TREES: dict[str, dict[str, Any]] = {
    "5 (a)": {"root": {"race": "African-American"}, "split": "age_cat", "target": CAUCASIAN, "above": True},
    "5 (b)": {"root": {"age_cat": "Less than 25"}, "split": "race", "target": CAUCASIAN, "above": True},
    "6 (a)": {"root": {"race": "Caucasian"}, "split": "age_cat", "target": "overall", "above": False},
    "6 (b)": {"root": {"age_cat": "Less than 25"}, "split": "race", "target": "overall", "above": False},
}


def compas() -> fairtrial.Audit:
    """All 7,214 people; ages in their order."""
    data = fairtrial.load("compas", backend="pandas")
    data["age_cat"] = pd.Categorical(data["age_cat"], categories=AGES, ordered=True)
    return fairtrial.Audit(data, outcome="two_year_recid", score="decile_score", threshold=5)


def headline(audit: fairtrial.Audit) -> str:
    """African-American against Caucasian defendants, printed, as the paper's formula and valid."""
    lines = [
        "| interval of the PPV gap | 95% | 90% | p | verdict by the paper's rule |",
        "|---|---|---|---|---|",
        "| paper prints | .018 to .058 | .022 to .055 | | not certified |",
    ]
    methods: list[tuple[Any, str]] = [
        ("plug-in", "plug-in, as the paper"),
        ("profile", "profile likelihood, valid"),
    ]
    for method, words in methods:
        cells = []
        for level in (0.95, 0.9):
            result = fairtrial.papers.elfa.certify(
                audit, "ppv", by=[{"race": "African-American"}], target=CAUCASIAN, target_method=method,
                confidence_level=level,
            )  # fmt: skip
            row = result.estimates[0]
            cells.append(f"{row['difference_low']:.5f} to {row['difference_high']:.5f}")
            if level == 0.95:
                said = "not certified" if result.verdict.code == "paper-rejected" else "certified"
        lines.append(f"| {words} | {cells[0]} | {cells[1]} | {row['p_value']:.4f} | {said} |")
    return "\n".join(lines)


def _place(base: dict[str, Any], name: str) -> dict[str, Any]:
    """'Male, Less than 25' as attributes."""
    parts = [] if name == "All" else name.split(", ")
    return base | {"sex" if part in ("Female", "Male") else "age_cat": part for part in parts}


def figure_4_rows(audit: fairtrial.Audit) -> list[dict[str, Any]]:
    """Gaps to all Caucasian defendants: printed, the paper's plug-in, and valid alone and all at once."""
    rows = []
    for panel, base in PANELS.items():
        printed = PRINTED["figure_4"][panel]
        groups = [_place(base, name) for name, *_ in printed]
        found = {
            method: fairtrial.papers.elfa.certify(
                audit, "ppv", by=groups, target=CAUCASIAN, target_method=method, rule="equivalence"
            ).estimates
            for method in ("plug-in", "profile")
        }
        for line, old, new in zip(printed, found["plug-in"], found["profile"], strict=True):
            assert old["n"] == line[3]
            rows.append(
                {"panel": panel, "group": line[0], "printed": line[1:3], "plug-in": old, "valid": new}
            )
    return rows


def figure_4_table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| panel | group | n | printed | plug-in here | valid, alone | valid, all at once | zero |",
        "|---|---|---:|---|---|---|---|---|",
    ]
    for row in rows:
        old, new = row["plug-in"], row["valid"]
        ends = [
            tuple(row["printed"]),
            (old["difference_low"], old["difference_high"]),
            (new["difference_low"], new["difference_high"]),
            (new["together_low"], new["together_high"]),
        ]
        cells = " | ".join(f"{low:.3f} to {high:.3f}" for low, high in ends)
        outside = [low > 0 or high < 0 for low, high in ends[1:]]
        said = "excluded by plug-in alone" if outside[0] and not outside[1] else ""
        if outside[1]:
            said = "excluded" + ("" if outside[2] else ", not all at once")
        lines.append(f"| {row['panel']} | {row['group']} | {old['n']:,} | {cells} | {said} |")
    return "\n".join(lines)


AGE_WORDS = {"Less than 25": "under 25", "25 - 45": "of 25 to 45", "Greater than 45": "over 45"}


def called(group: str) -> str:
    """'race: Caucasian, sex: Male, age_cat: Less than 25' as 'Caucasian men under 25'."""
    values = dict(part.split(": ") for part in group.split(", "))
    who = {"Male": "men", "Female": "women"}.get(values.get("sex", ""), "people")
    race = values.get("race", "")
    named = f"{who} of another race" if race == "Other" else f"{race} {who}".strip()
    return f"{named} {AGE_WORDS.get(values.get('age_cat', ''), '')}".strip()


def _text_of(group: dict[str, str]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in group.items())


def _short(group: str) -> str:
    """As it fits beside a chart."""
    return group.replace("Less than", "under").replace("Greater than", "over").replace(" - ", "–")


def figure_4(rows: list[dict[str, Any]]) -> Any:
    kinds = {
        "paper: plug-in, pointwise": ("plug-in", "difference"),
        "valid, pointwise": ("valid", "difference"),
        "valid, all at once": ("valid", "together"),
    }
    points = [
        {"panel": row["panel"], "group": _short(row["group"]), "kind": kind, "gap": row[which]["difference"],
         "low": row[which][f"{ends}_low"], "high": row[which][f"{ends}_high"]}
        for row in rows
        for kind, (which, ends) in kinds.items()
    ]  # fmt: skip
    colours = alt.Scale(
        domain=list(kinds), range=[COLOURS["second"], COLOURS["accent"], COLOURS["certified"]]
    )
    order = list(dict.fromkeys(_short(row["group"]) for row in rows))
    base = alt.Chart().encode(
        y=alt.Y("group:N", sort=order, title=None),
        yOffset=alt.YOffset("kind:N", sort=list(kinds)),
        color=alt.Color("kind:N", scale=colours, title=None, legend=alt.Legend(orient="top")),
    )
    axis = alt.Axis(labelExpr="format(100 * datum.value, '+.0f')")
    intervals = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title="PPV less that of all Caucasian defendants, points", axis=axis), x2="high:Q"
    )
    dots = base.mark_point(filled=True, size=28, opacity=1).encode(x="gap:Q")
    zero = alt.Chart().mark_rule(strokeDash=[4, 3], color=COLOURS["neutral"]).encode(x=alt.datum(0))
    panels = alt.layer(zero, intervals, dots, data=alt.Data(values=points)).properties(
        width=300, height=alt.Step(9)
    )
    return finish(panels.facet(alt.Facet("panel:N", title=None), columns=2).resolve_scale(y="independent"))


def trees(audit: fairtrial.Audit, figure: str = "") -> dict[str, list[list[Leaf]]]:
    """Figures 5 and 6: the nodes of each tree, by the authors' formula and validly as one family."""
    return {name: _tree(audit, tree) for name, tree in TREES.items() if name.startswith(figure)}


def _tree(audit: fairtrial.Audit, tree: dict[str, Any]) -> list[list[Leaf]]:
    root = tree["root"]
    sexes = [root | {"sex": sex} for sex in ("Male", "Female")]
    values = AGES if tree["split"] == "age_cat" else list(audit.levels("race"))
    nodes = [[root], sexes, *([sex | {tree["split"]: value} for value in values] for sex in sexes)]
    side: Any = "above" if tree["above"] else "below"
    options: dict[str, Any] = {"target": tree["target"], "tolerance": 0.01, "direction": side}
    found = fairtrial.flag(audit, "ppv", by=[group for node in nodes for group in node], **options).estimates
    valid = {_values(row["group"]): bool(row["flagged"]) for row in found}
    return [_by_node(audit, node, options, valid) for node in nodes]


def _values(group: str) -> frozenset[str]:
    """'race: Caucasian, sex: Male' as its values, in whatever order."""
    return frozenset(part.rpartition(": ")[2] for part in group.split(", "))


def _by_node(
    audit: fairtrial.Audit,
    node: list[dict[str, str]],
    options: dict[str, Any],
    valid: dict[frozenset[str], bool],
) -> list[Leaf]:
    """One node of the authors' tree: plug-in p-values, corrected among themselves, whatever the groups' sizes."""
    rows = fairtrial.papers.elfa.flag(audit, "ppv", by=node, **options).estimates
    tested = [row for row in rows if isinstance(row["p_value"], float)]
    p_values = np.array([row["p_value"] for row in tested])
    adjusted = dict(
        zip((row["group"] for row in tested), benjamini_hochberg(p_values), strict=True) if tested else ()
    )
    found = {_values(row["group"]): row for row in rows}
    return [_leaf(group, found.get(frozenset(group.values())), adjusted, valid) for group in node]


def _leaf(
    group: dict[str, str],
    row: dict[str, Any] | None,
    adjusted: dict[str, float],
    valid: dict[frozenset[str], bool],
) -> Leaf:
    """A box of the tree; nobody may be in it."""
    label = list(group.values())[-1]
    if row is None:
        return Leaf(label=label, group=_text_of(group), n=0, gap=None, theirs=False, valid=False)
    gap = row["difference"] if isinstance(row["difference"], float) else None
    said = row["group"]
    return Leaf(
        label=label, group=_text_of(group), n=int(row["n"]), gap=gap, theirs=adjusted.get(said, 1.0) <= 0.05,
        valid=valid.get(_values(said), False),
    )  # fmt: skip


def flagged_trees(found: dict[str, list[list[Leaf]]]) -> str:
    """Which nodes are flagged: by the authors' formula, each node corrected by itself, and as one valid family."""
    lines = [
        "| figure | nodes of the tree | flagged by their formula, node by node | flagged validly, as one family |",
        "|---|---|---|---|",
    ]
    for name, nodes in found.items():
        leaves = [leaf for node in nodes for leaf in node]
        flagged = [
            "; ".join(f"{called(leaf.group)} ({leaf.n:,})" for leaf in leaves if getattr(leaf, which))
            or "none"
            for which in ("theirs", "valid")
        ]
        tree = TREES[name]
        said = f"{called(_text_of(tree['root']))}; by sex; by sex and {'age' if tree['split'] == 'age_cat' else 'race'}"
        lines.append(f"| {name} | {said} | {flagged[0]} | {flagged[1]} |")
    return "\n".join(lines)


def tree_chart(found: dict[str, list[list[Leaf]]]) -> str:
    """Figures 5 and 6 as the paper draws them: a tree of boxes, those flagged in colour."""
    return tree_drawing({f"({name[3]})": nodes for name, nodes in found.items()})


def flag_figures(audit: fairtrial.Audit) -> dict[int, fairtrial.Result]:
    """All intersections of race, sex and age as one family: above Caucasian, and below the average, by 0.01."""
    asked: dict[int, dict[str, Any]] = {
        5: {"target": CAUCASIAN, "direction": "above"},
        6: {"target": "overall", "direction": "below"},
    }
    by = ["race", "sex", "age_cat"]
    return {n: fairtrial.flag(audit, "ppv", by=by, depth=3, tolerance=0.01, **asked[n]) for n in asked}


def flag_table(audit: fairtrial.Audit, valid: dict[int, fairtrial.Result], number: int) -> str:
    """All intersections as one family: by the paper's formula, and validly."""
    said = {5: "African-American males under 25", 6: "females under 25, Caucasians over 45"}
    target, side = (CAUCASIAN, "above") if number == 5 else ("overall", "below")
    asked: dict[str, Any] = {"target": target, "tolerance": 0.01, "direction": side}
    old = fairtrial.papers.elfa.flag(audit, "ppv", by=["race", "sex", "age_cat"], depth=3, **asked)
    words = "Caucasian, above by 0.01" if number == 5 else "everyone, below by 0.01"
    lines = [
        "| figure | target | paper says | plug-in here, all intersections, no minimum size | valid |",
        "|---|---|---|---|---|",
        f"| {number} | {words} | {said[number]} | {_flagged(old)} | {_flagged(valid[number])} |",
    ]
    return "\n".join(lines)


def _flagged(result: fairtrial.Result) -> str:
    names = [f"{called(row['group'])} ({row['n']:,})" for row in result.estimates if row["flagged"]]
    return f"{len(names)}: " + "; ".join(names) if names else "none"
