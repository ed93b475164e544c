"""Ticks tell each other apart, digits on tiles can be read, mirror images stand once."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

import fairtrial
from inside.flag import LIGHT_INK, contrast, tile_colours
from inside.results import axis, digits
from inside.trial import chart_lines


@pytest.mark.parametrize("span", [0.9, 0.3, 0.05, 0.012, 0.002])
def test_neighbouring_ticks_differ(span: float) -> None:
    step = span / 6
    told = [f"{100 * (0.01 + number * step):.{digits(span, 'rate')}f}" for number in range(6)]
    assert len(set(told)) == 6


def test_differences_are_in_points_and_never_in_percent() -> None:
    drawn = json.dumps(axis(0.3, "points").to_dict())
    assert "%" not in drawn
    assert "100 * datum.value" in drawn


@pytest.mark.parametrize("share", [None, -1.0, -0.7, -0.4, 0.0, 0.3, 0.6, 0.8, 1.0])
def test_digits_on_tiles_have_contrast(share: float | None) -> None:
    colours = tile_colours(share, 1.0)
    fill = [int(part) for part in colours["fill"].removeprefix("rgb(").removesuffix(")").split(",")]
    dark = contrast(fill)
    ratio = 1.05 / (0.0503 * dark) if colours["ink"] == LIGHT_INK else dark
    assert ratio >= 4.5


def result() -> Any:
    rows = {"sex": ["f"] * 400 + ["m"] * 400, "d": [1] * 120 + [0] * 280 + [1] * 200 + [0] * 200}
    return fairtrial.Audit(pd.DataFrame(rows), decision="d", groups="sex", favourable=1)


def test_two_groups_that_are_each_others_target_have_one_line() -> None:
    pictures = fairtrial.measure(result(), "selection_rate").pictures()
    lines = chart_lines(pictures[1].chart.to_dict())
    assert len(lines) == 1
    assert lines[0].startswith("f: ") or lines[0].startswith("sex: f: ")
    assert "−20.0" in lines[0]


def test_ratios_are_drawn_as_ratios_with_four_fifths() -> None:
    found = fairtrial.certify(result(), "selection_rate", tolerance=0.8, scale="ratio", target={"sex": "m"})
    [picture] = found.pictures()
    text = json.dumps(picture.chart.to_dict())
    assert "four fifths" in picture.title
    assert '"x": 0.8' in text
    assert '"estimate": 0.6' in text


def test_charts_of_many_groups_fit_a_sheet_and_say_what_they_leave_out() -> None:
    rows = {
        "branch": [f"b{number:02d}" for number in range(70) for _ in range(40)],
        "d": [int(place < (4 if number < 3 else 20)) for number in range(70) for place in range(40)],
    }
    audit = fairtrial.Audit(pd.DataFrame(rows), decision="d", groups="branch", favourable=1)
    found = [
        fairtrial.measure(audit, "selection_rate"),
        fairtrial.certify(audit, "selection_rate", tolerance=0.1),
        fairtrial.flag(audit, "selection_rate"),
    ]
    for answer in found:
        pictures = answer.pictures()
        assert "the 60 smallest p-values of 70 groups" in pictures[0].title
        drawn = pictures[0].chart.to_dict()
        assert {"b00", "b01", "b02"} <= {line.split(":")[0] for line in chart_lines(drawn)}
        assert len({line.split(":")[0] for line in chart_lines(drawn)} - {"the tolerance"}) == 60
        assert '"step": 16' in json.dumps(drawn)
    assert [picture.name for picture in found[-1].pictures()] == ["disparities"], (
        "70 tiles in a row fit no page"
    )


def test_a_legend_names_what_is_drawn() -> None:
    found = fairtrial.certify(result(), "selection_rate", tolerance=0.1, target={"sex": "m"})
    drawn = json.dumps(found.pictures()[0].chart.to_dict())
    assert '"domain": ["violated"]' in drawn
    assert "it is the reference" in drawn
