"""Conditional bias scan, section 5: Table 4 and Figure 3 on COMPAS, and a lead on three of its rows."""

from __future__ import annotations

import itertools
import json
from functools import partial
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

import fairtrial
from fairtrial import METRICS
from fairtrial._inference.numeric import logistic
from fairtrial._results.charts.theme import CATEGORIES, finish
from fairtrial._scan.solver.scan_table import CountedRows, build_table, log_odds, observed_moments
from fairtrial.papers._studies.parts.keeping import each, kept
from fairtrial.papers.conditional_bias_scan import (
    Designs,
    Expectations,
    SearchedCells,
    find_subgroups,
    odds_weights,
    plan_search,
)

ATTRIBUTES = ["race", "sex", "age", "c_charge_degree", "priors_count"]
SCANS = {
    "separation, predictions": ("balance_negative", "above"),
    "separation, recommendations": ("fpr", "above"),
    "sufficiency, predictions": ("calibration", "below"),
    "sufficiency, recommendations": ("ppv", "below"),
}
VALUES = {
    "Under 25": ("age", "under 25"), "25+": ("age", "25 and over"), "No priors": ("priors_count", "under 1"),
    "1 to 5 priors": ("priors_count", "1–5"), "6+ priors": ("priors_count", "6 and over"),
    "Felony": ("c_charge_degree", "F"), "Misdemeanor": ("c_charge_degree", "M"), "Male": ("sex", "Male"),
    "Female": ("sex", "Female"), "Black": ("race", "African-American"), "White": ("race", "Caucasian"),
    "Asian": ("race", "Asian"), "Hispanic": ("race", "Hispanic"), "Native American": ("race", "Native American"),
}  # fmt: skip
# The article's Table 4 as printed: class, subgroup, people in it, score, comparison people, both observed rates.
TABLE_4: dict[str, list[list[Any]]] = json.loads(
    (Path(__file__).parents[1] / "printed" / "conditional_bias_scan.json").read_text(encoding="utf-8")
)["scans"]
CLOSE = 0.03
FIGURE_3 = ("Black", "White", "Under 25", "25+")


def subgroup_of(text: str) -> dict[str, list[str]]:
    """'Male No_priors 1_to_5_priors' as attribute → values."""
    words = {key.replace(" ", "_"): value for key, value in VALUES.items()}
    words["6+"] = words["6+_priors"]
    chosen: dict[str, list[str]] = {}
    for part in text.replace("6+ priors", "6+_priors").replace("Under 25", "Under_25").split():
        attribute, value = words[part]
        chosen.setdefault(attribute, []).append(value)
    return {name: sorted(values) for name, values in chosen.items()}


def compas() -> Any:
    """ProPublica's filters: 6,172 defendants."""
    data = fairtrial.load("compas", backend="pandas")
    kept_rows = data["days_b_screening_arrest"].between(-30, 30) & (data["is_recid"] != -1)
    return data[kept_rows & (data["c_charge_degree"] != "O") & (data["score_text"] != "N/A")]


def audit_of(data: Any) -> fairtrial.Audit:
    return fairtrial.Audit(
        data, outcome="two_year_recid", score="decile_score", threshold=5, groups=ATTRIBUTES,
        bins={"age": [25], "priors_count": [1, 6]},
    )  # fmt: skip


def article_scan(audit: fairtrial.Audit, scan: str, protected: str, **options: Any) -> Any:
    """One scan with the article's settings."""
    metric, direction = SCANS[scan]
    attribute, value = VALUES[protected]
    side: Any = {"above": "positive", "below": "negative"}[direction]
    return fairtrial.papers.conditional_bias_scan.scan(
        audit, metric, protected={attribute: value}, direction=side, search="exact", probability="outcome-rate",
        **options,
    )  # fmt: skip


def scanned(scan: str, protected: str, draws: int) -> dict[str, Any]:
    """The best subgroup with both p-values."""
    audit = audit_of(compas())
    found = {
        null: article_scan(audit, scan, protected, null=null, permutations=draws)
        for null in ("stratified", "global")
    }
    best = found["stratified"].estimates[0]
    return {
        "subgroup": found["stratified"].subgroup, "n": best["n"], "score": best["score"], "rate": best["rate"],
        "target_n": best["target_n"], "target_rate": best["target_rate"] if best["target_n"] else None,
        "stratified": float(found["stratified"].p_value or 1.0), "global": float(found["global"].p_value or 1.0),
    }  # fmt: skip


def table_4(draws: int) -> list[dict[str, Any]]:
    """Every printed row beside ours; Figure 3 asks for four classes that the table may leave out."""
    printed = {(scan, row[0]): row for scan, rows in TABLE_4.items() for row in rows}
    asked = [*printed, *((s, c) for s in SCANS for c in FIGURE_3 if (s, c) not in printed)]

    found: list[dict[str, Any]] = []
    for scan in SCANS:
        tasks = [(name, protected, draws) for name, protected in asked if name == scan]
        found += kept(f"cbs-table-4-{scan}", {"draws": draws}, partial(each, scanned, tasks))
    asked = [key for scan in SCANS for key in asked if key[0] == scan]
    return [
        {"scan": scan, "protected": protected, "theirs": printed.get((scan, protected)), **ours}
        for (scan, protected), ours in zip(asked, found, strict=True)
    ]


