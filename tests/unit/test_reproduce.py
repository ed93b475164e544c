"""Tables and figures of the papers, one at a time; and the data files they take from a user."""

from __future__ import annotations

import csv
import re
import string
from pathlib import Path
from typing import Any

import pytest

import fairtrial
from fairtrial.papers._reproduction import Reproduction
from fairtrial.papers._studies import conditional_bias_scan, elfa, improvability, shapley_rawls, transport
from fairtrial.papers._studies.parts.keeping import template

STUDIES = (elfa, transport, conditional_bias_scan, shapley_rawls, improvability)
PAPERS = {study.__name__.rpartition(".")[2]: study.ITEMS for study in STUDIES}
# Figure 4 of improvability shows nothing that is computed: it is a drawing of the game of its section 5.
PRINTED = {
    "elfa": ({"1", "2", "3"}, {"1", "2", "3", "4", "5", "6", "e1", "e2", "e3"}),
    "transport": ({"1", "2", "3", "4"}, {"1", "2"}),
    "conditional_bias_scan": ({"4"}, {"1", "2", "3", "4", "5", "6", "7"}),
    "shapley_rawls": ({"1", "2", "3", "4", "5", "6"}, {"1"}),
    "improvability": ({"1", "2", "3", "4", "5", "6"}, {"2", "3", "5", "6", "7"}),
}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_printed_table_and_figure_has_its_study(paper: str) -> None:
    tables, figures = PRINTED[paper]
    assert set(PAPERS[paper]) == {f"table {n}" for n in tables} | {f"figure {n}" for n in figures}


@pytest.mark.filterwarnings("ignore")
def test_a_figure_has_its_numbers_and_its_drawing() -> None:
    found = fairtrial.papers.elfa.reproduce(figure=4)
    assert isinstance(found, Reproduction)
    first = found.rows[0]
    assert (first["group"], first["n"], first["printed"]) == ("All", "2,174", "0.018 to 0.058")
    assert str(found.svg()).startswith("<svg")


@pytest.mark.filterwarnings("ignore")
def test_trees_are_trees() -> None:
    """Figure 6 has two trees, whose boxes hold every leaf's whole label."""
    found = fairtrial.papers.elfa.reproduce(figure=6)
    assert [row["figure"] for row in found.rows[:2]] == ["6 (a)", "6 (b)"]
    assert all(
        label in str(found.chart) for label in ("Greater than 45", "African-American", "Native American")
    )


def test_a_table_of_a_file_that_is_not_public_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRTRIAL_DATA", raising=False)
    found = fairtrial.papers.improvability.reproduce(table=1)
    assert "not public" in found.text
    assert found.rows[0]["Black a1"] == "7.55"


def test_what_there_is_not_is_named() -> None:
    with pytest.raises(fairtrial.InputError, match=r"'table' must be one of \['1', '2', '3'\]"):
        fairtrial.papers.elfa.reproduce(9)
    with pytest.raises(fairtrial.InputError, match="one table or one figure"):
        fairtrial.papers.elfa.reproduce()


@pytest.mark.parametrize("paper", PAPERS)
def test_a_page_says_what_its_template_says(paper: str) -> None:
    """A page is not edited by hand: what stands around its numbers is in `_studies/pages`."""
    docs = Path(__file__).parents[2] / "docs" / "papers"
    page = (docs / f"{'shapley_meets_rawls' if paper == 'shapley_rawls' else paper}.md").read_text("utf-8")
    for said, *_ in string.Formatter().parse(template(paper)):
        assert said.strip() in page, said


def test_signatures_name_every_table() -> None:
    for paper, items in PAPERS.items():
        said = str(getattr(fairtrial.papers, paper).reproduce.__doc__)
        for item in items:
            kind, number = item.split()
            [line] = re.findall(rf"A {kind}'s number; (.*)\.", said)
            spans = re.findall(r"(\d+) to (\d+)", line)
            named = {str(n) for low, high in spans for n in range(int(low), int(high) + 1)}
            assert number in named | set(re.findall(r"\w+", line.lower())), (paper, item)


def write(path: Path, rows: list[list[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def test_a_file_is_checked(tmp_path: Path) -> None:
    people = [[k % 90, int(k < 249), *[1] * 277, 1 if k < 245 else 2] for k in range(452)]
    table = fairtrial.papers.data("arrhythmia", write(tmp_path / "arrhythmia.csv", people))
    assert table.shape == (452, 280)
    assert table.column_names[:3] == ["age", "sex", "height"]
    assert fairtrial.papers.data("arrhythmia", tmp_path).equals(table)  # a folder that holds it
    with pytest.raises(fairtrial.InputError, match="must have 452 rows, got 451"):
        fairtrial.papers.data("arrhythmia", write(tmp_path / "short.csv", people[1:]))
    with pytest.raises(fairtrial.InputError, match="1885 rows"):
        fairtrial.papers.data("drug_consumption", tmp_path / "arrhythmia.csv")
    with pytest.raises(fairtrial.InputError, match="16099 rows"):
        fairtrial.papers.data("patients_holdout", write(tmp_path / "p.csv", [["a"], [1]]))
    with pytest.raises(fairtrial.InputError, match="must be a file that exists"):
        fairtrial.papers.data("patients", tmp_path / "none.csv")


def test_on_the_command_line(typed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRTRIAL_DATA", raising=False)
    code, said, _ = typed("papers", "improvability", "reproduce", "--table", "1")
    assert code == 0
    assert "7.55" in said
    code, _, fault = typed("papers", "elfa", "reproduce", "--table", "9")
    assert code == 2
    assert "--table" in fault
    code, _, fault = typed(
        "papers", "improvability", "reproduce", "--table", "1", "--out", str(tmp_path / "a.svg")
    )
    assert code == 2
    assert "figures" in fault
