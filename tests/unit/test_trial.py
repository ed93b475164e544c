"""A trial runs every question, keeps what is finished, and is written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fairtrial
from fairtrial import InputError
from inside.ground import GateClosed, NotWritten, write_whole
from inside.trial import FOLDER, Event, check_schema, load_results, run
from method_stand_ins import stand_in

SCHEMA = Path(fairtrial.__file__).parent / "_trial" / "results.schema.json"
PUBLISHED = Path(__file__).parents[2] / "docs" / "results.schema.json"


def spec(**changes: Any) -> dict[str, Any]:
    content: dict[str, Any] = {
        "data": {
            "dataset": "compas",
            "outcome": "two_year_recid",
            "score": "decile_score",
            "threshold": 5,
            "groups": ["race", "sex"],
        },
        "measure": {"metric": ["fpr"], "by": ["race"], "target": {"race": "Caucasian"}},
        "certify": {"metric": "fpr", "by": ["sex"], "tolerance": 0.05},
    }
    return {**content, **changes}


def stopped(*arguments: Any, **named: Any) -> None:
    raise KeyboardInterrupt


def without_run(content: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key != "run"}


@pytest.mark.slow
def test_results_verdict_and_report(tmp_path: Path) -> None:
    trial = run(spec())
    assert list(trial.results) == ["measure", "certify"]
    row = next(row for row in trial.results["measure"].estimates if row["group"] == "race: African-American")
    assert row["rate"] == pytest.approx(0.4485, abs=5e-5)  # ProPublica's analysis of the same 7,214 people
    assert trial.verdict.code == "violated"
    assert trial.complete
    page = trial.report(tmp_path / "page.html")
    assert page.stat().st_size < 2_000_000
    assert "What are the rates?" in str(trial)


@pytest.mark.slow
def test_a_folder_of_results(tmp_path: Path) -> None:
    run(spec(), out=tmp_path)
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"results.json", "report.html", "tables/measure.csv", "tables/measure.parquet"} <= names
    assert any(name.startswith("charts/measure.") and name.endswith(".svg") for name in names)
    assert not (tmp_path / FOLDER).exists()
    content = load_results(tmp_path)
    assert content["status"] == "complete"
    assert content["data"]["rows"] == 7214
    assert content["data"]["sha256"] is not None


def test_the_published_schema_is_the_one_that_is_checked() -> None:
    assert json.loads(SCHEMA.read_text()) == json.loads(PUBLISHED.read_text())


def test_results_keep_to_the_schema_and_the_schema_notices() -> None:
    content = run(spec()).to_dict()
    check_schema(content)
    for break_it in (
        lambda c: c.pop("seed"),
        lambda c: c.update(extra=1),
        lambda c: c["verdict"].update(code="fair"),
        lambda c: c["family"][0].update(adjusted=1.5),
        lambda c: c["sections"][0].update(status="failed"),
        lambda c: c["sections"][0]["result"]["estimates"][0].update(rate={"value": None}),
    ):
        broken = json.loads(json.dumps(content))
        break_it(broken)
        with pytest.raises(InputError, match="does not keep to its schema"):
            check_schema(broken)


def test_same_seed_same_results_apart_from_the_run(tmp_path: Path) -> None:
    first, second = run(spec()).to_dict(), run(spec(), jobs=2).to_dict()
    assert without_run(first) == without_run(second)


@pytest.mark.slow
def test_one_failing_section_does_not_take_the_others_along(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(*arguments: Any, **named: Any) -> None:
        raise RuntimeError("the disk is full of bees")

    stand_in(monkeypatch, "certify", fails)
    trial = run(spec(), out=tmp_path)
    assert not trial.complete
    assert list(trial.results) == ["measure"]
    assert "bees" in trial.answers[1].error
    assert "1 question could not be answered" in trial.verdict.text
    page = (tmp_path / "report.html").read_text()
    assert "Not answered" in page
    assert "bees" in page
    assert load_results(tmp_path)["status"] == "incomplete"


@pytest.mark.slow
def test_stopping_keeps_finished_sections_and_resume_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(spec(), out=tmp_path / "whole").to_dict()
    called: list[str] = []
    with monkeypatch.context() as patch:
        stand_in(patch, "certify", stopped)
        trial = run(spec(), out=tmp_path / "part")
    assert trial.stopped
    assert [answer.status for answer in trial.answers] == ["done", "stopped"]
    events: list[Event] = []
    resumed = run(spec(), out=tmp_path / "part", resume=True, progress=events.append)
    called += [event.section for event in events if event.status == "running"]
    assert "measure" not in called
    assert resumed.run["kept"] == ["measure"]
    assert without_run(resumed.to_dict()) == without_run(whole)
    assert not (tmp_path / "part" / FOLDER).exists()


@pytest.mark.slow
def test_resume_takes_nothing_from_other_data_or_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stand_in(patch, "certify", stopped)
        run(spec(), out=tmp_path)
    changed = spec()
    changed["data"] = {**changed["data"], "threshold": 7}
    assert run(changed, out=tmp_path, resume=True).run["kept"] == []


def test_cancel_stops_before_the_next_section() -> None:
    trial = run(spec(), cancel=lambda: True)
    assert [answer.status for answer in trial.answers] == ["stopped", "stopped"]
    assert trial.verdict.code == "undetermined"


def test_data_in_memory_take_the_place_of_the_source() -> None:
    frame = fairtrial.load("compas", backend="polars").head(2000)
    trial = run(spec(), data=frame)
    assert trial.data["rows"] == 2000
    assert trial.data["source"] == "in memory"


@pytest.mark.slow
def test_small_cells_are_masked_everywhere_that_is_published(tmp_path: Path) -> None:
    run(spec(report={"suppress_below": 200}, measure={"metric": ["fpr"], "by": ["race"]}), out=tmp_path)
    content = load_results(tmp_path)
    rows = {row["group"]: row for row in content["sections"][0]["result"]["estimates"]}
    masked = {"value": None, "reason": "fewer than 200 people", "masked": True}
    assert rows["race: Asian"]["rate"] == masked  # 32 people
    assert rows["race: Asian"]["n"] == masked
    assert rows["race: African-American"]["n"] == 1795
    assert {level["label"]: level["n"] for level in content["data"]["groups"]["race"]}["Asian"] is None
    page = (tmp_path / "report.html").read_text()
    assert '<span class="num">masked</span>' in page
    csv = (tmp_path / "tables" / "measure.csv").read_text()
    line = next(line for line in csv.splitlines() if "Asian" in line)
    assert not any(character.isdigit() for character in line.replace("fewer than 200", ""))
    for svg in (tmp_path / "charts").glob("measure.*.svg"):
        assert "Asian" not in svg.read_text()


@pytest.mark.slow
def test_what_others_put_in_the_folder_stays(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "mine.csv").write_text("mine")
    run(spec(), out=tmp_path)
    run({key: value for key, value in spec().items() if key != "certify"}, out=tmp_path)
    assert (tmp_path / "tables" / "mine.csv").read_text() == "mine"
    assert not (tmp_path / "tables" / "certify.csv").exists(), "what the earlier run wrote is gone"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.json"
    write_whole(path, "old")
    monkeypatch.setattr("os.fsync", lambda number: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(NotWritten, match="full"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["results.json"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"jobs": 0}, "'jobs' must be a whole number"),
        ({"seed": -1}, "'seed' must be a whole number"),
        ({"resume": True}, "'resume' needs 'out'"),
    ],
)
def test_bad_arguments_are_refused_before_any_work(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(spec(), **arguments)


def test_saved_results_that_are_none(tmp_path: Path) -> None:
    for name, text, message in (
        ("missing.json", None, "there is no file"),
        ("text.json", "hello", "cannot be read as JSON"),
        ("other.json", '{"schema": "x"}', "is not a result of"),
    ):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=message):
            load_results(tmp_path / name)


def test_a_gate_lets_pass_what_it_is_told_to() -> None:
    """The same policy as `fairtrial run --fail-on`."""
    spec = {"data": {"dataset": "ricci", "decision": "passed", "groups": ["race"]}, "measure": {}}
    trial = run(spec)
    assert trial.verdict.code == "violated"
    trial.check(fail_on="undetermined")
    with pytest.raises(GateClosed, match="A difference is shown"):
        trial.check()
    with pytest.raises(AssertionError):  # so that pytest and plain asserts take it
        trial.check(fail_on=["violated", "undetermined"])
    with pytest.raises(
        InputError, match=r"'fail_on' must be one of .*, got 'vioalted'. Did you mean 'violated'"
    ):
        trial.check(fail_on="vioalted")
    with pytest.raises(TypeError, match="compare its code, here 'violated'"):
        assert trial.verdict
