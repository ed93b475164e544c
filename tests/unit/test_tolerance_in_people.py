"""A tolerance may be told in people, '5 in 100', wherever one is taken, and none stands where nobody chose one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairtrial as ft
from fairtrial import InputError
from inside.cli import main
from inside.methods import all_methods
from inside.trial import complete, form_schema, load_spec, open_audit

AUDIT = ft.Audit(
    pd.DataFrame({"g": ["a", "b"] * 500, "d": [1, 0, 0, 0] * 250, "s": np.arange(1000) / 1000}),
    decision="d", groups="g", score="s",
)  # fmt: skip


@pytest.mark.parametrize("told", ["5 in 100", "50 in 1,000", " 5  in 100 "])
def test_people_are_points(told: str) -> None:
    said = ft.certify(AUDIT, "selection_rate", tolerance=told)
    assert said.estimates == ft.certify(AUDIT, "selection_rate", tolerance=0.05).estimates
    assert said.details["tolerance"] == [-0.05, 0.05]


def test_every_tolerance_takes_people() -> None:
    options = [
        one for method in all_methods().values() for one in method.arguments if one.name == "tolerance"
    ]
    assert len(options) >= 6
    for option in options:
        assert option.plain("5 in 100") == 0.05
        assert option.fault("5 in 100") is None
        assert option.read("5 in 100") in ("5 in 100", 0.05)
        assert option.fault("a few") is not None
    for name in ("certify", "flag", "measure"):
        assert "string" in form_schema(all_methods()[name])["properties"]["tolerance"]["type"]
    assert ft.flag(AUDIT, "selection_rate", tolerance=["1 in 100", 0.05]).details["tolerance"] == [0.01, 0.05]
    moved = ft.transport(AUDIT, "statistical_parity", tolerance="5 in 100")
    assert moved.estimates == ft.transport(AUDIT, "statistical_parity", tolerance=0.05).estimates


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"tolerance": "5 in 0"}, "must be a number, '5 in 100', or two numbers"),
        ({"tolerance": "200 in 100"}, "must be a number"),
        ({"tolerance": "about 5"}, "must be a number"),
        ({"tolerance": "5 in 100", "scale": "ratio"}, "is told in people, which is a difference of rates"),
        ({"tolerance": "5 in 100", "metric": "mean_score"}, "a mean has units of its own"),
    ],
)
def test_what_is_no_share_is_refused(how: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as fault:
        ft.certify(AUDIT, **{"metric": "selection_rate", **how})
    assert said in str(fault.value)


def test_the_file_and_the_command_line(tmp_path: Path) -> None:
    text = '[data]\nsource = "d.csv"\ndecision = "d"\ngroups = ["g"]\n[certify]\nmetric = "selection_rate"\n'
    path = tmp_path / "audit.toml"
    pd.DataFrame({"g": ["a", "b"] * 500, "d": [1, 0, 0, 0] * 250}).to_csv(tmp_path / "d.csv", index=False)
    path.write_text(text + 'tolerance = "5 in 100"\n')
    assert ft.run(path).results["certify"].details["tolerance"] == [-0.05, 0.05]
    path.write_text(text + 'tolerance = "few"\n')
    with pytest.raises(InputError, match=r"line 7, \[certify\] tolerance: must be a number, '5 in 100'"):
        load_spec(path)


@pytest.mark.parametrize(
    "preset", ["general", "employment", "lending", "insurance", "risk-score", "public-sector"]
)
def test_no_preset_tolerates_what_nobody_chose(preset: str) -> None:
    data = {"dataset": "compas", "outcome": "two_year_recid", "score": "decile_score", "threshold": 5}
    spec = load_spec({"preset": preset, "data": {**data, "groups": ["race"]}})
    for section in complete(spec, open_audit(spec))[0]:
        assert "tolerance" not in section.arguments
        assert section.method != "certify"


def test_nothing_that_init_writes_tolerates_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pd.DataFrame({"sex": ["m", "f"] * 50, "hired": [1, 0, 0, 1] * 25}).to_csv(tmp_path / "d.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["fairtrial", "init", "d.csv", "--yes"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert not re.search(r"tolerance = \"?[0-9]", (tmp_path / "audit.toml").read_text())
