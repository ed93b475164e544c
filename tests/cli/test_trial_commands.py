"""`run`, `demo`, `report`, `diff` and `init` as a user types them: exit codes, files, messages."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairtrial
from inside.cli import main
from inside.ground import Fault
from inside.trial import load_results, load_spec, open_audit
from method_stand_ins import stand_in

SMALL = """\
[data]
dataset = "compas"
outcome = "two_year_recid"
score = "decile_score"
threshold = 5
groups = ["sex"]

[measure]
metric = ["fpr"]
"""


class Command:
    """Runs `fairtrial …` in this process, in a folder of its own."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
    ) -> None:
        self.monkeypatch, self.capsys, self.folder = monkeypatch, capsys, folder
        monkeypatch.chdir(folder)

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self.monkeypatch.setattr(sys, "argv", ["fairtrial", *arguments])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        said = self.capsys.readouterr()
        return code, said.out, said.err


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    return Command(monkeypatch, capsys, tmp_path)


def healthcare_frame(n: int = 3000) -> pd.DataFrame:
    """People whose costs stand for need, although one group costs less at the same need (Obermeyer et al., 2019)."""
    random = np.random.default_rng(11)
    race = random.choice(["Black", "White"], n, p=[0.3, 0.7])
    need = random.poisson(np.where(race == "Black", 2.6, 2.0))
    cost = need * 900 * np.where(race == "Black", 0.7, 1.0) * random.lognormal(0, 0.4, n)
    score = pd.Series(cost).rank(pct=True).mul(100).round(1)
    return pd.DataFrame(
        {
            "patient_id": np.arange(n),
            "race": race,
            "sex": random.choice(["F", "M"], n),
            "chronic_conditions": need,
            "cost": cost.round(2),
            "risk_score": score,
            "enrolled": (score > 80).astype(int),
        }
    )


@pytest.mark.slow
def test_run_writes_everything_and_says_where(command: Command) -> None:
    (command.folder / "audit.toml").write_text(SMALL)
    code, out, err = command("run", "audit.toml", "--out", "there", "--seed", "3")
    assert code == 0, err
    assert "there/report.html" in out
    assert re.search(r"measure +done", err)
    content = load_results(command.folder / "there")
    assert content["seed"] == 3
    assert content["spec"]["text"] == SMALL
    code, out, _ = command("run", "audit.toml")
    assert (command.folder / "audit-report" / "report.html").exists()


