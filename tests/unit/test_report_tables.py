"""Tables leave the page safely, and every chart colour has a dark counterpart."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow.parquet as parquet
import pytest

import fairtrial
from inside.results import DARK, json_text, script_text, theme
from inside.trial import build_section, build_table, csv_text, ledger_of, safe_cell, write_parquet


def result_with_labels(*labels: str) -> fairtrial.Result:
    frame = pd.DataFrame(
        {"g": [label for label in labels for _ in range(40)], "d": [0, 1] * (20 * len(labels))}
    )
    return fairtrial.measure(fairtrial.Audit(frame, decision="d", groups="g"), "selection_rate")


@pytest.mark.parametrize("label", ["=1+1", "+1", "-1+2", "@sum(a1)", "\t=1", "\r=1"])
def test_no_cell_is_a_formula(label: str) -> None:
    text = csv_text(result_with_labels(label, "b"))
    rows = list(csv.DictReader(io.StringIO(text)))
    # a label that is a number carries its attribute, which makes it a text
    assert {row["group"] for row in rows} in ({"'" + label, "b"}, {f"g: {label}", "g: b"})
    numbers = [row["difference"] for row in rows]
    assert all(re.fullmatch(r"-?[\d.e-]+", number) for number in numbers), "numbers stay numbers"
    assert safe_cell(label) == "'" + label


def test_csv_and_parquet_hold_the_same(tmp_path: Path) -> None:
    result = result_with_labels("a", "b", "c")
    write_parquet(result, tmp_path / "t.parquet")
    table = parquet.read_table(tmp_path / "t.parquet").to_pydict()
    rows = list(csv.DictReader(io.StringIO(csv_text(result))))
    assert table["group"] == [row["group"] for row in rows]
    assert table["rate"] == [float(row["rate"]) for row in rows]


def test_reasons_are_told_once_per_line() -> None:
    frame = pd.DataFrame({"g": ["a"] * 100 + ["b"] * 3, "d": [0, 1] * 50 + [1, 1, 0]})
    result = fairtrial.measure(fairtrial.Audit(frame, decision="d", groups="g"), "selection_rate")
    small = build_table(result)["lines"][1]
    assert sum("fewer than 30" in cell.text for cell in small) == 1


def test_intervals_of_one_table_say_whose_they_are() -> None:
    columns = build_table(result_with_labels("a", "b", "c"))["columns"]
    told = [column.title + column.of for column in columns]
    assert {"95% interval of rate", "95% interval of difference"} <= set(told)
    assert len(told) == len(set(told)), "no two headings are alike"


def test_data_cannot_end_a_script() -> None:
    text = json_text({"</script>": "<!-- & \u2028"})
    assert "<" not in text
    assert "&" not in text
    assert "\u2028" not in text
    with pytest.raises(ValueError, match="would end its element"):
        script_text("x = '</SCRIPT>'")


def test_every_colour_of_the_theme_has_a_dark_one() -> None:
    used = set(theme.COLOURS.values()) | set(theme.CATEGORIES)
    used |= set(re.findall(r"#[0-9a-f]{6}", str(theme.CONFIG)))
    assert used <= set(DARK)


@pytest.mark.parametrize(("significant", "tone"), [(True, "bad"), (False, "open")])
def test_marks_follow_the_corrected_verdict(significant: bool, tone: str) -> None:
    """A section that is no longer significant after correction over the trial is not red."""
    trial = fairtrial.run(
        {
            "data": {"dataset": "ricci", "decision": "passed", "groups": ["race"]},
            "measure": {"metric": "selection_rate"},
        }
    )
    content = trial.to_dict()
    lines = [replace(line, shown=line.shown and significant) for line in ledger_of(content)]
    shown = build_section(content["sections"][0], lines, 10)["verdict"]
    assert shown["code"] == "violated"
    assert shown["tone"] == tone
    assert shown["text"].startswith("A difference is shown") is significant
