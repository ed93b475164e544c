"""Auditing Predictive Models for Intersectional Biases (Boxer, McFowland, Neill): its experiments again.

Table 4 and Figure 3 (COMPAS, every attribute value as the protected class, four scan types) side by side with ours,
and the recovery curves of Figures 1, 2 and 4 to 7 on semi-synthetic data, with GerryFair, Multiaccuracy Boost and a
plain bias scan beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairtrial.papers._reproduction import Asked, Made
from fairtrial.papers._studies.parts import cbs_compas, cbs_recovery
from fairtrial.papers._studies.parts.keeping import how, spent, template


def robust_text(found: dict[int, list[list[dict[str, Any]]]]) -> str:
    texts = []
    for number, panels in found.items():
        for rows in panels:
            panel = rows[0]["panel"] or "calibrated predictions"
            title = f"Figure {number}, {panel}: {cbs_recovery.WORDS[rows[0]['varied']]}"
            texts.append(f"{title}\n\n{cbs_recovery.recovery_text(rows)}")
    return "\n\n".join(texts)


def _draws(asked: Asked) -> int:
    return round(((999 if asked.full else 99) + 1) * asked.share) - 1


def _datasets(asked: Asked) -> int:
    return round((100 if asked.full else 6) * asked.share)


def _recovered(asked: Asked, number: int) -> list[list[dict[str, Any]]]:
    """Every panel of one figure."""
    return [
        cbs_recovery.recovery(experiment, _datasets(asked))
        for experiment in cbs_recovery.experiments(quick=not asked.full)
        if experiment.figure == number
    ]


def _panels(number: int) -> Callable[[Asked], Made]:
    def make(asked: Asked) -> Made:
        panels = _recovered(asked, number)
        columns = min(len(panels), 2 if number in (1, 4, 5) else 3)
        return robust_text({number: panels}), cbs_recovery.figure(
            panels, columns, {1: 560, 2: 330, 3: 230}[columns]
        )

    return make


def _figure_3(asked: Asked) -> Made:
    rows = cbs_compas.table_4(_draws(asked))
    return cbs_compas.bars_text(rows), cbs_compas.figure_3(rows)


ITEMS: dict[str, Callable[[Asked], Made]] = {
    "table 4": lambda asked: (cbs_compas.table_4_text(cbs_compas.table_4(_draws(asked))), None),
    "figure 1": _panels(1),
    "figure 2": _panels(2),
    "figure 3": _figure_3,
    **{f"figure {number}": _panels(number) for number in (4, 5, 6, 7)},
}


def page(asked: Asked) -> tuple[str, dict[str, Any]]:
    """The page and its figures."""
    rows = cbs_compas.table_4(_draws(asked))
    found = {number: _recovered(asked, number) for number in (1, 2, 4, 5, 6, 7)}
    printed = [row for row in rows if row["theirs"] is not None]
    text = template("conditional_bias_scan").format(
        settings=how(asked), close=cbs_compas.CLOSE, draws=_draws(asked),
        table=cbs_compas.table_4_text(rows), count=sum(map(cbs_compas.reproduced, printed)), total=len(printed),
        missing=cbs_compas.not_reproduced(rows), lead=cbs_compas.lead_text(cbs_compas.lead()),
        datasets=_datasets(asked), sep=cbs_recovery.recovery_text(found[1][0]),
        suf=cbs_recovery.recovery_text(found[1][1]), shift=cbs_recovery.recovery_text(found[2][0]),
        robust=robust_text({number: panels for number, panels in found.items() if number > 3}),
        bars=cbs_compas.bars_text(rows), time=spent(),
    )  # fmt: skip
    figures = {name: make(asked)[1] for name, make in ITEMS.items() if name.startswith("figure")}
    return text, {f"conditional_bias_scan_{name.replace(' ', '_')}": chart for name, chart in figures.items()}
