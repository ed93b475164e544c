"""Whatever the question, no written file tells the numbers of a group that is masked: neither in cells nor in words."""

from __future__ import annotations

import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import fairtrial
from inside.cli import program
from inside.methods import trial_methods
from inside.results import shown_columns
from inside.trial import Event, Trial

SMALL = {"team": "zeta-7"}
pytestmark = pytest.mark.slow


def planted() -> pd.DataFrame:
    """Seven people of team zeta-7, five of them granted (71.4%); of the others one in twenty or in ten."""
    random = np.random.default_rng(7)
    n = 594
    frame = pd.DataFrame(
        {
            "team": np.repeat(["alpha", "beta"], n // 2),
            "part": random.choice(["north", "south"], n),
            "points": random.normal(size=n).round(3),
            "granted": (np.arange(n) % np.where(np.arange(n) < n // 2, 20, 10) < 1).astype(int),
            "good": random.integers(0, 2, n),
            "other": (np.arange(n) % 10 < 5).astype(int),
            "month": np.sort(random.integers(1, 5, n)),
        }
    )
    few = pd.DataFrame(
        {
            "team": "zeta-7",
            "part": "north",
            "points": np.linspace(1, 2, 7),
            "granted": [1, 1, 1, 1, 1, 0, 0],
            "good": [1, 0, 1, 0, 1, 1, 0],
            "other": [1, 1, 1, 0, 0, 0, 0],
            "month": [1, 1, 2, 2, 3, 3, 4],
        }
    )
    return pd.concat([frame, few], ignore_index=True).sort_values("month", ignore_index=True)


def asked(folder: Path) -> dict[str, Any]:
    own: dict[str, Any] = {"metric": "selection_rate", "by": ["team"], "minimum": 2}
    return {
        "data": {"source": "planted.csv", "decision": "granted", "outcome": "good", "groups": ["team"],
                 "features": ["part", "points"], "favourable": 0},
        "report": {"suppress_below": 10},
        "run": {"seed": 1},
        "measure": {"metric": ["selection_rate"], "by": ["team"], "minimum": 2},
        "certify": [{**own, "tolerance": 0.05}, own],
        "flag": {**own, "direction": "differs"},
        "scan": [{"metric": "selection_rate", "protected": SMALL, "features": ["part"], "permutations": 199},
                 {"metric": "selection_rate", "protected": ["team"], "features": ["part"], "permutations": 199}],
        "transport": {"metric": "statistical_parity", "by": ["team"], "minimum": 2},
        "explain": {"metric": "selection_rate", "by": ["team"], "target": {"team": "alpha"}, "model": "logistic"},
        "improve": {"keep": "accuracy", "metric": "selection_rate",
                    "by": [{"team": "alpha"}, {"team": "beta"}], "candidates": {"fixed": "other"},
                    "splits": 2, "bootstrap": 200},
        "watch": {"state": str(folder / "state.jsonl"), "metric": "selection_rate", "by": ["team"],
                  "period": "month", "tolerance": 0.05},
        "tabulate": {"table": "adverse-impact", "by": ["team"]},
    }  # fmt: skip


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trial, list[Event]]:
    """The trial, and what was said while it ran."""
    events: list[Event] = []
    spec = asked(tmp_path_factory.mktemp("watch"))
    return fairtrial.run(spec, data=planted(), progress=events.append), events


@pytest.fixture
def trial(ran: tuple[Trial, list[Event]]) -> Trial:
    return ran[0]


def unmasked(trial: Trial) -> Trial:
    """The same answers, of an owner who shows small groups."""
    report = replace(trial.spec.report, suppress_below=0)
    return Trial(
        spec=replace(trial.spec, report=report), answers=trial.answers, data=trial.data, notes=trial.notes,
        versions=trial.versions, run=trial.run,
    )  # fmt: skip


def texts(folder: Path) -> dict[str, str]:
    """Every file that was written, as text; of the page without the scripts of its charts."""
    found = {}
    for path in folder.rglob("*.*"):
        if path.suffix == ".parquet":
            text = str(parquet.read_table(path).to_pylist())
        else:
            text = re.sub(r"<script>.*?</script>", "", path.read_text(), flags=re.DOTALL)
        found[str(path.relative_to(folder))] = text
    return found


def told(text: str) -> list[str]:
    """Where the small group's numbers stand: its rate, its gap to the others and to alpha, its count."""
    granted = planted().groupby("team")["granted"].agg(["sum", "size"])
    rate, (hits, people) = 5 / 7, granted.drop(index="zeta-7").sum()
    gaps = rate - hits / people, rate - granted["sum"]["alpha"] / granted["size"]["alpha"]
    numbers = [f"{100 * value:.1f}" for value in (rate, *gaps)] + [str(value)[:7] for value in (rate, *gaps)]
    said = [rf"(?<![\d.]){re.escape(number)}" for number in numbers]
    counted = [
        r"\bn 7\b",
        r"\b7 people",
        r"\b7 of (?!\d+ tests)",
        r"\bof 7\b",
        r"[\"'](?:target_)?n[\"']: 7\b",
    ]
    return [found for pattern in (*said, *counted) for found in re.findall(pattern, text)]


def test_every_question_is_asked_and_answered(trial: Trial) -> None:
    assert {answer.section.method for answer in trial.answers} == set(trial_methods())
    assert trial.complete, [(answer.section.id, answer.error) for answer in trial.answers]


def test_no_file_tells_the_numbers_of_the_small_group(trial: Trial, tmp_path: Path) -> None:
    trial.save(tmp_path)
    written = texts(tmp_path)
    assert {"summary.md", "report.html", "results.json", "tables/scan-1.csv"} <= set(written)
    assert {name: found for name, text in written.items() if (found := told(text))} == {}


def test_neither_do_the_run_s_own_words_nor_the_other_forms(
    ran: tuple[Trial, list[Event]], tmp_path: Path
) -> None:
    trial, events = ran
    said = [event.text for event in events if event.status == "done"]
    assert len(said) >= len(trial_methods())
    assert {text: found for text in said if (found := told(text))} == {}
    assert any("fewer than 10 people" in text for text in said)
    trial.save(tmp_path)
    runner, forms = CliRunner(), {name: str(tmp_path / name) for name in ("card.md", "all.xlsx", "diff.html")}
    shown = runner.invoke(
        program, ["report", str(tmp_path), "--card", forms["card.md"], "--excel", forms["all.xlsx"]]
    )
    assert shown.exit_code == 0, shown.output
    differs = runner.invoke(program, ["diff", str(tmp_path), str(tmp_path), "--page", forms["diff.html"]])
    assert differs.exit_code == 0, differs.output
    with zipfile.ZipFile(forms["all.xlsx"]) as book:
        sheets = " ".join(book.read(name).decode() for name in book.namelist() if name.endswith(".xml"))
    cells = re.sub(r"<v>(.*?)</v>|<[^>]+>", r" \1 ", sheets)
    pages = {name: Path(forms[name]).read_text() for name in ("card.md", "diff.html")}
    outputs = {**pages, "all.xlsx": cells, "diff": differs.output}
    assert {name: found for name, text in outputs.items() if (found := told(text))} == {}


def test_they_would_be_found_without_masking(trial: Trial, tmp_path: Path) -> None:
    unmasked(trial).save(tmp_path)
    written = texts(tmp_path)
    for name in ("summary.md", "report.html", "results.json", "tables/measure.csv", "tables/measure.parquet"):
        assert told(written[name]), name


def test_what_was_found_stays_and_the_words_say_what_is_masked(trial: Trial) -> None:
    content = trial.to_dict()
    verdicts = {section["id"]: section["result"]["verdict"] for section in content["sections"]}
    assert verdicts["scan-1"]["code"] == "found"
    masked = {name for name, verdict in verdicts.items() if "fewer than 10 people" in verdict["text"]}
    assert masked >= {"measure", "certify-1", "certify-2", "flag", "scan-1", "scan-2", "transport", "explain"}
    assert not masked & {"tabulate", "watch"}  # these tell how many groups, and no number of one
    assert "| masked | masked |" in trial.to_markdown()


def test_the_terminal_and_a_notebook_say_what_the_report_says(trial: Trial) -> None:
    views = [
        Trial.summary,
        Trial._repr_html_,
        lambda one: "".join(one.left_out),
        lambda one: one.shown_verdict.text,
    ]
    assert [told(view(trial)) for view in views] == [[]] * len(views)
    assert [bool(told(view(unmasked(trial)))) for view in views] == [
        True,
        True,
        False,
        True,
    ]  # nobody was left out
    assert trial.shown_verdict.text == trial.to_dict()["verdict"]["text"]


@pytest.mark.parametrize(("below", "is_told"), [(10, False), (0, True)])
def test_what_run_prints_is_masked_as_the_report_is(below: int, is_told: bool, tmp_path: Path) -> None:
    planted().to_csv(tmp_path / "planted.csv", index=False)
    spec = tmp_path / "audit.toml"
    spec.write_text(
        f'[data]\nsource = "planted.csv"\ndecision = "granted"\ngroups = ["team"]\n[report]\nsuppress_below = {below}\n'
        '[measure]\nmetric = ["selection_rate"]\nminimum = 2\n'
    )
    shown = CliRunner().invoke(program, ["run", str(spec), "--out", str(tmp_path / "out")])
    assert shown.exit_code == 0, shown.output
    assert "measure" in shown.output, "the section's own line is printed, too"
    assert bool(told(shown.output)) is is_told, shown.output


def test_a_masked_table_has_the_same_columns(trial: Trial) -> None:
    for name, result in trial.results.items():
        shown = {column.name for column in shown_columns(trial.shown[name])}
        assert shown <= {column.name for column in shown_columns(result)}, name


def test_what_is_not_published_is_said_with_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "public"
    planted().to_csv(tmp_path / "planted.csv", index=False)
    spec = tmp_path / "audit.toml"
    spec.write_text(
        '[data]\nsource = "planted.csv"\ndecision = "granted"\ngroups = ["team"]\nfeatures = ["part"]\n'
        '[measure]\nmetric = ["selection_rate"]\n'
        '[scan]\nmetric = "selection_rate"\nprotected = {team = "alpha"}\npermutations = 99\n'
    )
    shown = CliRunner().invoke(program, ["run", str(spec), "--publish", "--out", str(folder)])
    assert shown.exit_code == 0, shown.output
    line = "(scan), because it names a group that is joined with others."  # alpha, with the seven people of zeta-7
    assert line in shown.output
    assert line in (folder / "summary.md").read_text().replace("\\", "")
