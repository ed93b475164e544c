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
        A table's number; 1 to 6.
    figure : str or int or None, default None
        A figure's number; 2, 3, 5, 6 or 7.
    full : bool, default False
        Whether to take the paper's own numbers of repeats, which takes minutes, or fewer.
    data : str or Path or None, default None
        The file of 48,784 patients, which is not public, or its public hold-out third; see fairtrial.papers.data.

    Returns
    -------
    Reproduction
        Its text as Markdown, its rows, and a figure's chart. The studies need pandas.
    """
    from fairtrial.papers._studies.improvability import ITEMS

    return reproduced("improvability", ITEMS, table, figure, full, data)
