"""Pages that are built, not kept: every line of the board with its chart, and what is here of each paper."""

import sys
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]


def on_files(files, config, **_):
    """Called by MkDocs with the files of docs/."""
    for place, text in built().items():
        files.append(File.generated(config, place, content=text))
    return files


def built():
    """The text of every page, by its place in docs/."""
    sys.path[:0] = [
        str(ROOT),
        str(ROOT / "scripts"),
    ]  # here: MkDocs restores the path after it has read a hook
    import papers_coverage
    from validity.page import CHART, EVERY_LINE, chart, full_page
    from validity.results import read

    board = read()
    return {EVERY_LINE: full_page(board), CHART: chart(board)} | {
        f"papers/coverage/{name}": text for name, text in papers_coverage.pages().items()
    }
