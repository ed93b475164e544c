"""Empirical Likelihood-based Fairness Auditing (ELFA): its tables and figures again, each beside the valid version.

Tables 1–3, Figures 1, E.1 and E.2 (Q-Q plots), 2 and 3 (power), E.3 (flagging), 4–6 (COMPAS).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from fairtrial.papers._reproduction import Asked, Made
from fairtrial.papers._studies.parts import elfa_certifying as certifying
from fairtrial.papers._studies.parts import elfa_compas
from fairtrial.papers._studies.parts import elfa_flagging as flagging
from fairtrial.papers._studies.parts.keeping import how, spent, template

QUICK: dict[str, Any] = {
    "repeats": 200,
    "bootstraps": 100,
    "curves": 100,
    "times": 3,
    "sizes": (2000,),
    "taus": (0.0, 0.05, 0.3),
}
FULL: dict[str, Any] = {
    "repeats": 2000, "bootstraps": 1000, "curves": 2000, "times": 30, "sizes": (2000, 4000, 8000),
    "taus": flagging.TAUS,
}  # fmt: skip


def _use(asked: Asked) -> dict[str, Any]:
    """Numbers of repeats."""
    use: dict[str, Any] = FULL if asked.full else QUICK
    return use | {name: round(use[name] * asked.share) for name in ("repeats", "bootstraps", "curves")}


def _covered(asked: Asked) -> list[dict[str, Any]]:
    use = _use(asked)
    return certifying.coverages(use["repeats"], use["bootstraps"], use["sizes"])


def _curves(asked: Asked) -> list[dict[str, Any]]:
    use = _use(asked)
    return flagging.power_curves(use["curves"], (20, 50, 500), use["taus"])


def _flags(asked: Asked) -> list[dict[str, float]]:
    return flagging.flags((FULL if asked.full else QUICK)["repeats"])


@cache
def _compas() -> tuple[Any, dict[int, Any]]:
    """The audit and its valid flags."""
    audit = elfa_compas.compas()
    return audit, elfa_compas.flag_figures(audit)


def _quantiles(asked: Asked, names: tuple[str, ...], groups: tuple[int, ...], columns: int) -> Made:
    rows = [row for row in _covered(asked) if len(names) == 1 or row["n"] == 2000]
    return "", certifying.quantile_chart(certifying.quantile_points(rows, names, groups), columns)


def _power(asked: Asked, noise: str) -> Made:
    rows = _curves(asked)
    return flagging.rejection_table(rows, noise), flagging.power_chart(rows, noise)


def _figure_4(asked: Asked) -> Made:
    rows = elfa_compas.figure_4_rows(_compas()[0])
    return elfa_compas.figure_4_table(rows), elfa_compas.figure_4(rows)


def _tree(asked: Asked, number: int) -> Made:
    audit, valid = _compas()
    trees = elfa_compas.trees(audit, str(number))
    text = f"{elfa_compas.flagged_trees(trees)}\n\n{elfa_compas.flag_table(audit, valid, number)}"
    return text, elfa_compas.tree_chart(trees)


ITEMS: dict[str, Callable[[Asked], Made]] = {
    "table 1": lambda asked: (certifying.table_1(_covered(asked)), None),
    "table 2": lambda asked: (certifying.table_2(_use(asked)["times"]), None),
    "table 3": lambda asked: (flagging.table_3(_flags(asked)), None),
    "figure 1": lambda asked: _quantiles(asked, ("EL", "EEL"), (5,), 2),
    "figure 2": lambda asked: _power(asked, "normal"),
    "figure 3": lambda asked: _power(asked, "exponential"),
    "figure 4": _figure_4,
    "figure 5": lambda asked: _tree(asked, 5),
    "figure 6": lambda asked: _tree(asked, 6),
    "figure e1": lambda asked: _quantiles(asked, ("EL",), (1, 5, 10), 3),
    "figure e2": lambda asked: _quantiles(asked, ("EEL",), (1, 5, 10), 3),
    "figure e3": lambda asked: ("", flagging.flag_chart(_flags(asked))),
}


def page(asked: Asked) -> tuple[str, dict[str, Any]]:
    """The page and its figures."""
    use, (audit, valid) = _use(asked), _compas()
    figures = {
        f"elfa_figure_{name.split()[1]}": make(asked)[1] for name, make in ITEMS.items() if "fig" in name
    }
    families = [elfa_compas.flag_table(audit, valid, number) for number in (5, 6)]
    tiles = {f"elfa_tiles_{number}": found.pictures()[1].chart for number, found in valid.items()}
    text = template("elfa").format(
        how=how(asked), repeats=use["repeats"], bootstraps=use["bootstraps"],
        draws=certifying.BOOTSTRAP_DRAWS, table_1=ITEMS["table 1"](asked)[0], table_2=ITEMS["table 2"](asked)[0],
        time_repeats=use["times"], curve_repeats=use["curves"], sizes=flagging.rejection_table(_curves(asked)),
        table_3=ITEMS["table 3"](asked)[0], flag_repeats=(FULL if asked.full else QUICK)["repeats"],
        headline=elfa_compas.headline(audit), figure_4=_figure_4(asked)[0],
        trees=elfa_compas.flagged_trees(elfa_compas.trees(audit)),
        figures=f"{families[0]}\n{families[1].splitlines()[2]}",
        time=spent(),
    )  # fmt: skip
    return text, figures | tiles
