"""Tables and figures of the paper, computed again."""

from __future__ import annotations

from pathlib import Path

from fairtrial.papers._reproduction import Reproduction, reproduced


def reproduce(
    table: str | int | None = None,
    *,
    figure: str | int | None = None,
    full: bool = False,
    data: str | Path | None = None,
) -> Reproduction:
    """Compute one table or figure of the paper again: printed, by its formula and valid side by side.

    Parameters
    ----------
    table : str or int or None, default None
        A table's number; 1 to 4.
    figure : str or int or None, default None
        A figure's number; 1 or 2.
    full : bool, default False
        Whether to take the paper's own numbers of repeats, which takes minutes, or fewer.
    data : str or Path or None, default None
        Folder of arrhythmia.csv and drug_consumption.csv; without them COMPAS stands alone in Tables 1 to 3.

    Returns
    -------
    Reproduction
        Its text as Markdown, its rows, and a figure's chart. The studies need pandas.
    """
    from fairtrial.papers._studies.transport import ITEMS

    return reproduced("transport", ITEMS, table, figure, full, data)
