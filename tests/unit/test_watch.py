"""watch: what is said of a stream of periods, and what its state file guarantees."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fairtrial
from inside.metrics import find_metric
from inside.watch import Monitor, Options, StateFile, open_state, question, to_arrays

Weeks = Callable[..., pd.DataFrame]


def weeks(
    first: int, last: int, *, gap: float = 0.0, n: int = 160, seed: int = 0, groups: str = "AB"
) -> pd.DataFrame:
    """Weekly decisions on a base rate of .3; group A is `gap` above the others."""
    generator = np.random.default_rng([seed, first])
    week = np.repeat(np.arange(first, last + 1), n)
    race = generator.choice(list(groups), week.size)
    rate = 0.3 + gap * (race == "A")
    hired = (generator.random(week.size) < rate).astype(int)
    return pd.DataFrame({"week": week, "race": race, "hired": hired})


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state.jsonl")


def look(state: str, frame: Any, **options: Any) -> Any:
    roles = {"decision": "hired", "groups": "race", **options.pop("roles", {})}
    audit = fairtrial.Audit(frame, **roles)
    return fairtrial.watch(
        state, audit, options.pop("metric", "selection_rate"), **{"period": "week", **options}
    )


# -- what is said ---------------------------------------------------------------------------------------------
def test_violation_found_dated_and_kept(state: str) -> None:
    look(state, weeks(1, 10), tolerance=0.05)
    result = look(state, weeks(11, 30, gap=0.35), tolerance=0.05)
    assert result.verdict.code == "violated"
    row = result.estimates[0]
    assert (row["group"], row["state"]) == ("A", "violated")
    assert 11 <= int(row["since"]) <= 20
    since = result.details["joint"]["since"]
    assert f"in at least one period up to {since}" in result.verdict.text
    assert "the chance of ever saying this wrongly is at most 5%" in result.verdict.text
    later = look(state, weeks(31, 60, gap=0.0), tolerance=0.05)
    assert later.verdict.code == "violated", "what was shown stays said"
    assert later.details["joint"]["since"] == since


def test_dates_of_an_office_come_in_their_order(state: str) -> None:
    frame = weeks(1, 3)
    for dates in (["31.12.2023", "1.2.2024", "02.01.2025"], ["12.2023", "02.2024", "01.2025"]):
        named = frame.assign(week=frame["week"].map(dict(zip((1, 2, 3), dates, strict=True))))
        result = look(f"{state}{len(dates[0])}", named)
        assert result.estimates[0]["since"] in (None, *dates)
        places = [Path(f"{state}{len(dates[0])}").read_text().index(f'"label":"{date}"') for date in dates]
        assert places == sorted(places)
    unclear = frame.assign(week=frame["week"].map({1: "01/02/2024", 2: "02/02/2024", 3: "03/02/2024"}))
    with pytest.raises(fairtrial.InputError, match="the day or the month may come first, got '01/02/2024'"):
        look(f"{state}3", unclear)


def test_no_sentence_mixes_the_two_claims(state: str) -> None:
    look(state, weeks(1, 12), tolerance=0.05, stream={"window": 6}, reference=["1", "6"])
    for frame in (weeks(13, 30, gap=0.3), weeks(31, 90, gap=0.0)):
        result = look(state, frame, tolerance=0.05, stream={"window": 6}, reference=["1", "6"])
        for text in [result.verdict.text, *result.reading()]:
            for sentence in text.split(". "):
                any_period = "at least one period" in sentence or "some period" in sentence
                assert not (any_period and "n average" in sentence), sentence


def test_certified_on_average(state: str) -> None:
    result = look(state, weeks(1, 40, n=600), tolerance=0.1)
    assert result.verdict.code == "certified"
    assert result.tone == "good"
    assert {row["average_state"] for row in result.estimates} == {"certified"}
    assert result.verdict.text.startswith(
        "certified so far: on average from 1 to 40 the selection rate of every group"
    )
    row = result.estimates[0]
    assert row["difference_low"] < row["difference"] < row["difference_high"]
    assert row["difference"] == pytest.approx(row["rate"] - row["target_rate"])


def test_without_tolerance(state: str) -> None:
    result = look(state, weeks(1, 3))
    assert result.verdict.code == "none-shown"
    assert "without a tolerance nothing can be certified" in result.verdict.text
    assert look(state, weeks(4, 40, gap=0.3)).verdict.code == "violated"


@pytest.mark.parametrize("target", [0.3, "overall", {"race": "B"}, "rest"])
def test_targets(state: str, target: Any) -> None:
    result = look(state, weeks(1, 30, gap=0.25, groups="ABC"), target=target, tolerance=0.05)
    rows = {row["group"]: row for row in result.estimates}
    assert rows["A"]["state"] == "violated"
    assert ("B" in rows) == (target != {"race": "B"})
    row = rows["A"]
    assert row["difference_low"] < row["rate"] - row["target_rate"] < row["difference_high"]
    assert row["difference"] == pytest.approx(row["rate"] - row["target_rate"])


def test_ratio(state: str) -> None:
    result = look(state, weeks(1, 40, gap=0.2), scale="ratio", tolerance=0.8)
    row = result.estimates[0]
    assert result.details["tolerance"] == [0.8, 1.25]
    assert row["difference"] is None
    assert row["ratio"] == pytest.approx(row["rate"] / row["target_rate"])
    assert 1.25 < row["ratio_low"] < row["ratio"] < row["ratio_high"]
    assert (row["state"], row["average_state"]) == ("violated", "outside")


def test_direction(state: str, tmp_path: Path) -> None:
    below = look(state, weeks(1, 30, gap=0.3), tolerance=0.05, direction="below", by={"race": "A"})
    above = look(
        str(tmp_path / "b"), weeks(1, 30, gap=0.3), tolerance=0.05, direction="above", by={"race": "A"}
    )
    assert (below.estimates[0]["state"], above.estimates[0]["state"]) == ("no violation shown", "violated")
    assert "selection rate of A was outside" in above.verdict.text, "a single named group is named"


def test_real_values(state: str) -> None:
    frame = weeks(1, 30, n=200)
    frame["wage"] = 10 + 30 * np.random.default_rng(1).beta(2, 4, len(frame)) + 8 * (frame["race"] == "A")
    metric = {"name": "wage", "value": "wage"}
    with pytest.raises(fairtrial.InputError, match="'bounds' are needed: 'wage' has real values"):
        look(state, frame, metric=metric, tolerance=3)
    assert not Path(state).exists(), "what was refused leaves nothing behind"
    with pytest.raises(fairtrial.InputError, match=r"\[10, 20\] do not hold all values"):
        look(state, frame, metric=metric, tolerance=3, stream={"bounds": [10, 20]})
    result = look(state, frame, metric=metric, tolerance=3, stream={"bounds": [0, 60]})
    row = result.estimates[0]
    assert row["value_kind"] == "number"
    assert row["difference_low"] < 8 < row["difference_high"]
    assert row["difference"] == pytest.approx(row["rate"] - row["target_rate"])
    assert row["state"] == "violated"
    assert "on average up to" in result.verdict.text
    assert "at least one period" not in result.verdict.text
    assert "said of the average" in row["state_reason"]


def test_growing_family_has_fixed_weights(state: str) -> None:
    look(state, weeks(1, 2, groups="AB"))
    result = look(state, weeks(3, 30, gap=0.0, groups="ABCD", n=300))
    assert [row["group"] for row in result.estimates] == ["A", "B", "C", "D"]
    assert result.estimates[2]["blocks"] == 28
    assert any(note.code == "fixed-weights" and "half of them kept" in note.text for note in result.notes)


def test_change_is_found_and_dated(state: str) -> None:
    options = {"tolerance": 0.3, "reference": ["1", "20"], "stream": {"run_length": 200}}
    assert look(state, weeks(1, 40), **options).verdict.code in ("certified", "undetermined")
    result = look(state, weeks(41, 70, gap=0.2), **options)
    assert result.verdict.code == "changed"
    assert abs(int(result.estimates[0]["changed"]) - 41) <= 3
    assert "A group without a change raises a false alarm once in 200 periods or more" in result.reading()[0]


def test_no_change_is_silent(state: str) -> None:
    result = look(state, weeks(1, 104), tolerance=0.1, reference=["1", "26"])
    assert result.verdict.code in ("certified", "undetermined")
    assert "No change against 1 to 26 has been noticed." in result.reading()


def test_windows_have_their_own_claims(state: str) -> None:
    result = look(state, weeks(1, 12, gap=0.4, n=400), tolerance=0.05, stream={"window": 4})
    assert len(result.details["windows"]) == 6
    assert result.details["windows"][0]["last"] == "4"
    assert result.details["windows"][2]["violated"]
    assert any(text.startswith("The window 9 to 12 by itself") for text in result.reading())


# -- periods that lack a side ---------------------------------------------------------------------------------
def visits(*present: tuple[int, float, int]) -> pd.DataFrame:
    """Periods of rows of A, the rate of both groups, and 40 rows of B; decisions are the nearest to the rate."""
    rows = []
    for week, (count, rate, others) in enumerate(present, start=1):
        for group, size in (("A", count), ("B", others)):
            rows += [(week, group, int(place < round(rate * size))) for place in range(size)]
    return pd.DataFrame(rows, columns=["week", "race", "hired"])


@pytest.mark.parametrize(("scale", "target"), [
    ("difference", "rest"), ("difference", "overall"), ("difference", {"race": "B"}), ("ratio", "rest"),
])  # fmt: skip
def test_a_group_is_compared_with_people_of_its_periods_only(state: str, scale: str, target: Any) -> None:
    """Both rates are .8 where A is there and .2 where it is not: no gap in any period."""
    frame = visits(*[(20 * (week % 5 == 0), 0.8 if week % 5 == 0 else 0.2, 40) for week in range(1, 101)])
    result = look(state, frame, target=target, scale=scale)
    row = result.estimates[0]
    assert result.verdict.code == "none-shown"
    assert row[scale] == pytest.approx(1.0 if scale == "ratio" else 0.0)
    assert (row["n"], row["blocks"], row["log_e"] <= 0) == (400, 20, True)
    assert result.details["periods_alone"] == 80
    note = next(note.text for note in result.notes if note.code == "alone")
    assert note.startswith("In up to 80 periods a group or its target had no row")
    assert "from 1 to 100, over the periods that had both sides, the" in result.reading()[1]


def test_a_group_that_never_meets_its_target_is_not_compared(state: str) -> None:
    result = look(state, visits(*[(20 * (week % 2), 0.8 if week % 2 else 0.2, 40 * (1 - week % 2))
                                  for week in range(1, 41)]), tolerance=0.05)  # fmt: skip
    assert {row["state"] for row in result.estimates} == {"waiting"}
    assert result.verdict.code == "undetermined"


def test_periods_that_are_pooled_are_said_to_be(state: str) -> None:
    frame = visits(*[(week % 2, float(week % 3 == 0), (week + 1) % 2) for week in range(1, 61)])
    result = look(state, frame, tolerance=0.05, stream={"block": 5})
    assert result.estimates[0]["blocks"] == 6
    assert "taking rates as steady within pooled periods (up to 10)" in result.verdict.text
    assert next(note.text for note in result.notes if note.code == "pooled").startswith("Up to 10 periods")


def test_real_values_lose_no_row_of_their_first_period(state: str) -> None:
    """One row of A cannot both teach a centre and be compared: that period is one block."""
    frame = visits((1, 0.5, 40), (20, 0.5, 40)).assign(wage=lambda rows: rows["hired"] * 0.5)
    result = look(state, frame, metric={"name": "wage", "value": "wage"}, stream={"bounds": [0, 1]})
    row = result.estimates[0]
    assert (row["n"], row["target_n"], row["blocks"], result.details["periods_alone"]) == (21, 80, 2, 0)


def test_the_widest_of_several_groups_holds_for_all_together(state: str, tmp_path: Path) -> None:
    """Its limits reach 2/(α·weight), of weights fixed in advance; the rows keep each group's own."""
    frame = weeks(1, 30, groups="ABCD", gap=0.1)
    result = look(state, frame, tolerance=0.05)
    told = result.reading()[1]
    row = max(result.estimates, key=lambda line: abs(line["difference"]))
    assert f"{row['group']} to everyone else (the widest of the groups)" in told
    assert told.endswith("with 95% confidence for all groups together, at every look.")
    with_level = look(
        str(tmp_path / "own"), frame, tolerance=0.05, confidence_level=1 - 0.05 / 8
    )  # half of a quarter
    same = next(line for line in with_level.estimates if line["group"] == row["group"])
    low, high = (f"{100 * same[end]:+.1f}" for end in ("difference_low", "difference_high"))
    assert f"between {low} and {high} with" in told
    assert same["difference_low"] < row["difference_low"] < row["difference_high"] < same["difference_high"]
    assert any(note.code == "own-intervals" for note in result.notes)
    single = look(str(tmp_path / "single"), frame, by={"race": "A"}, tolerance=0.05)
    assert single.reading()[1].endswith("with 95% confidence at every look.")
    assert all(note.code != "own-intervals" for note in single.notes)


