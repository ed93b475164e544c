"""Text and HTML show what the result holds, and no text from data can run."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import pytest

from fairtrial import Audit, measure
from inside.results import chart_page, format_value, summary_text, table, undefined
from inside.trial import csv_text

EVIL = "</td></script><img src=x onerror=alert(1)>&\"'"


def measured(labels=("a", "b"), **arguments):
    rows = [(labels[i % 2], i % 3 == 0) for i in range(200)]
    audit = Audit(pd.DataFrame(rows, columns=["g", "d"]), decision="d")
    return measure(audit, by="g", **arguments)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (0.44847, "rate", "44.8%"), (0.2139, "points", "+21.4"), (-0.2139, "points", "-21.4"),
        (12345, "count", "12,345"),
        (3e-7, "p", "<0.001"), (0.0312, "p", "0.031"), (1.0, "p", "1.000"), (1.2345, "ratio", "1.23"),
        (12345.6, "number", "12,346"), (True, "flag", "yes"), (False, "flag", "no"), (None, "rate", "–"),
        ("a", "text", "a"), (0.0, "rate", "0.0%"),
    ],
)  # fmt: skip
def test_formats(value, kind, text):
    assert format_value(value, kind) == text


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def test_labels_are_escaped_in_html():
    page = measured((EVIL, "b"))._repr_html_()
    parsed = Tags()
    parsed.feed(page)
    tags = {tag for tag, _ in parsed.found}
    assert not tags & {"script", "img", "iframe", "object", "link"}
    assert not any(name.startswith("on") for _, attributes in parsed.found for name in attributes)
    assert any(EVIL in text for text in parsed.text), "the label itself is shown"
    assert "http://" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", page), "nothing is fetched"


def test_labels_are_inert_in_chart_pages():
    result = measured((EVIL, "b"))
    page = chart_page(result.pictures(), title=EVIL)
    parsed = Tags()
    parsed.feed(page)
    assert not {tag for tag, _ in parsed.found} & {"img", "iframe", "object", "link"}
    assert EVIL not in page


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_csv_holds_no_formulas(start):
    rows = list(csv.DictReader(io.StringIO(csv_text(measured((start, "b"))))))
    named = start in ("+1", "-1")  # a number says nothing without its attribute
    assert {row["group"] for row in rows} == ({f"g: {start}", "g: b"} if named else {"'" + start, "b"})
    numbers = [float(row["difference"]) for row in rows]
    assert min(numbers) < 0, "numbers stay numbers"


def test_csv_holds_every_column_and_the_reasons():
    result = measured(minimum=101)
    rows = list(csv.reader(io.StringIO(csv_text(result))))
    assert rows[0] == [column.name for column in result.columns] + ["reason"]
    assert rows[1][-1] == "fewer than 101 members"
    assert {len(row) for row in rows} == {len(result.columns) + 1}


def test_text_table():
    headings, lines = table(measured(target={"g": "b"}))
    assert headings[:6] == ["metric", "group", "n", "rate", "95% interval", "compared with"]
    assert len({len(line) for line in lines}) == 1
    assert len(lines[0]) == len(headings)
    first = dict(zip(headings, lines[0], strict=True))
    assert first["group"] == "a"
    assert first["rate"] == "34.0%"
    assert re.fullmatch(r"\d+\.\d to \d+\.\d", lines[0][4])


def test_summary_says_everything():
    result = measured(minimum=101)
    text = summary_text(result)
    assert text == str(result) == result.summary()
    for part in (result.question, result.verdict.text, "not tested: fewer than 101 members"):
        assert part in text
    for note in result.notes:
        assert note.text.split()[0] in text
    assert "nan" not in text.lower()


def test_long_reasons_stand_below_the_text_table_once():
    result = measured(minimum=101)
    why = "nobody is left who could be compared, in either group"
    rows = tuple({**row, "rate_low": undefined(why)} for row in result.estimates)
    lines = replace(result, estimates=rows).summary().splitlines()
    assert [line for line in lines if why in line] == [f"[1] {why}"]
    assert sum("[1]" in line for line in lines) == len(rows) + 1
    assert all(line.endswith("fewer than 101 members") for line in lines[3 : 3 + len(rows)])


def test_real_values_are_not_shown_as_percent():
    from fairtrial import Metric

    rows = [("ab"[i % 2], 3.5 + i % 7) for i in range(100)]
    audit = Audit(pd.DataFrame(rows, columns=["g", "cost"]))
    text = measure(audit, Metric("cost", "cost"), by="g").summary()
    assert "%" not in text.split("Verdict")[0].replace("95% interval", "")
    assert "points" not in text
