"""Two audits at three widths: axe-core finds nothing, nothing is cut, the verdict of every row is in view."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from six_audits import run_audit

pytestmark = pytest.mark.slow
# a cell is in view when its middle lies inside the page and inside the box that its table scrolls in
IN_VIEW = """[...document.querySelectorAll('.scroll')].map(box => {
    const room = box.getBoundingClientRect(), row = box.querySelector('tbody tr');
    const ends = [row.cells[0], row.querySelector('td.verdict:last-child')].filter(Boolean);
    return ends.every(cell => { const b = cell.getBoundingClientRect(), x = (b.left + b.right) / 2;
        return b.width > 0 && x >= room.left && x <= room.right && x <= innerWidth
            && b.right <= room.right + 1 && b.left >= room.left - 1; });
})"""
CUT = """[...document.querySelectorAll('main p, main li, main dd, main h1, main h2, main figcaption, main summary')]
    .filter(e => e.checkVisibility() && !e.closest('.visually-hidden') && !e.closest('.scroll')
        && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.textContent.slice(0, 60))"""
SMALL = """[...document.querySelectorAll('.chart svg text')].filter(e => e.checkVisibility() && e.textContent.trim()
    && e.getBoundingClientRect().height < 9).map(e => e.textContent)"""

# what has to be scrolled sideways before anything is unfolded: tables, and texts of charts
WIDE = """[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1)
    .map(box => box.getAttribute('aria-label'))"""
BEYOND = """[...document.querySelectorAll('.chart svg text')].filter(e => e.checkVisibility() && e.textContent.trim()
    && e.getBoundingClientRect().right > e.closest('.chart').getBoundingClientRect().right + 1)
    .map(e => e.textContent)"""

# charts that have to be scrolled, once everything is unfolded
SIDEWAYS = """[...document.querySelectorAll('.chart')].filter(chart => chart.scrollWidth > chart.clientWidth + 1)
    .map(chart => chart.dataset.chart)"""


@pytest.fixture(scope="module", params=["ricci", "nothing"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    trial = run_audit(request.param)
    return trial.report(tmp_path_factory.mktemp("page") / "report.html")


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1024, "light"), (1440, "dark")])
def test_axe_finds_nothing_and_nothing_is_cut(page: Path, visit: Any, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    opened = visit(page, width, scheme)
    assert opened.errors == opened.warnings == []
    assert opened.outside == []
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.page.evaluate(CUT) == []
    assert all(opened.page.evaluate(IN_VIEW)), "who and verdict are in view in every table"
    assert opened.page.evaluate(SMALL) == []
    assert opened.page.evaluate(WIDE) == []
    assert opened.page.evaluate(BEYOND) == []
    opened.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    opened.page.wait_for_timeout(400)
    assert opened.page.evaluate(SIDEWAYS) == []
    found = axe.run(opened.page).response["violations"]
    told = [(one["id"], one["nodes"][0]["target"], one["nodes"][0]["failureSummary"][:300]) for one in found]
    assert told == []
