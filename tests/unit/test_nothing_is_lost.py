"""Output, states and folders are kept: what is damaged, closed, too large or somebody else's is one message."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import fairtrial
from fairtrial import InputError
from inside.trial import load_results, write_report

SPEC = {
    "data": {"dataset": "ricci", "decision": "passed", "groups": ["race"]},
    "measure": {"metric": "selection_rate"},
}


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    return fairtrial.run(SPEC).to_dict()


# -- a watch's state -------------------------------------------------------------------------------------------
@pytest.fixture
def state(tmp_path: Path) -> Path:
    look(tmp_path / "state.jsonl", 1)
    return tmp_path / "state.jsonl"


def look(state: Path, week: int) -> Any:
    rows = pd.DataFrame({"g": ["a", "b"] * 50, "d": [1, 0, 1, 1] * 25, "w": week})
    audit = fairtrial.Audit(rows, decision="d", groups=["g"])
    return fairtrial.watch(str(state), audit, "selection_rate", period="w", tolerance=0.05)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
@pytest.mark.parametrize("snapshot", [True, False])
def test_a_state_cut_inside_its_first_line_does_not_begin_anew(
    share: float, snapshot: bool, state: Path
) -> None:
    first = state.read_bytes().split(b"\n")[0]
    kept = state.with_name("state.jsonl.snapshot.npz")
    if not snapshot:
        kept.unlink()
    cut = first[: int(share * len(first))]
    state.write_bytes(cut)
    if not snapshot and not cut:
        assert (
            look(state, 2).verdict.code == "undetermined"
        )  # nothing is left that would tell of an earlier one
        return
    with pytest.raises(InputError, match="is damaged") as refused:
        look(state, 2)
    assert (kept.name in str(refused.value)) is snapshot
    assert not cut or state.read_bytes() == cut


# -- folders ---------------------------------------------------------------------------------------------------
def test_publishing_takes_nothing_of_the_owners_away(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "mine.csv").write_text("own")
    with pytest.raises(InputError, match="holds files of another report"):
        fairtrial.run(SPEC, out=tmp_path, publish=True)
    assert [path.name for path in tmp_path.rglob("*")] == ["tables", "mine.csv"]


@pytest.mark.parametrize("publish", [True, False])
def test_one_folder_is_for_the_owner_or_for_strangers(
    publish: bool, content: dict[str, Any], tmp_path: Path
) -> None:
    other = copy.deepcopy(content)
    other["report"]["publish"] = not publish
    (tmp_path / "results.json").write_text(json.dumps(other))
    held = (tmp_path / "results.json").read_bytes()
    with pytest.raises(InputError, match="not made for strangers" if publish else "what was published"):
        fairtrial.run(SPEC, out=tmp_path, publish=publish)
    assert (tmp_path / "results.json").read_bytes() == held


# -- numbers ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("value", [1e308, -1e308, 1.1e300])
@pytest.mark.parametrize("place", ["rate", "difference_low", "difference"])
def test_a_number_that_overflows_is_one_message(
    value: float, place: str, content: dict[str, Any], tmp_path: Path
) -> None:
    large = copy.deepcopy(content)
    large["sections"][0]["result"]["estimates"][2][place] = value
    path = tmp_path / "results.json"
    path.write_text(json.dumps(large))
    with pytest.raises(InputError, match="is no number that a trial writes"):
        write_report(load_results(path), tmp_path / "page.html")


# -- the command -----------------------------------------------------------------------------------------------
def command(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program = f"{sys.executable} -m fairtrial"
    return subprocess.run(
        ["bash", "-c", text.replace("fairtrial", program)],
        cwd=folder,
        capture_output=True,
        text=True,
        env=dict(os.environ),
    )


@pytest.mark.parametrize(
    "text", ["fairtrial measure x.csv --decision d --by g --metric selection_rate >&-",
             "fairtrial measure x.csv --decision d --by g --metric selection_rate 2>&- >&-",
             "set -o pipefail; fairtrial measure x.csv --decision d --by g --metric selection_rate | true"],
)  # fmt: skip
def test_closed_output_is_no_traceback(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("g,d\n" + "a,1\na,0\nb,1\nb,0\n" * 20)
    done = command(text, tmp_path)
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr
    assert done.returncode in (0, 1)


@pytest.mark.parametrize(
    ("limit", "way"), [("ulimit -v 1000000", "ulimit -v"), ("ulimit -d 200000", "ulimit -d")]
)
def test_too_little_memory_is_a_message(limit: str, way: str, tmp_path: Path) -> None:
    done = command(f"{limit}; fairtrial run audit.toml", tmp_path)
    assert done.returncode == 2, done.stderr
    assert way in done.stderr
    assert "Traceback" not in done.stderr


def test_the_advice_to_go_on_can_be_typed() -> None:
    from inside.cli import CommandSpeech

    assert CommandSpeech((), {"resume": "--resume"}).setting("resume", True, "") == "--resume"
