"""ELFA, section 5.2: Figures 2 and 3, Table 3, Figure E.3."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
from scipy import special, stats

from fairtrial._inference.means.empirical_likelihood import CountedValues, el_log_ratio
from fairtrial._inference.multiplicity import benjamini_hochberg
from fairtrial._results.charts.theme import CATEGORIES, COLOURS, finish
from fairtrial.papers._studies.parts.elfa_certifying import PRINTED
from fairtrial.papers._studies.parts.keeping import each, kept

BOUND = 0.05
TESTS = {
    "equal": "H0: ε = 0.05",
    "at least": "H0: ε ≥ 0.05",
    "at most": "H0: ε ≤ 0.05",
    "inside": "H0: −0.05 ≤ ε ≤ 0.05",
}
TAUS = tuple(round(0.05 * step, 2) for step in range(-10, 11))


def one_sided(sample: CountedValues, bound: float, side: str) -> float:
    """Half the chi-square tail on the wrong side, 1 on the right one (Algorithms G.3 and G.4)."""
    distance = sample.mean - bound if side == "above" else bound - sample.mean
    if distance <= 0:
        return 1.0
    return float(special.ndtr(-np.sqrt(el_log_ratio(sample.centred + sample.mean - bound, sample.counts))))


def likelihood_tests(values: np.ndarray) -> dict[str, float]:
    """p-values of the four hypotheses (Algorithms G.2 to G.5), and of the last one validly."""
    sample = CountedValues.of(values)
    upper, lower = one_sided(sample, BOUND, "above"), one_sided(sample, -BOUND, "below")
    below = one_sided(sample, BOUND, "below")
    outside = min(upper, lower)
    error = np.sqrt(sample.variance / sample.size)
    root = -special.ndtri(outside) if outside < 1 else 0.0
    valid = 1.0 if outside == 1 else min(1.0, outside + float(special.ndtr(-root - 2 * BOUND / error)))
    return {
        "equal": min(1.0, 2.0 * min(upper, below)),
        "at least": below,
        "at most": upper,
        "inside": outside,
        "inside, valid": valid,
    }


def student_tests(values: np.ndarray) -> dict[str, float]:
    """The same four hypotheses by Student's t, as R's t.test."""
    n, mean = values.size, float(values.mean())
    error, df = float(values.std(ddof=1)) / np.sqrt(n), n - 1
    above = float(stats.t.sf((mean - BOUND) / error, df))
    lower = float(stats.t.cdf((mean + BOUND) / error, df))
    return {
        "equal": 2.0 * min(above, 1.0 - above),
        "at least": 1.0 - above,
        "at most": above,
        "inside": min(above, lower),
    }


def rejections(noise: str, n: int, tau: float, repeats: int) -> dict[str, Any]:
    """Shares rejected at 5% under model (5.3) with one group."""
    generator = np.random.default_rng([4, n, len(noise), round(100 * tau) + 100])
    likelihood, student = [], []
    for _ in range(repeats):
        nu = generator.standard_normal(n) if noise == "normal" else generator.exponential(size=n) - 1
        values = 2 * tau * generator.random(n) + nu
        likelihood.append(likelihood_tests(values))
        student.append(student_tests(values))

    def shares(found: list[dict[str, float]]) -> dict[str, float]:
        return {name: float(np.mean([one[name] <= 0.05 for one in found])) for name in found[0]}

    return {"noise": noise, "n": n, "tau": tau, "EL": shares(likelihood), "t": shares(student)}


def power_curves(repeats: int, sizes: tuple[int, ...], taus: tuple[float, ...]) -> list[dict[str, Any]]:
    def compute() -> list[dict[str, Any]]:
        designs = [(noise, n, tau) for noise in ("normal", "exponential") for n in sizes for tau in taus]
        return each(rejections, [(*design, repeats) for design in designs])

    settings = {"repeats": repeats, "sizes": list(sizes), "taus": list(taus)}
    return list(kept("elfa-figures-2-3", settings, compute))


def rejection_table(rows: list[dict[str, Any]], only: str = "") -> str:
    """At the bound, where 5% are allowed, and at 0.3: the authors' published shares beside ours."""
    here = {(row["noise"], row["n"], row["tau"]): row for row in rows}
    lines = [
        "| noise | n | test | EL at 0.05, theirs | here | t, theirs | here | valid here | EL at 0.3, theirs | here | "
        "t, theirs | here |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for noise, n, test, el, student, el_power, student_power in PRINTED["figures_2_and_3"]["rows"]:
        size, power = here.get((noise, n, BOUND)), here.get((noise, n, 0.3))
        if size is None or power is None or (only and noise != only):
            continue
        valid = f"{size['EL']['inside, valid']:.3f}" if test == "inside" else ""
        lines.append(
            f"| {noise} | {n} | {TESTS[test]} | {el:.3f} | {size['EL'][test]:.3f} | {student:.3f} | "
            f"{size['t'][test]:.3f} | {valid} | {el_power:.3f} | {power['EL'][test]:.3f} | {student_power:.3f} | "
            f"{power['t'][test]:.3f} |"
        )
    return "\n".join(lines)


def power_chart(rows: list[dict[str, Any]], noise: str) -> Any:
    """One panel per test and size, so that curves that lie on each other can be seen."""
    points = []
    for row in rows:
        if row["noise"] == noise:
            for kind, shares in (("EL, the paper's", row["EL"]), ("Student's t", row["t"])):
                points += [_point(row, test, kind, shares[test]) for test in TESTS]
            points.append(_point(row, "inside", "EL, valid", row["EL"]["inside, valid"]))
    kinds = ["EL, the paper's", "Student's t", "EL, valid"]
    colours = alt.Scale(domain=kinds, range=CATEGORIES[:3])
    dashes = alt.Scale(domain=kinds, range=[[1, 0], [5, 3], [2, 2]])
    lines = alt.Chart().mark_line(strokeWidth=2).encode(
        x=alt.X("tau:Q", title="true disparity"),
        y=alt.Y("rejected:Q", title="rejected", axis=alt.Axis(format=".0%"), scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("kind:N", scale=colours, title=None, legend=alt.Legend(orient="top")),
        strokeDash=alt.StrokeDash("kind:N", scale=dashes, title=None, legend=alt.Legend(orient="top")),
    )  # fmt: skip
    level = alt.Chart().mark_rule(strokeDash=[2, 3], color=COLOURS["neutral"]).encode(y=alt.datum(0.05))
    panels = alt.layer(level, lines, data=alt.Data(values=points)).properties(width=190, height=120)
    sizes = sorted({row["n"] for row in rows})
    order = [f"{words}, n = {n}" for words in TESTS.values() for n in sizes]
    return finish(panels.facet(alt.Facet("panel:N", title=None, sort=order), columns=3))


def _point(row: dict[str, Any], test: str, kind: str, share: float) -> dict[str, Any]:
    return {"panel": f"{TESTS[test]}, n = {row['n']}", "tau": row["tau"], "kind": kind, "rejected": share}


# -- Table 3, Figure E.3 ------------------------------------------------------------------------------------


def flagged_shares(tau: float, repeats: int) -> dict[str, float]:
    """Two halves of 1,000 people, BH at 5%.

    Which hypotheses are true is told by the truth, or, as in the authors' code, by 2τ times the group's own mean of X,
    which at τ = 0.1 makes the first group's hypothesis false half the time.
    """
    generator = np.random.default_rng([3, round(100 * tau) + 100])
    truth = np.array([0.5 * tau, 1.5 * tau]) <= BOUND + 1e-12
    found: list[list[float]] = []
    for _ in range(repeats):
        x = generator.random(1000)
        value = 2 * tau * x + generator.standard_normal(1000)
        halves = (x < 0.5, x >= 0.5)
        p = np.array([one_sided(CountedValues.of(value[half]), BOUND, "above") for half in halves])
        flagged = benjamini_hochberg(p) <= 0.05
        sample = np.array([2 * tau * x[half].mean() <= BOUND for half in halves])
        found.append([*_errors(flagged, truth), *_errors(flagged, sample), *flagged.astype(float)])
    names = ("FFR", "power", "FFR, theirs", "power, theirs", "first", "second")
    return {"tau": tau, **dict(zip(names, np.mean(found, axis=0).tolist(), strict=True))}


def _errors(flagged: np.ndarray, null: np.ndarray) -> tuple[float, float]:
    wrong = (flagged & null).sum() / max(flagged.sum(), 1)
    return float(wrong), float((flagged & ~null).sum() / max((~null).sum(), 1))


def flags(repeats: int) -> list[dict[str, float]]:
    taus = [row[0] for row in PRINTED["table_3"]["rows"]]
    tasks = [(tau, repeats) for tau in taus]
    return list(kept("elfa-table-3", {"repeats": repeats}, lambda: each(flagged_shares, tasks)))


def table_3(rows: list[dict[str, float]]) -> str:
    lines = [
        "| τ | true disparities | FFR printed | by their code | by the truth | power printed | by their code | "
        "by the truth |",
        "|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for (tau, ffr, power), row in zip(PRINTED["table_3"]["rows"], rows, strict=True):
        lines.append(
            f"| {tau:g} | {0.5 * tau:.3g}, {1.5 * tau:.3g} | {ffr:.4f} | {row['FFR, theirs']:.4f} | {row['FFR']:.4f} | "
            f"{power:.4f} | {row['power, theirs']:.4f} | {row['power']:.4f} |"
        )
    return "\n".join(lines)


def flag_chart(rows: list[dict[str, float]]) -> Any:
    """Figure E.3: (a) false flagging rate and power, (b) how often each group is flagged."""
    panels = {
        "(a) flagging": {"FFR": "false flagging rate", "power": "power"},
        "(b) each group": {"first": "group 1", "second": "group 2"},
    }
    charts = []
    for title, names in panels.items():
        points = [
            {"tau": row["tau"], "what": words, "share": row[name]}
            for row in rows
            for name, words in names.items()
        ]
        colours = alt.Scale(domain=list(names.values()), range=CATEGORIES[:2])
        base = alt.Chart(alt.Data(values=points), title=title).encode(
            x=alt.X("tau:Q", title="τ"),
            y=alt.Y("share:Q", title="share of repeats", axis=alt.Axis(format=".0%")),
            color=alt.Color("what:N", scale=colours, title=None, legend=alt.Legend(orient="top")),
        )
        lines = base.mark_line(strokeWidth=2) + base.mark_point(filled=True, size=45)
        level = alt.Chart().mark_rule(strokeDash=[2, 3], color=COLOURS["neutral"]).encode(y=alt.datum(0.05))
        charts.append((level + lines).properties(width=300, height=200))
    return finish(alt.hconcat(*charts).resolve_scale(color="independent", shape="independent"))