# -- late rows and repeated people ----------------------------------------------------------------------------
def test_rows_after_the_waiting_time_are_counted_and_left_out(state: str) -> None:
    result = look(state, weeks(1, 4), stream={"waiting": 2})
    assert result.details["open_periods"] == ["3", "4"]
    assert result.details["last_period"] == "2"
    result = look(
        state,
        pd.concat([weeks(5, 5), weeks(2, 2, seed=9, n=7), weeks(3, 3, seed=8, n=11)]),
        stream={"waiting": 2},
    )
    assert result.details["left_out_late"] == 7
    assert result.details["last_period"] == "3"
    assert sum(row["n"] for row in result.estimates) == 3 * 160 + 11
    assert any(note.code == "late" for note in result.notes)


def test_lateness_that_depends_on_the_outcome_is_noticed(state: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    for path, selective in ((state, True), (str(tmp_path / "fair"), False)):
        held = weeks(1, 1)[:0]
        for week in range(1, 40):
            frame = weeks(week, week, n=200)
            chance = np.where((frame["race"] == "A") & (frame["hired"] == 1), 0.6, 0.1) if selective else 0.3
            late = generator.random(len(frame)) < chance
            result = look(path, pd.concat([frame[~late], held]), stream={"waiting": 1}, tolerance=0.1)
            held = frame[late]
        said = any("lateness depends on what is measured" in text for text in result.reading())
        assert said == selective
        assert ("among rows labelled in time only" in result.verdict.text) == selective


def test_each_person_once_ever(state: str) -> None:
    frame = weeks(1, 6)
    frame["person"] = np.tile(np.arange(160), 6)
    result = look(state, frame, roles={"unit": "person"})
    assert sum(row["n"] for row in result.estimates) == 160
    again = weeks(7, 7)
    again["person"] = np.arange(100, 260)
    result = look(state, again, roles={"unit": "person"})
    assert sum(row["n"] for row in result.estimates) == 260
    assert any(note.code == "repeated-people" and "60 of 160" in note.text for note in result.notes)
    people = json.loads(Path(state).read_text().splitlines()[1])["line"]["people"]
    assert len(set(people)) == 160
    assert all(len(name) == 16 for name in people), "names are hashed"
    these = look(
        state + "2", frame, roles={"unit": "person"}, stream={"repeated": "these people"}, tolerance=0.2
    )
    assert sum(row["n"] for row in these.estimates) == 960
    assert "of these people" in these.verdict.text


def test_outcome_metrics_are_refused_under_selective_labels(state: str) -> None:
    frame = weeks(1, 10)
    frame["repaid"] = np.where(frame["hired"] == 1, frame["week"] % 2, np.nan)
    with pytest.raises(fairtrial.InputError, match="needs the outcome of people with either decision"):
        look(state, frame, metric="fpr", roles={"outcome": "repaid", "missing": "drop"})
    assert look(state, frame, metric="ppv", roles={"outcome": "repaid", "missing": "drop"}).estimates


# -- the state file -------------------------------------------------------------------------------------------
def test_the_same_batch_twice_is_noticed(state: str) -> None:
    look(state, weeks(1, 3))
    before = Path(state).read_bytes()
    result = look(state, weeks(1, 3).sample(frac=1, random_state=1))
    assert Path(state).read_bytes() == before
    assert [note.code for note in result.notes].count("same-batch") == 1


def test_another_question_is_refused(state: str) -> None:
    look(state, weeks(1, 3), tolerance=0.05)
    before = Path(state).read_bytes()
    with pytest.raises(fairtrial.InputError, match="belongs to a watch with tolerance") as refused:
        look(state, weeks(4, 5), tolerance=0.1, target="overall")
    assert len(refused.value.faults) == 2
    assert Path(state).read_bytes() == before


def test_damage_is_refused(state: str, tmp_path: Path) -> None:
    for week in range(1, 6):
        look(state, weeks(week, week), tolerance=0.05)
    whole = Path(state).read_bytes()
    lines = whole.split(b"\n")
    damages = {
        "a digit": whole.replace(b',"parts":[[[["A"],', b',"parts":[[[["A"],1', 1),
        "a line is missing": b"\n".join(lines[:2] + lines[3:]),
        "two lines changed places": b"\n".join([*lines[:2], lines[3], lines[2], *lines[4:]]),
        "lost lines": b"\n".join(lines[:3]) + b"\n",
    }
    for damage, content in damages.items():
        Path(state).write_bytes(content)
        with pytest.raises(fairtrial.InputError, match="is damaged"):
            look(state, weeks(6, 6), tolerance=0.05)
        assert Path(state).read_bytes() == content, damage
    foreign = tmp_path / "notes.txt"
    foreign.write_text("my notes\n")
    with pytest.raises(fairtrial.InputError, match="is damaged: line 1"):
        look(str(foreign), weeks(6, 6))
    for place in (str(tmp_path), str(tmp_path / "nowhere" / "state")):
        with pytest.raises(fairtrial.InputError, match="'state' must be"):
            look(place, weeks(6, 6))


def test_an_interrupted_write_costs_its_batch_only(state: str) -> None:
    """Cut anywhere in the last line: the lines before it stand, and the batch can be given again."""
    look(state, weeks(1, 1), tolerance=0.05)
    before = Path(state).stat().st_size
    look(state, weeks(2, 2), tolerance=0.05)
    whole = Path(state).read_bytes()
    snapshot = Path(state + ".snapshot.npz")
    snapshot.unlink()  # it is written after the line: a process that dies in the line has none of it
    for cut in range(before, len(whole), 7):
        Path(state).write_bytes(whole[:cut])
        with open_state(Path(state)) as file:
            assert len(file.bodies) == 2
            assert file.unfinished == (cut > before)
    result = look(state, weeks(2, 2), tolerance=0.05)
    assert Path(state).read_bytes() == whole
    assert "unfinished" in [note.code for note in result.notes]


CHILD = """
import sys
from pathlib import Path
import numpy as np
from fairtrial._watch.state_file import open_state
path = Path(sys.argv[1])
while True:
    with open_state(path) as file:
        file.append({"number": len(file.bodies), "text": "x" * 20000})
        file.save_snapshot({"numbers": np.arange(5000)})
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs kill -9")
def test_killed_at_any_moment(state: str) -> None:
    chance = random.Random(5)
    path, lines = Path(state), 0
    for _ in range(6):
        before = path.stat().st_size if path.exists() else 0
        with subprocess.Popen([sys.executable, "-c", CHILD, state]) as child:
            end = time.monotonic() + 60
            while (not path.exists() or path.stat().st_size <= before) and time.monotonic() < end:
                time.sleep(0.002)
            time.sleep(chance.random() / 20)
            child.send_signal(signal.SIGKILL)
        assert child.returncode == -signal.SIGKILL
        with open_state(path) as file:
            assert [line["number"] for line in file.lines()] == list(range(len(file.bodies)))
            assert len(file.bodies) >= lines  # a line that was cut short is not there
            lines = len(file.bodies)
            stored = file.load_snapshot()
            assert stored is None or int(stored["lines"]) <= lines
    assert lines > 0


def test_one_writer_at_a_time(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairtrial._watch.state_file.PATIENCE", 0.1)
    with (
        open_state(Path(state)) as file,
        pytest.raises(fairtrial.InputError, match="is being written by another process"),
        open_state(Path(state)),
    ):
        pass
    assert isinstance(file, StateFile)


def arrays_of(
    path: str, options: dict[str, Any], frame: pd.DataFrame
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the snapshot holds, and what a replay of the lines from the beginning gives."""
    audit = fairtrial.Audit(frame, decision="hired", groups="race")
    named = {**options, **options.get("stream", {})}
    chosen = Options(**{
        "metric": "selection_rate", "period": "week", "by": None, "depth": 1, "target": "rest", "scale": "difference",
        "tolerance": None, "direction": "differs", "bounds": None, "waiting": 0, "window": None, "reference": None,
        "run_length": 500, "block": 1, "repeated": "once", "confidence_level": 0.95,
        **{name: value for name, value in named.items() if name != "stream"},
    })  # fmt: skip
    asked, _ = question(audit, find_metric("watch", "selection_rate"), chosen)
    with open_state(Path(path)) as file:
        stored = file.load_snapshot()
        monitor = Monitor(asked)
        for line in list(file.lines())[1:]:
            monitor.apply(line)
    assert stored is not None
    return stored, to_arrays(monitor)


@pytest.mark.parametrize("options", [
    {"tolerance": 0.05, "stream": {"window": 5}, "reference": ["1", "8"]},
    {"scale": "ratio", "tolerance": 0.8, "stream": {"waiting": 2}},
])  # fmt: skip
def test_replay_equals_weekly_updates_bit_for_bit(state: str, options: dict[str, Any]) -> None:
    for week in range(1, 25):
        frame = weeks(week, week, n=20 + 7 * week % 40, gap=0.1, groups="AB" if week < 9 else "ABC")
        if week > 3:
            frame = pd.concat([frame, weeks(week - 2, week - 2, n=5, seed=week)])
        look(state, frame, **options)
    stored, replayed = arrays_of(state, options, frame)
    assert set(replayed) == set(stored) - {"lines", "hash"}
    for name, values in replayed.items():
        assert np.array_equal(stored[name], values, equal_nan=values.dtype.kind == "f"), name
    Path(state + ".snapshot.npz").unlink()
    anew = look(state, weeks(25, 25), **options)
    Path(state).write_bytes(b"".join(Path(state).read_bytes().splitlines(keepends=True)[:-1]))
    Path(state + ".snapshot.npz").unlink()
    look(state, frame, **options)  # noticed as the same; leaves a snapshot out
    again = look(state, weeks(25, 25), **options)
    assert again.to_dict() == anew.to_dict()


def test_cells_of_any_frame_are_the_same(tmp_path: Path) -> None:
    frame = weeks(1, 4)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    kinds = {"pandas": frame, "polars": pl.from_pandas(frame), "csv": str(tmp_path / "rows.csv")}
    digests = {
        name: look(str(tmp_path / name), rows, tolerance=0.1).provenance["batch"]
        for name, rows in kinds.items()
    }
    assert len(set(digests.values())) == 1


# -- front ends -----------------------------------------------------------------------------------------------
def test_round_trip_charts_and_alert(state: str, tmp_path: Path) -> None:
    alert = tmp_path / "alert.json"
    look(state, weeks(1, 10), tolerance=0.05, alert_file=str(alert))
    assert json.loads(alert.read_text())["alert"] is False
    result = look(state, weeks(11, 40, gap=0.35), tolerance=0.05, alert_file=str(alert))
    content = json.loads(alert.read_text())
    assert content["alert"] is True
    assert [group["group"] for group in content["groups"]] == ["A", "B"]
    assert content["verdict"]["code"] == "violated"
    again = fairtrial.read_result(json.loads(json.dumps(result.to_dict())))
    assert again.to_dict() == result.to_dict()
    assert [picture.name for picture in again.pictures()] == ["status", "average", "evidence"]
    for picture in again.pictures():
        assert json.dumps(picture.chart.to_dict(), allow_nan=False)
    assert "on average so far" in result.summary()
    assert len(result.primary()) == 2
    assert result.primary()[0].p_value < 0.05


def test_the_command(state: str, tmp_path: Path, typed: Any) -> None:
    weeks(1, 10).to_csv(tmp_path / "new.csv", index=False)
    weeks(11, 40, gap=0.4).to_csv(tmp_path / "more.csv", index=False)
    options = [
        "--decision",
        "hired",
        "--by",
        "race",
        "--metric",
        "selection_rate",
        "--period", "week", "--tolerance", "0.05"]  # fmt: skip
    code, out, err = typed("watch", state, str(tmp_path / "new.csv"), *options, "--fail-on", "violated")
    assert (code, err) == (0, "")
    assert "undetermined: on average from 1 to 10" in out
    code, out, _ = typed("watch", state, str(tmp_path / "more.csv"), *options, "--fail-on", "violated")
    assert code == 3
    assert "violated: in at least one period up to" in out
    code, _, err = typed("watch", state, str(tmp_path / "more.csv"), *options, "--fail-on", "fair")
    assert code == 2
    assert "--fail-on must be one of ['violated', 'changed', 'undetermined'], got 'fair'" in err
    code, _, err = typed("watch", str(tmp_path), str(tmp_path / "more.csv"), *options)
    assert (code, err) == (2, f"watch: STATE must be a file, got {str(tmp_path)!r}\n")
    assert "STATE" in typed("watch", "--help")[1]


def test_the_audit_file_and_the_report(tmp_path: Path) -> None:
    weeks(1, 30, gap=0.35).to_csv(tmp_path / "rows.csv", index=False)
    spec = tmp_path / "audit.toml"
    spec.write_text(
        '[data]\nsource = "rows.csv"\ndecision = "hired"\ngroups = ["race"]\n'
        '[watch]\nstate = "watch.jsonl"\nmetric = "selection_rate"\nperiod = "week"\ntolerance = 0.05\n'
    )
    for out in ("first", "second"):  # the same rows again change nothing
        trial = fairtrial.run(spec, out=tmp_path / out)
        assert trial.verdict.code == "violated"
        assert (tmp_path / "watch.jsonl").exists(), "relative to the spec"
    assert len((tmp_path / "watch.jsonl").read_text().splitlines()) == 2
    page = (tmp_path / "first" / "report.html").read_text(encoding="utf-8")
    assert "Does the selection rate of every group stay within 5.0 points of everyone else?" in page
    assert math.isfinite(
        json.loads((tmp_path / "first" / "results.json").read_text())["family"][0]["p_value"]
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"scale": "ratio", "target": "overall"}, "cannot be a ratio to everyone"),
        ({"scale": "ratio", "tolerance": 0}, "of a ratio must be a number above 0"),
        ({"tolerance": 5}, "of a rate is a share"),
        ({"period": "wek"}, "names the unknown column 'wek'"),
        ({"period": "race"}, "'period' cannot be an attribute that is compared"),
        ({"reference": ["9", "3"]}, "must be two periods, the first and the last"),
        ({"stream": {"bounds": [0, 1]}}, "'bounds' are for real values"),
        ({"stream": {"waitng": 1}}, "'stream' may name bounds, .* Did you mean 'waiting'?"),
        ({"stream": {"waiting": -1}}, "'waiting' must be a whole number of at least 0, got -1"),
        ({"stream": {"repeated": "twice"}}, "'repeated' must be one of"),
        ({"target": 1.5}, "of a rate must lie between 0 and 1"),
        ({"roles": {"bins": {"age": 4}}, "by": "age"}, "of 'age' must be edges"),
        (
            {"roles": {"weight": "age"}},
            "'weight' is not honoured by watch, because its people all count alike",
        ),
    ],
)
def test_faults(state: str, options: dict[str, Any], text: str) -> None:
    frame = weeks(1, 3)
    frame["age"] = np.arange(len(frame)) % 60
    with pytest.raises(fairtrial.InputError, match=text):
        look(state, frame, **options)
    assert not Path(state).exists()


