"""The report in a real browser: every chart draws, nothing leaves the page, nothing overflows, all is reachable."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import fairtrial
from inside.results import chart_page
from inside.trial import find_chromium, print_pdf

EVIL = "</script><img src=x onerror=window.hacked=1>"
DRAWN = """[...document.querySelectorAll('.chart')].map(chart => ({
    drawn: chart.dataset.drawn, marks: chart.querySelectorAll('svg path, svg line, svg rect').length}))"""

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1024, "dark"), (1440, "light")])
def test_charts_draw_and_nothing_overflows(folder: Path, visit: Any, width: int, scheme: str) -> None:
    opened = visit(folder / "report.html", width, scheme)
    charts = opened.page.evaluate(DRAWN)
    methods = len(json.loads((folder / "results.json").read_text())["sections"])
    assert len(charts) >= methods
    assert all(chart["drawn"] == "true" and chart["marks"] > 3 for chart in charts), charts
    assert opened.errors == []
    assert opened.outside == []
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_page_is_one_file_that_can_reach_nothing(folder: Path) -> None:
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert len(text.encode()) < 2_000_000
    head = text[: text.index("<style>")]
    assert "default-src 'none'" in head.replace("&#39;", "'")
    assert "unsafe" not in head
    for word in ("<link", "<iframe", 'src="http', "@import", "url(http"):
        assert word not in text.replace(text[text.index("<script>") :], "")


def test_the_policy_stops_what_is_not_named(folder: Path, visit: Any, tmp_path: Path) -> None:
    text = (folder / "report.html").read_text(encoding="utf-8")
    page = tmp_path / "changed.html"
    page.write_text(text.replace("</main>", "<script>window.hacked = 1</script></main>"), encoding="utf-8")
    opened = visit(page)
    assert opened.page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in error for error in opened.errors)


def test_tooltips_show_the_numbers(folder: Path, visit: Any) -> None:
    opened = visit(folder / "report.html")
    opened.page.locator("#measure-1 .chart").first.scroll_into_view_if_needed()
    point = opened.page.locator("#measure-1 .chart .mark-symbol path").first
    box = point.bounding_box()
    opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    opened.page.wait_for_selector("#vg-tooltip-element.visible")
    assert "%" in opened.page.inner_text("#vg-tooltip-element")
    assert opened.errors == []


def test_tables_sort_filter_and_copy(folder: Path, visit: Any) -> None:
    opened = visit(folder / "report.html")
    opened.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = opened.page
    page.evaluate("document.querySelectorAll('details').forEach(folded => folded.open = true)")
    box = page.locator("#flag [data-table]").filter(has=page.locator("#flag-table"))
    rows = "[...document.querySelectorAll('#flag-table tbody tr')].filter(r => !r.hidden)"
    column = f"{rows}.map(r => r.cells[1].dataset.value)"
    button = box.locator("thead button").nth(1)
    button.focus()
    page.keyboard.press("Enter")
    sizes = [float(value) for value in page.evaluate(column) if value]
    assert sizes == sorted(sizes)
    page.keyboard.press("Enter")
    assert [float(value) for value in page.evaluate(column) if value] == sorted(sizes, reverse=True)
    assert box.locator("thead th").nth(1).get_attribute("aria-sort") == "descending"
    box.locator("[data-filter]").fill("hispanic female")
    assert len(page.evaluate(column)) == 1
    assert box.locator("[data-count]").inner_text().startswith("1 of ")
    box.locator("[data-copy-table]").click()
    page.wait_for_function("() => document.querySelector('#flag [data-copy-table]').textContent === 'Copied'")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.splitlines()[1].startswith("race: Hispanic, sex: Female\t")
    assert len(copied.splitlines()) == 2


def test_light_and_dark_can_be_switched(folder: Path, visit: Any) -> None:
    opened = visit(folder / "report.html", scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = opened.page.evaluate(background)
    ink = "document.querySelector('.chart .role-axis-label text').getAttribute('fill')"
    dark_ink = opened.page.evaluate(ink)
    opened.page.click("#theme")
    assert opened.page.evaluate(background) != dark
    opened.page.wait_for_function(f"() => {ink} !== '{dark_ink}'")
    assert opened.errors == []


def test_text_has_contrast(folder: Path, visit: Any) -> None:
    """WCAG AA: at least 4.5 for text against what lies behind it."""
    for scheme in ("light", "dark"):
        opened = visit(folder / "report.html", scheme=scheme)
        ratios = opened.page.evaluate(CONTRAST)
        assert min(ratio for ratio, _ in ratios) >= 4.5, sorted(ratios)[:5]


CONTRAST = """
(() => {
  const channel = v => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; };
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b);
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const texts = [...document.querySelectorAll('main *, nav *, header *')].filter(e => !e.closest('svg') &&
    [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) && e.checkVisibility() &&
    !['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(e.tagName) && !e.classList.contains('visually-hidden'));
  return texts.map(e => {
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    return [(a + .05) / (b + .05), e.className + ' ' + e.textContent.trim().slice(0, 40)];
  });
})()
"""


def test_everything_has_a_name_and_headings_are_in_order(folder: Path, visit: Any) -> None:
    page = visit(folder / "report.html").page
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, a, input, [role=region], [role=img]')]"
        ".filter(e => !(e.textContent || '').trim() && !e.getAttribute('aria-label') && !e.labels?.length)"
        ".map(e => e.outerHTML.slice(0, 120))"
    )
    assert unnamed == []
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.evaluate("document.documentElement.lang") == "en"
    charts = page.locator(".chart")
    assert charts.first.get_attribute("role") == "img"
    described = charts.first.get_attribute("aria-describedby")
    assert "African-American" in page.locator(f"#{described}").text_content()
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def evil_frame() -> Any:
    import numpy as np
    import pandas as pd

    random = np.random.default_rng(3)
    group = random.choice([EVIL, "=cmd()", "b & c"], 600)
    decision = (random.uniform(size=600) < np.where(group == EVIL, 0.7, 0.3)).astype(int)
    return pd.DataFrame({EVIL: group, "decision": decision})


def evil_spec() -> dict[str, Any]:
    return {
        "data": {"source": "memory.csv", "decision": "decision", "groups": [EVIL]},
        "report": {"title": EVIL, "decision": EVIL, "context": EVIL, "author": EVIL},
        "measure": {"title": EVIL, "metric": ["selection_rate"]},
        "flag": {"metric": "selection_rate", "direction": "differs"},
    }


def test_labels_from_data_are_text_and_nothing_else(visit: Any, tmp_path: Path) -> None:
    fairtrial.run(evil_spec(), data=evil_frame(), out=tmp_path)
    opened = visit(tmp_path / "report.html")
    page = opened.page
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert EVIL in page.inner_text("#measure-table")
    assert EVIL in page.inner_text("h1")
    axis = page.evaluate(
        "[...document.querySelectorAll('.chart svg text')].map(t => t.textContent).join(' ')"
    )
    assert "</script>" in axis
    page.locator("#measure .chart").first.scroll_into_view_if_needed()
    box = page.locator("#measure .chart .mark-symbol path").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_selector("#vg-tooltip-element.visible")
    assert page.locator("img").count() == 0
    assert opened.errors == []
    for svg in (tmp_path / "charts").glob("*.svg"):
        assert "<img" not in svg.read_text()


def test_a_chart_alone_is_as_safe(visit: Any, tmp_path: Path) -> None:
    audit = fairtrial.Audit(evil_frame(), decision="decision", groups=[EVIL])
    page = tmp_path / "chart.html"
    page.write_text(chart_page(fairtrial.measure(audit, "selection_rate").pictures(), EVIL), encoding="utf-8")
    opened = visit(page, 390)
    assert all(chart["drawn"] == "true" and chart["marks"] > 3 for chart in opened.page.evaluate(DRAWN))
    assert opened.page.evaluate("window.hacked") is None
    assert opened.page.locator("img").count() == 0
    assert opened.errors == []
    assert opened.outside == []
    assert opened.page.title() == EVIL


def test_paper_shows_everything(folder: Path, browser: Any, tmp_path: Path) -> None:
    chromium = find_chromium()
    assert chromium is not None
    page = tmp_path / "report.html"
    page.write_bytes((folder / "report.html").read_bytes())
    pdf = print_pdf(chromium, page)
    assert pdf.name == "report.pdf"
    data = pdf.read_bytes()
    assert data.startswith(b"%PDF")
    sections = len(json.loads((folder / "results.json").read_text())["sections"])
    assert data.count(b"/Type /Page\n") + data.count(b"/Type /Page ") + data.count(b"/Type/Page/") >= sections
