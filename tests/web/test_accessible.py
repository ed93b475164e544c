"""Every view without a finding of axe-core, light and dark; and from a file to a plan with the keyboard alone."""

from __future__ import annotations

from typing import Any

import pytest

from fairtrial.web.settings import Settings
from web_browser import finished_audit, post

CONTENT: dict[str, Any] = {
    "report": {"title": "COMPAS"},
    "data": {
        "outcome": "two_year_recid", "score": "decile_score", "threshold": 5, "groups": ["race"],
        "features": ["age"], "favourable": 0,
    },
    "measure": {"metrics": ["selection_rate", "fpr"]},
    "certify": {"metric": "fpr", "tolerance": 0.1},
    "scan": {"metric": "fpr", "protected": {"race": "African-American"}, "permutations": 19},
}  # fmt: skip
VIEWS = ("", "heatmap", "tests", "subgroups?subgroup=scan.1", "needed", "explore?metric=fpr")


@pytest.mark.slow
def test_no_view_has_a_finding_of_axe(page: Any, server: Settings) -> None:
    axe_module = pytest.importorskip("axe_playwright_python.sync_playwright")
    file = post(page, "/api/files/dataset", {"name": "compas"})["id"]
    identity = finished_audit(page, CONTENT, file)
    unplanned = post(page, "/api/audits", {"file": file, "content": CONTENT})["id"]
    places = [f"/audits/{identity}/{view}".rstrip("/") for view in VIEWS]
    places += [
        "/",
        f"/?file={file}",
        f"/audits/{unplanned}",
        "/watches",
        f"/compare?old={identity}&new={identity}",
    ]
    axe = axe_module.Axe()
    base = f"http://127.0.0.1:{server.port}"
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        for place in places:
            page.goto(base + place)
            page.wait_for_selector("main h1")
            page.wait_for_selector("main table, main .drop, main p")
            found = axe.run(page, options={"iframes": False}).response["violations"]
            told = [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in found]
            assert told == [], (scheme, place, told)


def test_from_a_dataset_to_a_plan_with_the_keyboard_alone(page: Any) -> None:
    page.wait_for_selector("[data-dataset=ricci]")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.dataset === 'ricci'"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("#cost")
    assert page.evaluate("document.activeElement.id") == "main"  # a reader begins at the new content
    for _ in range(120):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id === 'continue'"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("#fix")
