"""Empirical Likelihood-based Fairness Auditing (ELFA): its tables and figures again, each beside the valid version.

Tables 1–3, Figures 1, E.1 and E.2 (Q-Q plots), 2 and 3 (power), E.3 (flagging), 4–6 (COMPAS).

    python examples/papers/elfa.py                 quick: fewer repeats, a minute or two
    python examples/papers/elfa.py --full          the paper's 2,000 repeats; goes on after a stop
    python examples/papers/elfa.py --out docs/papers
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from parts import elfa_certifying as certifying
from parts import elfa_compas
from parts import elfa_flagging as flagging
from parts.drawing import drawn
from parts.keeping import spent

PAGE = """# Empirical likelihood fairness auditing

The ELFA paper, table by table and figure by figure. Made by `examples/papers/elfa.py`{how}, {time}; what is
here of every definition, theorem and option is told [line by line](coverage/elfa.md). "Theirs" are numbers that the
paper prints, or the data that its authors published behind a figure.

With a **known** target the paper's theory holds, and its tables reproduce. With an **estimated** one it does not:
Theorem 2 plugs the estimate in and keeps the χ² limit, although the estimate's own error is as large as the
group's. See [certify](../certify.md) for the correction and its coverage.

## The paper's own functions

`fairtrial.papers.elfa` has the paper's certification and flagging with the paper's choices as defaults: an estimated
target is taken as known, statistics are compared with chi-square, what is not rejected is certified, and groups of any
size are flagged by the false discovery rate. It is there to reproduce the paper; for a decision use
[certify](../certify.md) and [flag](../flag.md).

```python
import fairtrial

audit = fairtrial.Audit(
    fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5, groups="race"
)
elfa = fairtrial.papers.elfa
result = elfa.certify(audit, "ppv", by=[{{"race": "African-American"}}], target={{"race": "Caucasian"}})
print(result.verdict.text)
flags = elfa.flag(audit, "ppv", target={{"race": "Caucasian"}}, tolerance=0.01, direction="above")
print([row["group"] for row in flags.estimates if row["flagged"]])
```

```text
by the paper's rule not certified: equality of positive predictive value is rejected
['African-American']
```

On the command line: `fairtrial papers elfa certify`, `fairtrial papers elfa flag`. The parts that researchers swap are
`elfa.paper_gaps`, `elfa.plug_in_test`, `elfa.region_test`, `elfa.vector_log_ratio`, `elfa.known_log_ratio` and
`elfa.bartlett_factor`. Options beside those of certify and flag: `likelihood`, `target_method`, `refinement`,
`rate_interval`, `rule` (`"equivalence"` judges by two one-sided tests) and `vector` (is it in the joint region?).

## Table 1: coverage of the joint region, known target

{repeats:,} repeats of EL and EEL as the paper defines them, {bootstraps:,} of the bootstrap with {draws} draws each.

{table_1}

EL and EEL reproduce. Of "EL beats the bootstrap" much is the rival's own making: the authors' code takes the
quantile of the *signed* maximum over groups and then asks for both sides of the interval; with the largest
deviation by size the same bootstrap covers as in the last column.

## Table 2: time

The paper's minutes are its machine's; the ratios are compared. Here EL of disjoint groups is a sum over groups; the
last column solves for the paper's vector of multipliers instead, which takes no longer: that ten groups take thirty
times as long as two in the paper is its solver's doing. The bootstrap here is compiled. {time_repeats} data sets each,
processor time.

{table_2}

## Figure 1: Q-Q plots, n = 2,000, m = 5

![Figure 1](elfa_figure_1.svg)

Figures E.1 (EL) and E.2 (EEL) show the same for m = 1, 5 and 10 and all sizes of Table 1:

![Figure E.1](elfa_figure_e1.svg)

![Figure E.2](elfa_figure_e2.svg)

## Figures 2 and 3: power of the four tests

Normal noise (Figure 2) and exponential noise (Figure 3), n = 20, 50 and 500 as in the authors' code:

![Figure 2](elfa_figure_2.svg)

![Figure 3](elfa_figure_3.svg)

Shares rejected of {curve_repeats:,} repeats, at the bound, where 5% are allowed, and at a true disparity of 0.3:

{sizes}

At n = 20 the χ² law is too short for either noise, also where the paper says "proper size control". Against
exponential noise Student's t errs to one side and EL less; that much of the claim holds. The paper's interval test
halves a χ² tail, which is right for a wide band only; a narrow band can be left on both sides, and the valid
p-value counts both. All columns use the paper's χ² calibration; certify and flag compare means with Student's t,
never more sharply than skewness, permutation and the bootstrap allow.

## Table 3: false flagging rate and power, two groups, n = 1,000