def same_subgroup(row: dict[str, Any]) -> bool:
    ours = {name: sorted(values) for name, values in row["subgroup"].items()}
    return bool(ours == subgroup_of(row["theirs"][1]))


def reproduced(row: dict[str, Any]) -> bool:
    return same_subgroup(row) and abs(row["score"] - row["theirs"][3]) <= CLOSE * row["theirs"][3]


SAID = {
    "F": "felony",
    "M": "misdemeanor",
    "under 1": "no priors",
    "1–5": "1–5 priors",
    "6 and over": "6 or more priors",
}


def said(values: list[str]) -> str:
    """Values by words that need no attribute's name."""
    return " or ".join(SAID.get(value, value) for value in values)


def words(subgroup: dict[str, list[str]]) -> str:
    return ", ".join(said(values) for values in subgroup.values()) or "everyone"


def short(subgroup: dict[str, list[str]]) -> str:
    """Words that fit into a chart: of long lists of values those that are left out."""
    parts = []
    for name, values in subgroup.items():
        left_out = sorted({value for attribute, value in VALUES.values() if attribute == name} - set(values))
        few = 0 < len(left_out) < len(values)
        parts.append(f"not {said(left_out)}" if few and len(values) > 2 else said(values))
    return ", ".join(parts) or "everyone"


def table_4_text(rows: list[dict[str, Any]]) -> str:
    head = (
        "| scan | protected class | article's subgroup (n, comparison n) | rates | score | ours (n, comparison n) | "
        "rates | score | reproduced | p, stratified | p, global |\n|---|---|---|---|---:|---|---|---:|---|---:|---:|\n"
    )
    lines = []
    for row in rows:
        if row["theirs"] is None:
            continue
        _, subgroup, n, score, target_n, rate, target_rate = row["theirs"]
        ours = f"{row['rate']:.2f}" + ("" if row["target_rate"] is None else f", {row['target_rate']:.2f}")
        found = f"{words(row['subgroup'])} ({row['n']:,}, {row['target_n']:,})"
        lines.append(
            f"| {row['scan']} | {row['protected']} | {words(subgroup_of(subgroup))} ({n:,}, {target_n:,}) | "
            f"{rate:.2f}, {target_rate:.2f} | {score:g} | {found} | "
            f"{ours} | {row['score']:.3g} | {'yes' if reproduced(row) else '**no**'} | {row['stratified']:.3f} | "
            f"{row['global']:.3f} |"
        )
    return head + "\n".join(lines)


def not_reproduced(rows: list[dict[str, Any]]) -> str:
    texts = []
    for row in rows:
        if row["theirs"] is not None and not reproduced(row):
            why = "another score" if same_subgroup(row) else "another subgroup scores higher here"
            printed = f"article {row['theirs'][3]:g}, here {row['score']:.3g}"
            texts.append(f"- {row['scan']}: {row['protected']} ({printed}; {why})")
    return "\n".join(texts)


def bars_text(rows: list[dict[str, Any]]) -> str:
    """How many of Figure 3's bars are as the article's, and the others with both subgroups."""
    bars = [row for row in rows if row["protected"] in FIGURE_3]
    other = [
        row
        for row in bars
        if (row["theirs"] is None) != (row["score"] <= 0) or (row["theirs"] and not same_subgroup(row))
    ]
    named = [
        f"- {row['protected']}, {row['scan']}: "
        + (f"{words(subgroup_of(row['theirs'][1]))}, {row['theirs'][3]:g}" if row["theirs"] else "none")
        + f" in the article, {words(row['subgroup'])}, {row['score']:.3g} here"
        for row in other
    ]
    head = (
        f"{len(bars) - len(other)} of the {len(bars)} bars have its subgroup, or like its none. The others:"
    )
    return "\n".join([head, "", *named])


def figure_3(rows: list[dict[str, Any]]) -> Any:
    """Scores of the best subgroups of four classes; a star where the valid p-value is below .05."""
    shown = [
        {
            "class": row["protected"], "scan": row["scan"], "score": row["score"],
            "text": short(row["subgroup"]) + (" ★" if row["stratified"] < 0.05 else "") if row["score"] > 0 else "",
        }
        for row in rows if row["protected"] in FIGURE_3
    ]  # fmt: skip
    base = alt.Chart().encode(
        y=alt.Y("scan:N", sort=list(SCANS), title=None, axis=alt.Axis(minExtent=195)),
        x=alt.X("score:Q", title="score of the best subgroup", scale=alt.Scale(domain=[0, 210])),
    )
    colours = alt.Scale(domain=list(SCANS), range=CATEGORIES[:4])
    bars = base.mark_bar(height=14).encode(color=alt.Color("scan:N", scale=colours, legend=None))
    text = base.mark_text(align="left", dx=5, fontSize=11, limit=330).encode(text="text:N")
    panels = alt.layer(bars, text, data=alt.Data(values=shown)).properties(width=560, height=alt.Step(22))
    return finish(panels.facet(alt.Facet("class:N", title=None, sort=list(FIGURE_3)), columns=1))


