"""The page in Chromium: from a file to a verdict, the slider, coming back, two at once, and labels that are HTML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fairtrial
from fairtrial.datasets import DATASETS
from inside.web import ServerSettings
from web_browser import ask_rates, bring, choose_parts, finished_audit, plan_and_run, unfold

HOSTILE = [
    "<img src=x onerror=window.hurt=1>",
    "');window.hurt=1;//",
    "a\x0bb",
    "</script><svg onload=window.hurt=1>",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", list(DATASETS))
def test_a_bundled_dataset_from_the_first_page_to_the_report(page: Any, name: str) -> None:
    page.click(f"[data-dataset={name}]")
    plan_and_run(page, reload=name == "ricci")
    identity = page.url.rsplit("/", 1)[-1]
    frame = page.frame_locator("iframe")
    frame.locator("h1").wait_for()
    assert "Groups, metrics, tolerance and scale were fixed on" in frame.locator("body").inner_text()
    assert "fairtrial.run(" in page.locator("details pre").first.text_content()
    results = json.loads(page.request.get(f"/api/audits/{identity}/report/results.json").text())
    assert page.inner_text("#verdict") == results["verdict"]["text"]
    if name == "ricci":
        assert "selection rate of race: W is 30.3 points above" in page.inner_text("#verdict")
        page.click("text=Groups and metrics")
        page.click("[data-cell='W|selection_rate']")
        page.wait_for_selector("#detail dl:has-text('+30.3')")
        assert "cell=W" in page.url
        page.reload()
        page.wait_for_selector("#detail dl")


def test_a_preset_shows_its_questions_and_their_cost_and_writes_the_plan(page: Any, tmp_path: Path) -> None:
    fairtrial.load("compas").to_csv(tmp_path / "compas.csv", index=False)  # not seen here before
    bring(page, tmp_path / "compas.csv")
    page.wait_for_selector("#cost")
    assert "questions" in page.inner_text("#cost summary")
    unfold(page, "all")
    page.click("#preview summary")
    assert "African-American" in page.inner_text("#preview")
    page.fill("#threshold", "one")  # checked while it is typed
    page.wait_for_selector("#wrong .faults")
    page.fill("#threshold", "7")
    page.wait_for_selector("#cost")
    page.click("#continue")
    page.wait_for_selector("#fix")
    assert "threshold\n7" in page.inner_text("main").replace("\t", "\n")
    page.click("#fix")
    page.wait_for_selector("#run")
    assert "fingerprint" in page.inner_text("main")
    identity = page.url.rsplit("/", 1)[-1]
    meta = json.loads(page.request.get(f"/api/audits/{identity}").text())
    assert (meta["exploratory"], len(meta["plan"])) == (False, 64)


def test_the_slider_moves_every_number(page: Any) -> None:
    page.click("[data-dataset=compas]")
    ask_rates(page)
    page.click("#look")
    page.wait_for_selector("#numbers table")
    assert "Exploratory" in page.inner_text("main")
    page.select_option("#by", "sex")
    for threshold in (3, 8):
        page.locator("#threshold").fill(str(threshold))
        page.wait_for_selector(f"output:has-text('{threshold}')")
        audit = fairtrial.Audit(
            fairtrial.load("compas"),
            outcome="two_year_recid",
            score="decile_score",
            threshold=threshold,
            groups="sex",
        )
        expected = {row["group"]: row["rate"] for row in fairtrial.measure(audit).estimates}
        for group, rate in expected.items():
            page.wait_for_selector(f"tr[data-group*='{group}'] td[data-rate='{rate!r}']")
    assert "threshold=8" in page.url
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_two_at_once_one_is_cancelled_and_the_page_comes_back(page: Any, server: ServerSettings) -> None:
    def started(permutations: int) -> str:
        page.goto(server.address)
        page.click("[data-dataset=compas]")
        unfold(page, "asked")
        page.select_option("#preset", "")
        page.check("[data-question=scan]")
        page.fill("fieldset:has([data-question=scan]) [data-option=metric]", "fpr")
        page.click("fieldset:has([data-question=scan]) summary")
        page.fill("fieldset:has([data-question=scan]) [data-option=protected]", "race=African-American")
        page.fill("fieldset:has([data-question=scan]) [data-option=permutations]", str(permutations))
        page.wait_for_selector("#cost")
        page.click("#continue")
        page.click("#fix")
        page.click("#run")
        page.wait_for_selector("#cancel, #verdict")
        return str(page.url)

    long, short = started(100_000), started(99)
    page.wait_for_selector("#verdict")  # the short one is done while the long one runs
    page.goto(long)  # come back to it
    page.wait_for_selector("[data-section=scan] progress")
    page.reload()
    page.wait_for_selector("[data-section=scan] progress")
    page.click("#cancel")
    page.wait_for_selector("text=The run was cancelled")
    page.goto(short)
    page.click("text=Subgroups")
    page.click("[data-subgroup='scan.1']")
    page.wait_for_selector("text=How it was found")


def test_labels_that_are_html_are_only_text(page: Any, tmp_path: Path) -> None:
    lines = ["decided,who"] + [f'{i % 2},"{HOSTILE[i % 4]}"' for i in range(400)]
    (tmp_path / "<b>odd.csv").write_text("\n".join(lines))
    bring(page, tmp_path / "<b>odd.csv")
    choose_parts(page, decided="decision", who="groups")
    plan_and_run(page)
    identity = page.url.rsplit("/", 1)[-1]
    for view in ("explore", "heatmap", "tests", ""):
        page.goto(page.url.split("/audits")[0] + f"/audits/{identity}/{view}".rstrip("/"))
        page.wait_for_selector("table, iframe")
        assert page.evaluate("window.hurt === undefined")
        assert page.locator("main img:not(.chart), main b, main svg[onload]").count() == 0
    page.frame_locator("iframe").locator("h1").wait_for()
    assert all(frame.evaluate("window.hurt === undefined") for frame in page.frames)


def test_names_of_columns_titles_and_periods_that_are_html_are_only_text(
    page: Any, server: ServerSettings
) -> None:
    decision, group = "dec<img src=x onerror=window.hurt=1>", "who</script><script>window.hurt=1</script>"
    lines = [f'"{decision}","{group}",week'] + [f'{i % 2},"{HOSTILE[i % 4]}",<b>1</b>' for i in range(400)]
    base = f"http://127.0.0.1:{server.port}"
    sent = page.request.post("/api/files?name=%3Cb%3E.csv", data="\n".join(lines).encode())
    content = {
        "report": {"title": HOSTILE[0], "author": HOSTILE[3], "context": HOSTILE[3]},
        "data": {"decision": decision, "groups": [group], "favourable": 1},
        "measure": {"metric": "selection_rate", "title": HOSTILE[3]},
        "certify": {"metric": "selection_rate", "tolerance": 0.1},
        "flag": {"metric": "selection_rate"},
        "watch": {"state": "hostile", "metric": "selection_rate", "period": "week", "tolerance": 0.1},
    }
    file = json.loads(sent.text())["id"]
    identity = finished_audit(page, content, file)
    places = [
        f"/audits/{identity}{view}" for view in ("", "/heatmap", "/tests", "/subgroups", "/watch", "/explore")
    ]
    places += ["/", f"/?file={file}", "/watches", f"/compare?old={identity}&new={identity}"]
    places += [
        f"/audits/{identity}/heatmap?cell=<img src=x onerror=window.hurt=1>",
        f"/audits/{identity}/needed",
    ]
    for place in places:
        page.goto(base + place)
        page.wait_for_selector("main h1")
        page.wait_for_selector("main .card, main table, main .drop, main iframe")
        assert all(frame.evaluate("window.hurt === undefined") for frame in page.frames), place
        assert page.locator("main img:not(.chart), main b, main script, main svg[onload]").count() == 0, place


BROKEN: list[tuple[str, bytes, str]] = [
    ("empty.csv", b"", "empty"),
    ("binary.csv", bytes(range(256)) * 40, ""),
    ("mixed.csv", "näme,d\nä,1\nöß,0\n".encode() + b"\xe4,1\n", "UTF-8"),
    (
        "wide.csv",
        (",".join(f"c{i}" for i in range(10_000)) + "\n").encode(),
        "10,000 columns; 2,000 are the most",
    ),
    ("large.csv", b"a,b\n" + b"1,2\n" * 2_000_000, "larger than 6 MB"),
    ("program.exe", b"MZ", "must be one of"),
    ("broken.xlsx", b"PK\x03\x04nothing", "cannot be read as Excel"),
]


def test_broken_files_are_said_where_they_were_brought(page: Any, tmp_path: Path) -> None:
    for name, body, words in BROKEN:
        (tmp_path / name).write_bytes(body)
        page.reload()
        page.wait_for_selector("#file")
        bring(page, tmp_path / name)
        page.wait_for_selector("#wrong .faults")
        told = page.inner_text("#wrong .faults")
        assert words in told, (name, told)
        assert "Traceback" not in told
        assert str(tmp_path) not in told


def test_half_a_gigabyte_is_refused_before_it_is_sent(page: Any, tmp_path: Path) -> None:
    """A file within the limit is read whole by `benchmarks/bench_serve.py`."""
    with open(tmp_path / "huge.csv", "wb") as file:
        file.truncate(500 * 1024**2)  # a hole: it takes no room
    sent: list[str] = []
    page.on("request", lambda asked: sent.append(asked.method))
    bring(page, tmp_path / "huge.csv")
    page.wait_for_selector("#wrong .faults:has-text('larger than 6 MB')")
    assert "--folder" in page.inner_text("#wrong .faults")
    assert sent == []


def test_a_header_that_names_a_column_twice_is_said_before_it_is_used(page: Any, tmp_path: Path) -> None:
    (tmp_path / "twice.csv").write_text("d,d,g\n" + "1,0,x\n0,1,y\n" * 40)
    bring(page, tmp_path / "twice.csv")
    unfold(page, "asked")
    page.select_option("#preset", "")
    page.check("[data-question=measure]")
    choose_parts(page, d="decision", g="groups")
    page.wait_for_selector("#wrong .faults:has-text('twice')")
    assert "twice" in page.inner_text("#wrong")


def test_labels_that_say_nothing_are_asked_for_and_the_good_decision_stays_itself(
    page: Any, tmp_path: Path
) -> None:
    lines = ["not promoted,Q,x", "promoted,Z,y"] * 40
    (tmp_path / "staff.csv").write_text("\n".join(["status,code,g", *lines]))
    bring(page, tmp_path / "staff.csv")
    unfold(page, "asked")
    page.select_option("#preset", "")
    page.check("[data-question=measure]")
    choose_parts(page, code="decision", g="groups", status="")
    page.wait_for_selector(
        "#card-decided .asks:has-text('Please answer')"
    )  # nothing is chosen for the person
    assert page.locator("#card-decided input:checked").count() == 0
    page.check("#good-unknown")
    page.wait_for_selector("#card-decided .why:has-text('Nobody is called harmed')")
    choose_parts(page, status="decision", code="")
    assert page.locator("#card-decided .answer:has(:checked)").inner_text().startswith("promoted")
    with page.expect_response("**/api/check") as sent:
        page.check("#card-decided .answer:has-text('not promoted') input")
    data = sent.value.request.post_data_json["content"]["data"]
    assert (data["positive"]["decision"], data["favourable"]) == ("promoted", 0)


def test_three_cards_are_answered_where_the_file_shows_it(page: Any, tmp_path: Path) -> None:
    """From a messy file to a verdict with one click: spellings merged, repeated people named, what explains chosen."""
    lines = ["Bewerber,sex,job,hired,age"]
    lines += [
        f"B{i % 400},{(' f', 'F', 'm')[i % 3]},{'ab'[i % 2]},{int(i % 5 > 1)},{20 + i % 40}"
        for i in range(600)
    ]
    (tmp_path / "staff.csv").write_text("\n".join(lines))
    bring(page, tmp_path / "staff.csv")
    page.wait_for_selector("#cost")
    assert page.locator(".card").count() == 3
    assert page.input_value("#pick-decision") == "hired"
    assert page.input_value("#unit") == "Bewerber"
    assert page.is_checked("#merge-sex")
    assert page.locator("[data-attribute=sex] .answer").count() == 2
    page.check("#within-job")
    with page.expect_response("**/api/check") as sent:
        page.uncheck("#merge-sex")
        page.check("#merge-sex")
    content = sent.value.request.post_data_json["content"]
    assert content["data"]["merge"] == {"sex": {"F": [" f"]}}
    assert (content["data"]["unit"], content["data"]["favourable"]) == ("Bewerber", 1)
    assert content["flag"][1]["within"] == ["job"]
    page.click("#check")
    page.wait_for_selector("#verdict")


def test_an_excel_sheet_is_a_file_like_any_other(page: Any, tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["hired", None, "sex", "points"])
    for number in range(200):
        sheet.append([number % 3 == 0, "left out", "f" if number % 2 else "m", number / 8])
    book.save(tmp_path / "people.xlsx")
    bring(page, tmp_path / "people.xlsx")
    unfold(page, "all")
    assert page.locator("select[aria-label^='Part of']").count() == 3
    choose_parts(page, hired="outcome", sex="groups", points="score")  # numbers are numbers
    ask_rates(page)
    page.click("#continue")
    page.wait_for_selector("#fix")