{table_3}

{flag_repeats:,} repeats. Which hypotheses are true is decided in the authors' code by 2τ times the *sample* mean of X
in the group. At τ = 0.1 the first group lies on the bound, so that its hypothesis counts as false in half of the
repeats: that explains the printed power of .4805. Judged by the true disparities it is the last column's.

![Figure E.3](elfa_figure_e3.svg)

## COMPAS: the headline

{headline}

Both of the paper's intervals are the plug-in's on a grid of 0.001. With the reference's 854 people taken into
account the 95% interval includes zero: **the paper's headline does not survive**.

## Figure 4: subgroups against all Caucasian defendants

![Figure 4](elfa_figure_4.svg)

The paper calls its intervals simultaneous; they are pointwise plug-in intervals.

{figure_4}

## Figures 5 and 6: flagging

The nodes of the paper's trees, by its plug-in p-values with a correction within each node, and the same groups as
one valid family (groups under 30 are listed and not tested):

{trees}

All intersections of race, sex and age as one family:

{figures}

The paper tests groups of two and three people, and its code returns p ≈ 0 when all members of such a group agree.
The tiles show the gap in points and the number of people; flagged groups are outlined.

![Figure 5](elfa_figure_5.svg)

![Figure 6](elfa_figure_6.svg)
"""

QUICK = {
    "repeats": 200,
    "bootstraps": 100,
    "curves": 100,
    "times": 3,
    "sizes": (2000,),
    "taus": (0.0, 0.05, 0.3),
}
FULL = {
    "repeats": 2000, "bootstraps": 1000, "curves": 2000, "times": 30, "sizes": (2000, 4000, 8000),
    "taus": flagging.TAUS,
}  # fmt: skip


def charts(covered: list[Any], curves: list[Any], flags: list[Any], audit: Any, valid: Any) -> dict[str, Any]:
    first = [row for row in covered if row["n"] == 2000]
    return {
        "1": certifying.quantile_chart(certifying.quantile_points(first, ("EL", "EEL"), (5,)), 2),
        "e1": certifying.quantile_chart(certifying.quantile_points(covered, ("EL",), (1, 5, 10)), 3),
        "e2": certifying.quantile_chart(certifying.quantile_points(covered, ("EEL",), (1, 5, 10)), 3),
        "2": flagging.power_chart(curves, "normal"),
        "3": flagging.power_chart(curves, "exponential"),
        "e3": flagging.flag_chart(flags),
        "4": elfa_compas.figure_4(elfa_compas.figure_4_rows(audit)),
        **{str(number): result.pictures()[1].chart for number, result in valid.items()},
    }


def asked(arguments: argparse.Namespace) -> str:
    """How the page was made."""
    share = "" if arguments.share == 1 else f" --share {arguments.share:g}"
    return f" --full{share}" if arguments.full else ", quick form"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="the paper's 2,000 repeats")
    parser.add_argument(
        "--out", type=Path, default=None, help="write elfa.md and its figures into this folder"
    )
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the full repeats; the page says how many"
    )
    arguments = parser.parse_args()
    use: dict[str, Any] = FULL if arguments.full else QUICK
    use = use | {name: round(use[name] * arguments.share) for name in ("repeats", "bootstraps", "curves")}
    audit = elfa_compas.compas()
    covered = certifying.coverages(use["repeats"], use["bootstraps"], use["sizes"])
    curves = flagging.power_curves(use["curves"], (20, 50, 500), use["taus"])
    flag_repeats = FULL["repeats"] if arguments.full else QUICK["repeats"]
    flags = flagging.flags(flag_repeats)
    valid = elfa_compas.flag_figures(audit)
    page = PAGE.format(
        how=asked(arguments), repeats=use["repeats"], bootstraps=use["bootstraps"],
        draws=certifying.BOOTSTRAP_DRAWS, table_1=certifying.table_1(covered), table_2=certifying.table_2(use["times"]),
        time_repeats=use["times"], curve_repeats=use["curves"], sizes=flagging.rejection_table(curves),
        table_3=flagging.table_3(flags), flag_repeats=flag_repeats, headline=elfa_compas.headline(audit),
        figure_4=elfa_compas.figure_4_table(elfa_compas.figure_4_rows(audit)), trees=elfa_compas.flagged_trees(audit),
        figures=elfa_compas.flag_table(audit, valid), time=spent(),
    )  # fmt: skip
    print(page)
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "elfa.md").write_text(page, encoding="utf-8")
        for name, chart in charts(covered, curves, flags, audit, valid).items():
            (arguments.out / f"elfa_figure_{name}.svg").write_text(drawn(chart), encoding="utf-8")


if __name__ == "__main__":
    main()