# -- a lead -------------------------------------------------------------------------------------------------

LEAD_ROWS = [
    ("separation, predictions", "Female"),
    ("separation, recommendations", "Female"),
    ("sufficiency, recommendations", "Female"),
]


def lead() -> list[dict[str, Any]]:
    """The three Female rows when the columns of priors are permuted at prediction only.

    Columns of categories that are laid out from a filtered part of the data, or in another order, do just that.
    """
    rows = audit_of(compas()).rows(
        attributes=ATTRIBUTES,
        metrics=[METRICS["base_rate"], METRICS["selection_rate"]],
        columns=["decile_score"],
    )
    places = {name: rows.attributes[name] for name in ATTRIBUTES}
    outcome, decision = rows.values["base_rate"], rows.values["selection_rate"]
    decile = rows.columns["decile_score"]
    probability = np.array([outcome[decile == value].mean() for value in decile])
    found = []
    for scan, protected in LEAD_ROWS:
        attribute, value = VALUES[protected]
        others = [name for name in ATTRIBUTES if name != attribute]
        sides = {"separation, predictions": (probability, outcome == 0)}
        sides["separation, recommendations"] = (decision, outcome == 0)
        sides["sufficiency, recommendations"] = (outcome, decision == 1)
        event, meets = sides[scan]
        inside = places[attribute].codes == list(places[attribute].labels).index(value)
        codes = np.stack([places[name].codes for name in others], axis=1).astype(np.int64)
        arity = np.array([len(places[name].labels) for name in others])
        counted = CountedRows(
            codes=codes,
            protected=inside,
            event=event,
            scanned=meets,
            condition=None,
            count=np.ones(len(event)),
        )
        for order in itertools.permutations(range(3)):
            best, people = _permuted(counted, arity, others.index("priors_count"), order, scan)
            named = {
                name: [places[name].labels[v] for v in range(arity[j]) if best.values[j, v]]
                for j, name in enumerate(others)
                if not best.values[j, : arity[j]].all()
            }
            found.append(
                {"scan": scan, "order": list(order), "subgroup": named, "n": people, "score": best.score}
            )
    return found


def _permuted(
    counted: CountedRows, arity: np.ndarray, place: int, order: tuple[int, ...], scan: str
) -> tuple[Any, int]:
    """The best subgroup when value v of one attribute is predicted as if it were order[v]."""
    gaussian = scan == "separation, predictions"
    table = build_table(counted, arity=arity, real_valued=gaussian)
    sums, how = observed_moments(table), Expectations()
    designs = Designs.of(table)
    weights = odds_weights(table, designs, how, sums)[0] * table.cell_scanned
    trials, successes = weights * sums.comparison[0], weights * sums.comparison_events[0]
    fitted = logistic.fit_logistic(designs.of_cells, trials, successes, how.ridge)
    codes = table.cell_codes.copy()
    codes[:, place] = np.array(order)[codes[:, place]]
    expected = logistic.predict_logistic(logistic.build_design(codes, table.arity, None), fitted)
    size = np.where(table.cell_scanned, sums.protected[0], 0.0)
    observed = np.where(table.cell_scanned, sums.protected_events[0], 0.0)
    if gaussian:
        assert sums.protected_log_odds is not None
        gaps = sums.protected_log_odds[0] - sums.protected[0] * log_odds(expected)
        observed = np.where(table.cell_scanned, gaps, 0.0)
    problem = SearchedCells(
        gaussian=gaussian, codes=table.searched_codes, arity=table.searched_arity, size=size, observed=observed,
        expected=expected, penalty=1.0,
    )  # fmt: skip
    plan = plan_search(table.searched_arity, len(size), "exact")
    best = find_subgroups(problem, (SCANS[scan][1],), plan)[0]  # type: ignore[arg-type]
    inside = np.ones(len(size), dtype=bool)
    for j in range(table.searched_codes.shape[1]):
        inside &= best.values[j, table.searched_codes[:, j]]
    return best, round(float(size[inside].sum()))


def lead_text(rows: list[dict[str, Any]]) -> str:
    labels = ("none", "1–5", "6+")
    printed = {(scan, row[0]): row for scan, found in TABLE_4.items() for row in found}
    lines = [
        "| scan | printed | priors none, 1–5, 6+ predicted as | best subgroup (n) | score |",
        "|---|---|---|---|---:|",
    ]
    for row in rows:
        _, subgroup, n, score, *_ = printed[row["scan"], "Female"]
        order = ", ".join(labels[v] for v in row["order"])
        lines.append(
            f"| {row['scan']} | {words(subgroup_of(subgroup))} ({n}), {score:g} | {order} | {words(row['subgroup'])} "
            f"({row['n']:,}) | {row['score']:.3g} |"
        )
    return "\n".join(lines)