def test_periods_come_in_their_order(state: str) -> None:
    result = look(state, weeks(8, 12), tolerance=0.2)
    assert (result.details["first_period"], result.details["last_period"]) == ("8", "12"), "9 before 10"
    frame = weeks(13, 14)
    frame["week"] = None
    with pytest.raises(fairtrial.InputError, match="missing"):
        look(state, frame, tolerance=0.2)


def test_real_values_of_later_batches_come_from_cells(state: str) -> None:
    """The first batch is read row by row to teach it a centre; the same rows again are noticed all the same."""
    metric = {"name": "wage", "value": "wage"}
    frames = [weeks(1, 3), weeks(4, 6)]
    for number, frame in enumerate(frames):
        frame["wage"] = np.random.default_rng(number).random(len(frame))
    for frame in (frames[0], frames[1], frames[0], frames[1]):
        result = look(state, frame, metric=metric, stream={"bounds": [0, 1]}, tolerance=0.2)
    assert result.details["batches"] == 2
    assert sum(row["n"] for row in result.estimates) == 6 * 160
    frames[1]["wage"] += 3
    frames[1]["week"] += 10
    with pytest.raises(fairtrial.InputError, match="do not hold all values"):
        look(state, frames[1], metric=metric, stream={"bounds": [0, 1]}, tolerance=0.2)