@pytest.mark.slow
def test_exit_codes(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    (command.folder / "audit.toml").write_text(SMALL.replace('groups = ["sex"]', 'groups = ["race"]'))
    assert command("run", "audit.toml", "--fail-on", "undetermined")[0] == 0
    assert command("run", "audit.toml", "--fail-on", "violated")[0] == 3
    assert command("run", "missing.toml")[0] == 2
    code, _, err = command("run", "audit.toml", "--fail-on", "unfair")
    assert code == 2
    assert "'violated', 'undetermined'" in err

    def refuse(*arguments: Any, **named: Any) -> None:
        raise fairtrial.InputError("measure", Fault("", "cannot be asked today"))

    def break_down(*arguments: Any, **named: Any) -> None:
        raise RuntimeError("out of bees")

    stand_in(monkeypatch, "measure", refuse)
    code, _, err = command("run", "audit.toml", "--out", "refused")
    assert code == 4
    assert "cannot be asked today" in err
    assert "--resume" in err
    stand_in(monkeypatch, "measure", break_down)
    code, _, err = command("run", "audit.toml", "--out", "broken")
    assert code == 1
    assert "Traceback" in err


def test_bad_input_leaves_nothing_behind(command: Command) -> None:
    (command.folder / "audit.toml").write_text(SMALL.replace("fpr", "fprr"))
    code, out, err = command("run", "audit.toml", "--out", "there")
    assert code == 2
    assert "line 9, [measure] metric" in err
    assert "Did you mean 'fpr'?" in err
    assert out == ""
    assert not (command.folder / "there").exists()


@pytest.mark.slow
def test_report_again_and_diff(command: Command) -> None:
    (command.folder / "audit.toml").write_text(SMALL)
    command("run", "audit.toml", "--out", "old")
    command("run", "audit.toml", "--out", "same")
    (command.folder / "audit.toml").write_text(
        SMALL.replace('"sex"', '"race"').replace("threshold = 5", "threshold = 7")
    )
    command("run", "audit.toml", "--out", "new")
    page = (command.folder / "old" / "report.html").read_text()
    code, out, _ = command("report", "old/results.json", "--out", "again.html")
    assert code == 0
    assert (command.folder / "again.html").read_text() == page
    code, out, _ = command("diff", "old", "same/results.json")
    assert code == 0
    assert "The verdict is the same" in out
    assert "Nothing changed" in out
    code, out, _ = command("diff", "old", "new")
    assert "roles" in out
    assert "Asked in one audit only" in out
    code, out, _ = command("diff", "old", "new", "--json")
    assert json.loads(out)["setting"]
    assert command("report", "nothing.json")[0] == 2
    assert command("diff", "old", "audit.toml")[0] == 2


# dataset → what init must find by itself
FOUND: dict[str, dict[str, Any]] = {
    "ricci": {"preset": "employment", "decision": "passed", "groups": ["race"]},
    "compas": {"preset": "risk-score", "outcome": "two_year_recid", "score": "decile_score", "threshold": 5},
    "adult": {
        "preset": "general",
        "outcome": "income",  # earned, not decided
        "positive": {"outcome": ">50K"},
        "groups": ["race", "sex"],
    },
    "care": {
        "preset": "healthcare",
        "decision": "enrolled",
        "outcome": "chronic_conditions",
        "groups": ["race", "sex"],
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FOUND)
def test_init_alone_gives_a_spec_that_runs(name: str, command: Command) -> None:
    frame = healthcare_frame() if name == "care" else fairtrial.load(name, backend="pandas")
    frame.to_csv(command.folder / f"{name}.csv", index=False)
    code, _, err = command("init", f"{name}.csv", "--yes")
    assert code == 0, err
    text = (command.folder / "audit.toml").read_text()
    content = tomllib.loads(text)
    for key, value in FOUND[name].items():
        assert (content if key == "preset" else content["data"])[key] == value
    assert text.count("#") > 15, "the file explains itself"
    load_spec(command.folder / "audit.toml")
    code, _, err = command("run", "audit.toml", "--out", "out")
    assert code == 0, err
    verdict = load_results(command.folder / "out")["verdict"]
    if {"decision", "score"} & {*content["data"]}:
        assert verdict["code"] == "violated"
    else:
        assert "Name the decision to have it tested" in verdict["text"]


def test_init_reads_parquet_and_does_not_write_over(command: Command) -> None:
    healthcare_frame(400).to_parquet(command.folder / "care.parquet")
    assert command("init", "care.parquet", "--yes")[0] == 0
    code, _, err = command("init", "care.parquet", "--yes")
    assert code == 2
    assert "--force" in err
    assert command("init", "care.parquet", "--yes", "--force", "--preset", "employment")[0] == 0
    assert tomllib.loads((command.folder / "audit.toml").read_text())["preset"] == "employment"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv", "--yes"], "nowhere.csv"),
        (
            ["plain.csv"],
            "--decision, --outcome, --score and --group, or take the guesses with --yes",
        ),
        (["plain.csv", "--yes", "--preset", "hiring"], "'employment'"),
        (
            ["lone.csv", "--yes"],
            "no decision, outcome or score: name one with --decision, --outcome or --score",
        ),
        (
            ["plain.csv", "--decision", "colur"],
            "--decision names the unknown column 'colur'. Did you mean 'colour'?",
        ),
        (["plain.csv", "--decision", "size", "--group", "sex"], "--group names the unknown column 'sex'"),
        (["ids.csv", "--yes"], "no column to compare people by"),
    ],
)
def test_init_refuses_with_a_cure(arguments: list[str], message: str, command: Command) -> None:
    (command.folder / "plain.csv").write_text("colour,size\nred,1\nblue,2\n" * 3)
    (command.folder / "lone.csv").write_text("colour\nred\nblue\n" * 3)
    (command.folder / "ids.csv").write_text("id\n" + "".join(f"p{i}\n" for i in range(60)))
    code, _, err = command("init", *arguments)
    assert code == 2
    assert message in err
    assert not (command.folder / "audit.toml").exists()


def test_init_asks_on_a_terminal(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    healthcare_frame(400).to_csv(command.folder / "care.csv", index=False)
    answers = {
        "Is this right?": ["decision, compared, outcome, score"],
        "What was decided": ["enroled", "enrolled"],
        "What really happened": ["-"],
        "The score": ["risk_score"],
        "Whom to compare": ["race"],
        "enrolled: 0 for 80 of 100": ["good", "1"],
        "Enter takes these": ["kind=lending", ""],
    }
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(
        "typer.prompt",
        lambda text, default=None, show_default=True: next(
            answers[start] for start in answers if text.startswith(start)
        ).pop(0),
    )
    code, _, err = command("init", "care.csv")
    assert code == 0, err
    assert "Did you mean 'enrolled'?" in err
    content = tomllib.loads((command.folder / "audit.toml").read_text())
    assert content["preset"] == "lending"
    assert content["data"]["groups"] == ["race"]
    assert "outcome" not in content["data"]
    assert content["data"]["favourable"] == 1


def test_labels_with_quotes_make_a_valid_spec(command: Command) -> None:
    frame = pd.DataFrame({'the "sex"': ["a", "b"] * 30, "hired": ['y"es', "n\\o"] * 30})
    frame.to_csv(command.folder / "odd.csv", index=False)
    code, _, err = command("init", "odd.csv", "--yes")
    assert code == 2  # neither label says which means yes
    assert """--positive 'n\\o' or --positive 'y"es'""" in err
    for label in ('y"es', "n\\o"):
        assert command("init", "odd.csv", "--yes", "--force", "--positive", label)[0] == 0
        data = tomllib.loads((command.folder / "audit.toml").read_text())["data"]
        assert data["groups"] == ['the "sex"']
        assert data["positive"]["decision"] == label


def test_the_bundled_spec_is_one(command: Command) -> None:
    spec = load_spec(Path(fairtrial.__file__).parent / "datasets" / "compas.toml")
    assert {section.method for section in spec.sections} >= {
        "measure", "certify", "flag", "scan", "transport", "explain", "improve",
    }  # fmt: skip
    open_audit(spec)
