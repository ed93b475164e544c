"""ELFA, section 6: COMPAS, Figures 4 to 6."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from parts.elfa_certifying import PRINTED

import fairtrial
from fairtrial._inference.multiplicity import benjamini_hochberg
from fairtrial._results.charts.theme import COLOURS, finish

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
    for method, words in (("plug-in", "plug-in, as the paper"), ("profile", "profile likelihood, valid")):
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


def flagged_trees(audit: fairtrial.Audit) -> str:
    """Figures 5 and 6: the authors' nodes by plug-in, each corrected by itself, beside one valid family."""
    lines = [
        "| figure | nodes of the tree | flagged by their formula, node by node | flagged validly, as one family |",
        "|---|---|---|---|",
    ]
    for name, tree in TREES.items():
        root = tree["root"]
        sexes = [root | {"sex": sex} for sex in ("Male", "Female")]
        values = AGES if tree["split"] == "age_cat" else list(audit.levels("race"))
        nodes = [[root], sexes, *([sex | {tree["split"]: value} for value in values] for sex in sexes)]
        options = {
            "target": tree["target"], "tolerance": 0.01, "direction": "above" if tree["above"] else "below",
        }  # fmt: skip
        theirs = [place for node in nodes for place in _by_node(audit, node, options)]
        family = [group for node in nodes for group in node]
        valid = fairtrial.flag(audit, "ppv", by=family, **options)
        ours = [f"{row['group']} (n {row['n']:,})" for row in valid.estimates if row["flagged"]]
        said = f"{', '.join(root.values())}; by sex; by sex and {tree['split']}"
        lines.append(f"| {name} | {said} | {'; '.join(theirs) or 'none'} | {'; '.join(ours) or 'none'} |")
    return "\n".join(lines)


def _by_node(audit: fairtrial.Audit, node: list[dict[str, str]], options: dict[str, Any]) -> list[str]:
    """One node of the authors' tree: plug-in p-values, corrected among themselves, whatever the groups' sizes."""
    found = fairtrial.papers.elfa.flag(audit, "ppv", by=node, **options).estimates
    rows = [row for row in found if isinstance(row["p_value"], float)]
    adjusted = benjamini_hochberg(np.array([row["p_value"] for row in rows])) if rows else []
    return [f"{row['group']} (n {row['n']:,})" for row, p in zip(rows, adjusted, strict=True) if p <= 0.05]


def flag_figures(audit: fairtrial.Audit) -> dict[int, fairtrial.Result]:
    """All intersections of race, sex and age as one family: above Caucasian, and below the average, by 0.01."""
    return {
        number: fairtrial.flag(
            audit,
            "ppv",
            by=["race", "sex", "age_cat"],
            depth=3,
            target=target,
            tolerance=0.01,
            direction=side,
        )
        for number, target, side in ((5, CAUCASIAN, "above"), (6, "overall", "below"))
    }


def flag_table(audit: fairtrial.Audit, valid: dict[int, fairtrial.Result]) -> str:
    said = {5: "African-American males under 25", 6: "females under 25, Caucasians over 45"}
    lines = [
        "| figure | target | paper says | plug-in here, all intersections, no minimum size | valid |",
        "|---|---|---|---|---|",
    ]
    for number, result in valid.items():
        target, side = (CAUCASIAN, "above") if number == 5 else ("overall", "below")
        old = fairtrial.papers.elfa.flag(
            audit,
            "ppv",
            by=["race", "sex", "age_cat"],
            depth=3,
            target=target,
            tolerance=0.01,
            direction=side,
        )
        words = "Caucasian, above by 0.01" if number == 5 else "everyone, below by 0.01"
        lines.append(f"| {number} | {words} | {said[number]} | {_flagged(old)} | {_flagged(result)} |")
    return "\n".join(lines)


def _flagged(result: fairtrial.Result) -> str:
    names = [f"{row['group']} (n {row['n']:,})" for row in result.estimates if row["flagged"]]
    return f"{len(names)}: " + "; ".join(names) if names else "none"