@pytest.mark.slow
def test_the_example_of_two_years(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A drift planted in week 60 (2026-W08) is found and dated; without it the watch stays silent."""
    import importlib.util

    path = Path(__file__).parents[2] / "examples" / "watch" / "two_years.py"
    spec = importlib.util.spec_from_file_location("two_years", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    results = module.main(tmp_path)
    silent, found = results["without drift"], results["with drift"]
    assert silent.verdict.code == "certified"
    assert silent.details["changes"] == []
    assert found.verdict.code == "violated"
    assert "2026-W08" < found.details["joint"]["since"] <= "2026-W40"
    change = found.details["changes"][0]
    assert change["group"] == "African-American"
    assert "2026-W05" <= change["since"] <= "2026-W11"
    assert "violated" in capsys.readouterr().out
    assert (tmp_path / "with-drift.html").stat().st_size > 100_000


# -- any engine -----------------------------------------------------------------------------------------------
@pytest.mark.spark
def test_spark_counts_what_pandas_counts(spark: Any, tmp_path: Path) -> None:
    """The weeks of a Spark frame give the same lines, limits and verdict as those of pandas."""
    frame = weeks(1, 12, gap=0.2)
    frame.to_parquet(tmp_path / "weeks.parquet")
    states = [str(tmp_path / name) for name in ("pandas.jsonl", "spark.jsonl")]
    sources = [frame, spark.read.parquet(str(tmp_path / "weeks.parquet"))]
    local, cluster = (
        look(state, source, tolerance=0.05) for state, source in zip(states, sources, strict=True)
    )
    assert local.estimates == cluster.estimates
    assert local.verdict == cluster.verdict
    kept = [[json.loads(line) for line in Path(state).read_text().splitlines()] for state in states]
    assert len(kept[0]) == len(kept[1])
