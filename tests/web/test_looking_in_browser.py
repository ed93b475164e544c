"""Looking in Chromium: the frontier, the surface, a watch, and who is compared with whom."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from inside.web import ServerSettings
from web_browser import assert_accessible, bring, choose_parts, finished_audit, post, unfold

pytestmark = pytest.mark.slow


def rows() -> pd.DataFrame:
    """Decisions that favour one group more than its skill does."""
    draws = np.random.default_rng(7)
    group = draws.choice(["a", "b"], 600)
    skill = draws.normal(size=600)
    return pd.DataFrame(
        {
            "group": group,
            "age": draws.integers(18, 80, 600),
            "skill": skill.round(3),
            "other": draws.normal(size=600).round(3),
            "repaid": (skill + 0.5 * draws.normal(size=600) > 0).astype(int),
            "approved": ((skill + (group == "a") * 0.8) > 0.3).astype(int),
            "week": np.arange(600) // 200,
        }
    )


CONTENT: dict[str, Any] = {
    "report": {"title": "Loans"},
    "data": {
        "decision": "approved", "outcome": "repaid", "groups": ["group"], "features": ["skill", "other"],
        "favourable": 1,
    },
    "measure": {"metric": ["selection_rate", "fpr"]},
    "improve": {"candidates": "frontier", "splits": 2, "bootstrap": 200},
    "watch": {"state": "loans", "metric": "selection_rate", "period": "week", "tolerance": 0.1},
}  # fmt: skip


@pytest.fixture(scope="module")
def audits() -> dict[str, str]:
    """What was run once for all tests of this file."""
    return {}


@pytest.fixture
def improved(page: Any, audits: dict[str, str]) -> str:
    """An audit with everything that can be looked at in a picture."""
    if "improved" not in audits:
        sent = page.request.post("/api/files?name=loans.csv", data=rows().to_csv(index=False).encode())
        audits["improved"] = finished_audit(page, CONTENT, json.loads(sent.text())["id"])
    return audits["improved"]


@pytest.fixture
def opened(page: Any, server: ServerSettings, improved: str) -> Callable[[str], dict[str, Any]]:
    """Opens a view of that audit; gives what its address with .json says."""

    def open_view(view: str) -> dict[str, Any]:
        path = f"/audits/{improved}/{view}"
        page.goto(f"http://127.0.0.1:{server.port}{path}")
        page.wait_for_selector("main table")
        place, _, query = path.partition("?")
        told: dict[str, Any] = json.loads(page.request.get(f"{place}.json?{query}").text())
        return told

    return open_view


def rule(name: str) -> str:
    """The line of a rule in a table."""
    return f"th:text-is({json.dumps(name, ensure_ascii=False)})"


def dragged(page: Any, left: float, top: float, to_left: float, to_top: float) -> None:
    """Press in the picture at one share of its width and height, move to another, and let go."""
    picture = page.locator("svg.plot")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    page.mouse.move(box["x"] + left * box["width"], box["y"] + top * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + to_left * box["width"], box["y"] + to_top * box["height"], steps=5)
    page.mouse.up()


def test_the_frontier_is_dragged_with_the_slider_and_in_the_picture(page: Any, opened: Any) -> None:
    seen = opened("frontier")
    edge = [row["candidate"] for row in seen["rows"] if row["frontier"]]
    assert len(edge) > 1
    for place in (0, len(edge) - 1):
        page.locator("#slide-improve").fill(str(place))
        page.wait_for_selector(f"#told-improve {rule(edge[place])}")
    circle = page.locator("svg.plot circle.here")
    before = circle.get_attribute("cx")
    dragged(page, 0.9, 0.1, 0.02, 0.5)  # to the smallest gap
    page.wait_for_selector(f"#told-improve {rule(edge[0])}")
    assert circle.get_attribute("cx") != before
    assert page.locator("#slide-improve").input_value() == "0"
    page.reload()
    page.wait_for_selector(f"#told-improve {rule(edge[0])}")  # the address holds it


def test_the_surface_tells_what_the_api_tells_at_the_loss_that_is_dragged_to(page: Any, opened: Any) -> None:
    from playwright.sync_api import expect

    opened("surface?loss=0.1")
    page.wait_for_selector("output:has-text('10.0%')")
    for move in (
        lambda: page.locator("#loss-improve").fill("0.15"),
        lambda: dragged(page, 0.5, 0.1, 0.5, 0.5),
    ):
        page.locator("svg.plot path.loss[d]").wait_for(state="attached")  # a line has no height
        line = page.locator("svg.plot path.loss").get_attribute("d")
        move()
        page.wait_for_selector(f"svg.plot path.loss:not([d='{line}'])", state="attached")
        loss = page.url.rpartition("=")[2]
        assert 0 < float(loss) <= 0.2
        told = json.loads(page.request.get(page.url.replace("surface?", "surface.json?")).text())
        gains = told["surfaces"]["improve"]["gains"]
        words = ["^none$" if one["gain"] is None else re.escape(f"{100 * one['gain']:.1f}%") for one in gains]
        cells = page.locator("#gains-improve tbody td")
        expect(cells).to_have_text(
            [re.compile(one) for one in words]
        )  # on the way there, those of other losses
        known = [one["gain"] for one in gains if one["gain"] is not None]
        expect(page.locator("svg.plot g circle")).to_have_count(len(known))


def test_a_watch_tells_where_it_stands(page: Any, opened: Any, server: ServerSettings, improved: str) -> None:
    seen = opened("watch")
    assert page.locator("main tbody tr").count() == len(seen["rows"])
    page.goto(f"http://127.0.0.1:{server.port}/watches")
    page.wait_for_selector("th:text-is('loans')")
    [watch] = json.loads(page.request.get("/watches.json").text())
    assert watch["verdict"] == seen["watches"]["watch"]["verdict"]["text"]  # not that of the whole trial
    assert watch["audit"] == improved


def test_who_is_compared_with_whom_is_chosen_from_what_is_there(page: Any, tmp_path: Path) -> None:
    frame = rows().assign(region=np.resize(["north", "south", "east"], 600))
    frame.drop(columns="week").to_csv(tmp_path / "regions.csv", index=False)
    bring(page, tmp_path / "regions.csv")
    page.wait_for_selector("#continue")
    choose_parts(page, approved="decision", repaid="outcome", group="groups", region="groups", age="groups")
    choose_parts(page, skill="", other="")
    unfold(page, "asked")
    page.select_option("#preset", "")
    page.check("[data-question=measure]")
    page.select_option("[aria-label='Groups of region are compared with']", "north")
    page.uncheck("[data-attribute=region] label:has-text('east') input")
    page.fill("[data-attribute=age] input", "30, 50")
    page.wait_for_selector("#cost")
    page.click("#continue")
    page.wait_for_selector("#fix")
    identity = page.url.rsplit("/", 1)[-1]
    content = json.loads(page.request.get(f"/api/audits/{identity}").text())["content"]
    assert content["data"]["bins"] == {"age": [30, 50]}
    with_region, others = content["measure"]
    assert with_region["by"] == [{"region": "north"}, {"region": "south"}]
    assert with_region["target"] == {"region": "north"}
    assert sorted(others["by"]) == ["age", "group"]
    post(page, f"/api/audits/{identity}/plan")  # and nothing is wrong with it


def test_no_picture_has_a_finding_of_axe(page: Any, server: ServerSettings, improved: str) -> None:
    views = ("frontier", "surface?loss=0.1", "watch")
    assert_accessible(page, server, [f"/audits/{improved}/{view}" for view in views])
