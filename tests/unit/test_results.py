"""Results hold plain values, go through JSON and come back."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import fairtrial
from fairtrial import Audit, InputError, measure, read_result
from inside.ground import Note
from inside.results import SCHEMA, Verdict, defined_or, reason, scalar, undefined


def result(**arguments):
    random = np.random.default_rng(5)
    group = np.repeat(["a", "b", "tiny"], [90, 60, 4])
    frame = pd.DataFrame({"g": group, "y": random.integers(0, 2, 154), "d": random.integers(0, 2, 154)})
    audit = Audit(frame, outcome="y", decision="d")
    return measure(audit, ["tpr", "selection_rate"], by="g", **arguments)


def test_round_trip_through_json():
    first = result()
    text = json.dumps(first.to_dict(), allow_nan=False)
    again = read_result(json.loads(text))
    assert type(again) is type(first)
    assert again.to_dict() == first.to_dict()
    assert again.summary() == first.summary()
    assert again.reading() == first.reading()
    assert again.primary() == first.primary()
    assert again.plot().to_dict() == first.plot().to_dict()
    pd.testing.assert_frame_equal(again.to_frame(all=True), first.to_frame(all=True))


def test_the_form_of_the_dict():
    content = result().to_dict()
    assert list(content) == [
        "schema", "kind", "question", "null", "verdict", "claims", "estimates", "details", "notes", "provenance",
    ]  # fmt: skip
    assert content["schema"] == SCHEMA
    assert content["kind"] == "measure"
    assert set(content["verdict"]) == {"code", "text"}
    names = [column.name for column in type(result()).columns]
    # columns of other questions (cuts, thresholds, unknown outcomes) are there only when these were asked
    assert all(list(row) == [name for name in names if name in row] for row in content["estimates"])
    assert {"metric", "group", "n", "rate", "difference", "ratio", "p_adjusted", "state"} <= set(
        content["estimates"][0]
    )
    assert content["provenance"]["versions"]["fairtrial"]
    assert content["provenance"]["frame"] == "pandas"


def test_columns_do_not_depend_on_what_was_asked():
    few, many = result(target={"g": "a"}), result(depth=2, minimum=1)
    assert [list(row) for row in few.estimates[:1]] == [list(row) for row in many.estimates[:1]]
    assert list(few.to_frame(all=True).columns) == list(many.to_frame(all=True).columns)
    assert few.to_frame(all=True).dtypes.to_dict() == many.to_frame(all=True).dtypes.to_dict()


def test_undefined_is_a_reason():
    rows = {row["group"]: row for row in result().estimates if row["metric"] == "selection_rate"}
    cell = rows["tiny"]["difference"]
    assert cell == {"value": None, "reason": "fewer than 30 members"}
    assert scalar(cell) is None
    assert reason(cell) == "fewer than 30 members"
    assert reason(0.5) is None
    assert defined_or(float("inf"), "no limit") == undefined("no limit")
    assert defined_or(np.float64(0.5), "no limit") == 0.5


def test_nothing_but_json_values():
    from dataclasses import replace

    sound = result()
    with pytest.raises(ValueError, match="not JSON compliant"):
        replace(sound, details={"x": float("nan")}).to_dict()
    with pytest.raises(TypeError, match="JSON values only, got Audit"):
        replace(sound, details={"x": Audit(pd.DataFrame({"d": [0]}), decision="d")}).to_dict()
    kept = replace(
        sound, details={"x": np.arange(3), "y": np.float32(0.5), "z": {"b", "a"}}, objects={"model": object()}
    )
    assert kept.to_dict()["details"]["x"] == [0, 1, 2]
    assert "objects" not in kept.to_dict()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({}, f"'schema' must be {SCHEMA!r}, got None"),
        ({"schema": "fairtrial/result/9"}, "got 'fairtrial/result/9'"),
        ({"schema": SCHEMA, "kind": "guess"}, "'kind' must be one of ['certify', 'compare',"),
        ({"schema": SCHEMA}, "'kind' must be one of"),
        ({"schema": SCHEMA, "kind": "measure"}, "lacks 'question'"),
        ([1], "must be a dict"),
    ],
)
def test_other_contents_are_refused(content, text):
    with pytest.raises(InputError) as caught:
        read_result(content)
    assert str(caught.value).startswith("read_result: ")
    assert text in str(caught.value)


def test_results_are_frozen():
    found = result()
    with pytest.raises(AttributeError):
        found.question = "x"
    with pytest.raises(AttributeError):
        Note("a", "b").code = "c"
    assert Verdict("a", "b") == Verdict("a", "b")


def test_primary_p_values():
    found = result()
    tested = [row for row in found.estimates if scalar(row["p_value"]) is not None]
    assert [item.p_value for item in found.primary()] == [row["p_value"] for row in tested]
    for item, row in zip(found.primary(), tested, strict=True):
        assert item.metric == found.details["labels"][row["metric"]]
        assert (item.effect, item.low, item.high) == tuple(
            row[name] for name in ("difference", "difference_low", "difference_high")
        )
        assert item.n == row["n"]
        assert item.against == "everyone else"


def test_a_result_without_a_chart_is_shown_all_the_same():
    bare = fairtrial.Result(question="Is it?", null="It is.", verdict=Verdict("yes", "it is"), estimates=())
    assert "it is" in bare._repr_html_()
    with pytest.raises(InputError, match="has no chart"):
        bare.plot()


@pytest.mark.parametrize(
    ("name", "begins"), [("c.html", b"<!doctype html>"), ("c.svg", b"<svg"), ("c.png", b"\x89PNG")]
)
def test_a_chart_is_written_where_it_is_asked_for(tmp_path, name, begins):
    first = result()
    chart = first.plot(str(tmp_path / name))
    assert chart.to_dict() == first.plot().to_dict()
    written = (tmp_path / name).read_bytes()
    assert written.lower().startswith(begins.lower())
    assert b"cdn." not in written
    with pytest.raises(InputError, match=r"must end in \.html, \.svg or \.png"):
        first.plot(str(tmp_path / "c.pdf"))
