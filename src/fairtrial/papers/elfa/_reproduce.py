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
        A table's number; 1 to 3.
    figure : str or int or None, default None
        A figure's number; 1 to 6, E1, E2 or E3.
    full : bool, default False
        Whether to take the paper's own numbers of repeats, which takes minutes, or fewer.
    data : str or Path or None, default None
        Not needed: everything it takes is in the package.

    Returns
    -------
    Reproduction
        Its text as Markdown, its rows, and a figure's chart. The studies need pandas.
    """
    from fairtrial.papers._studies.elfa import ITEMS

    return reproduced("elfa", ITEMS, table, figure, full, data)
