"""Every view without a finding of axe-core, light and dark; and from a file to a report with the keyboard alone."""

from __future__ import annotations

from typing import Any

import pytest

from inside.web import ServerSettings
from web_browser import assert_accessible, finished_audit, post

CONTENT: dict[str, Any] = {
    "report": {"title": "COMPAS"},
    "data": {
        "outcome": "two_year_recid", "score": "decile_score", "threshold": 5, "groups": ["race"],
        "features": ["age"], "favourable": 0,
    },
    "measure": {"metric": ["selection_rate", "fpr"]},
    "certify": {"metric": "fpr", "tolerance": 0.1},
    "scan": {"metric": "fpr", "protected": {"race": "African-American"}, "permutations": 19},
}  # fmt: skip
# runs for minutes, so that its page is looked at while it runs
LONG = {
    **CONTENT,
    "data": {**CONTENT["data"], "features": ["age_cat", "sex", "c_charge_degree", "priors_count"]},
    "scan": {**CONTENT["scan"], "permutations": 10_000_000},
}
VIEWS = (
    "",
    "heatmap?cell=Asian|fpr",
    "tests",
    "subgroups?subgroup=scan.1",
    "needed",
    "explore?metric=fpr",
)


@pytest.mark.slow
def test_no_view_has_a_finding_of_axe(page: Any, server: ServerSettings) -> None:
    file = post(page, "/api/files/dataset", {"name": "compas"})["id"]
    identity = finished_audit(page, CONTENT, file)
    unplanned, planned, running = (
        post(page, "/api/audits", {"file": file, "content": content})["id"]
        for content in (CONTENT, CONTENT, LONG)
    )
    for one in (planned, running):
        post(page, f"/api/audits/{one}/plan")
    post(page, f"/api/audits/{running}/run")
    places = [f"/audits/{identity}/{view}".rstrip("/") for view in VIEWS]
    places += [
        "/",
        f"/?file={file}",
        f"/audits/{unplanned}",
        f"/audits/{planned}",
        f"/audits/{running}",
        "/audits/0000000000000000",
        "/no/such/page",
        "/watches",
        f"/compare?old={identity}&new={identity}",
    ]
    assert_accessible(page, server, places)
    post(page, f"/api/audits/{running}/cancel")
    stranger = page.context.browser.new_page()  # without the token
    assert_accessible(stranger, server, ["/"])
    assert "the address that the server printed" in stranger.inner_text("main")
    stranger.close()


def press(page: Any, selector: str) -> None:
    """Come to it with the tabulator, as whoever has no mouse, and press it."""
    page.wait_for_selector(selector)
    for _ in range(150):
        page.keyboard.press("Tab")
        if page.evaluate(f"document.activeElement.matches({selector!r})"):
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"{selector} is not reached")


@pytest.mark.slow
def test_from_a_dataset_to_a_report_and_a_view_with_the_keyboard_alone(page: Any) -> None:
    press(page, "[data-dataset=ricci]")
    page.wait_for_selector("#cost")
    assert page.evaluate("document.activeElement.id") == "main"  # a reader begins at the new content
    for button in ("#continue", "#fix", "#run"):
        press(page, button)
    page.wait_for_selector("#verdict")
    press(page, "[href$='/heatmap']")
    press(page, "button.cell")
    page.wait_for_selector("#detail dl")
    press(page, "[href$='/explore']")
    page.wait_for_selector("#numbers table")
