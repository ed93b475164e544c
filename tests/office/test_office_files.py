"""Fifteen habits of offices give one table, and what was changed on the way is said; what nobody can know is asked."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairtrial import Audit, InputError, measure
from office.makers import MAKERS, NAMES, PEOPLE, excel_titles, german, germany, text_of, workbook, written

ROLES: dict[str, Any] = {"outcome": "Eingestellt", "groups": "Geschlecht", "features": ["Alter", "Gehalt"]}


def opened(data: object, **more: Any) -> Audit:
    return Audit(data, score="Treffer %", **ROLES, **more)


def numbers(audit: Audit, *names: str) -> list[list[float]]:
    rows = audit.rows(columns=names)
    return [rows.columns[name].tolist() for name in names]


def said(audit: Audit) -> list[str]:
    return [note.text for note in audit.notes() if note.code == "as-read"]


def message(call: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_every_habit_gives_the_same_table(maker: Callable[[Path], Path], tmp_path: Path) -> None:
    audit = opened(maker(tmp_path))
    assert audit.source.columns == NAMES
    assert numbers(audit, "Gehalt", "Treffer %", "Alter") == [
        [row[place] for row in PEOPLE] for place in (2, 3, 1)
    ]
    assert audit.levels("Geschlecht") == ("divers", "männlich", "weiblich")
    rates = {
        row["group"]: (row["n"], row["rate"]) for row in measure(audit, "base_rate", minimum=1).estimates
    }
    assert rates == {"weiblich": (2, 1.0), "männlich": (2, 0.0), "divers": (1, 1.0)}


def test_two_formats_have_one_digest(tmp_path: Path) -> None:
    digests = {maker.__name__: opened(maker(tmp_path)).digest() for maker in MAKERS}
    assert len(set(digests.values())) == 1, digests


def test_what_was_changed_is_said(tmp_path: Path) -> None:
    assert said(opened(germany(tmp_path))) == [
        "The text is read as Western European (Windows-1252), such as '€'.",
        "'Gehalt' is read as numbers: 5 values such as '41.250,50 €' for 41250.5.",
        "'Treffer %' is read as numbers from 0 to 100: 5 values such as '45 %' for 45.",
    ]
    assert said(opened(excel_titles(tmp_path))) == [
        "Sheet 'Bewerber' is read.",
        "1 line above the table is not read: 'Bewerbungen 2024'.",
        "The header has two rows, which are read as one.",
        "1 line below the table is not read: 'Summe 261279.5'.",
        "'Treffer %' is read as numbers from 0 to 100: 5 values such as '45%' for 45.",
    ]
    plain = text_of([("g", "y"), ("a", 1), ("b", 0)]).encode()
    assert said(Audit(written(tmp_path, plain), outcome="y", groups="g")) == []


@pytest.mark.parametrize("decimal", [",", "."])
def test_a_mark_that_nothing_settles_is_asked_for(decimal: str, tmp_path: Path) -> None:
    path = written(tmp_path, b'g,y,s\na,1,"1,234"\nb,0,"12,500"\n')
    text = message(lambda: measure(Audit(path, outcome="y", score="s"), "mean_score", by="g", minimum=1))
    assert text == (
        "Audit: 's' holds values such as '1,234', whose comma may be decimal or stand between thousands, and no other "
        "value of the file tells: say which with reading={'decimal': ','} or reading={'decimal': '.'}"
    )
    audit = Audit(path, outcome="y", score="s", groups="g", reading={"decimal": decimal})
    assert numbers(audit, "s") == [[1.234, 12.5] if decimal == "," else [1234.0, 12500.0]]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('g,y,s,t\na,1,"1,234",0.5\nb,0,"2,345",1\n', [1234, 2345]),
        ('g,y,s,t\na,1,"1,234","0,5"\nb,0,"2,345",1\n', [1.234, 2.345]),
        ("g;y;s;t\na;1;1.234;0,5\nb;0;2.345;1\n", [1234, 2345]),
        ('g,y,s,t\na,1,"$1,234",x\nb,0,"$2,345",x\n', [1234, 2345]),
        ("g,y,s,t\na,1,1.234,x\nb,0,2.345,x\n", [1.234, 2.345]),
        ("g;y;s;t\na;1;1.234;x\nb;0;12.5;x\n", [1.234, 12.5]),
        ("g;y;s;t\na;1;1.234.567;x\nb;0;2.345;x\n", [1234567, 2345]),
        ("g;y;s;t\na;1;-0,5;x\nb;0;(2,5);x\n", [-0.5, -2.5]),
        ("g,y,s,t\na,1, 12 ,x\nb,0,−3,x\n", [12, -3]),
    ],
)  # fmt: skip
def test_other_values_settle_the_mark(content: str, expected: list[float], tmp_path: Path) -> None:
    audit = Audit(written(tmp_path, content.encode()), outcome="y", score="s", groups="g")
    assert numbers(audit, "s") == [expected]


def test_points_of_a_semicolon_file_are_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, b"g;y;s\na;1;1.234\nb;0;2.345\n")
    assert "whose point may be decimal" in message(lambda: numbers(Audit(path, outcome="y", score="s"), "s"))


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["5"] * 9 + ["on request"], "1 of its 10 values is no number, such as 'on request'"),
        (["$5", "€6", "$7"], "it holds amounts in 2 currencies"),
        (["45%", "0.3", "12%"], "2 of its 3 values have a percent sign, and the others have none"),
        ([*map(str, range(20)), "90+", "tbd", "90+", "open"],
         "4 of its 24 values are no numbers, such as '90+', 'open', 'tbd'"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_counted_and_shown(values: list[str], reason: str, tmp_path: Path) -> None:
    rows = [("g", "y", "s"), *(("ab"[i % 2], i % 2, value) for i, value in enumerate(values))]
    path = written(tmp_path, text_of(rows).encode())
    wrong = message(lambda: measure(Audit(path, outcome="y", score="s"), "mean_score", by="g"))
    assert f"'s' (score) must hold numbers; {reason}" in wrong
    assert f"'s' stays text: {reason}." in said(Audit(path, outcome="y", groups="s"))


def test_labels_of_numbers_stay_as_written(tmp_path: Path) -> None:
    path = written(tmp_path, b"g;y\n0,5;1\n1,50;0\n12 %;1\n".replace(b"12 %", b"2,0"))
    assert Audit(path, outcome="y", groups="g").levels("g") == ("0,5", "1,50", "2,0")
    for codes in (
        ("007", "012"),
        ("(1)", "(2)"),
        ("1-5", "6-10"),
        ("31.12.2024", "01.02.2025"),
        ("12:30", "9:00"),
    ):
        path = written(tmp_path, text_of([("g", "y"), (codes[0], 1), (codes[1], 0)], ";").encode())
        audit = Audit(path, outcome="y", groups="g")
        assert set(audit.levels("g")) == set(codes)
        assert said(audit) == []


def test_missing_marks_of_a_column_of_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, b"g,y,s\na,1,0.5\nb,0,n/a\nb,1,0.25\n")
    assert "missing" in message(lambda: measure(Audit(path, outcome="y", score="s"), "mean_score", by="g"))
    audit = Audit(path, outcome="y", score="s", groups="g", missing="drop")
    assert numbers(audit, "s") == [[0.5, 0.25]]
    assert said(audit) == ["'s' is read as numbers; 1 value such as 'n/a' is missing."]


# -- sheets, streams and open files
def test_sheets_are_chosen(tmp_path: Path) -> None:
    path = excel_titles(tmp_path)
    chosen = [opened(f"{path}#Bewerber"), opened(path, reading={"sheet": "Bewerber"})]
    assert all("Sheet" not in text for audit in chosen for text in said(audit))
    assert message(lambda: opened(f"{path}#X")) == (
        f"Audit: sheet 'X' names no sheet of {path}: its sheets are 'Deckblatt', 'Bewerber'"
    )
    two = workbook(tmp_path, first="A")
    import openpyxl

    book = openpyxl.load_workbook(two)
    for row in (("g", "y"), ("a", 1), ("b", 0)):
        book["A"].append(row)
    book["A"].delete_rows(1)
    book.save(two)
    audit = Audit(two, outcome="y", groups="g")
    assert said(audit) == ["Sheet 'A' is read, the first that holds a table; others are 'Bewerber'."]


def test_arrow_streams_and_open_files(tmp_path: Path) -> None:
    table = pa.table({"g": ["a", "b"], "y": [1, 0]})

    class Stream:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return table.__arrow_c_stream__(requested_schema)

    class Dataset:
        def with_format(self, kind: str) -> pa.Table:
            assert kind == "arrow"
            return table

    Dataset.__module__ = "datasets.arrow_dataset"
    digest = Audit(table, outcome="y", groups="g").digest()
    for data in (table.to_batches()[0], table.to_reader(), Stream(), Dataset()):
        assert Audit(data, outcome="y", groups="g").digest() == digest, type(data)
    excel = workbook(tmp_path)
    with excel.open("rb") as file:
        assert opened(file).digest() == opened(excel).digest()
    assert Audit(io.StringIO("g,y\na,1\nb,0\n"), outcome="y", groups="g").digest() == digest
    Dataset.__name__ = "DatasetDict"
    assert "must be a table, and a DatasetDict" in message(lambda: Audit(Dataset()))


def test_several_files_of_several_kinds(tmp_path: Path) -> None:
    first = written(tmp_path, text_of([("g", "p"), ("ä", "1.5")], ";").encode("cp1252"), "1.csv")
    second = written(tmp_path, b'{"p": 2.25, "g": "b"}\n', "2.jsonl")
    audit = Audit([first, second], groups="g", score="p")
    assert numbers(audit, "p") == [[1.5, 2.25]]
    assert audit.levels("g") == ("b", "ä")


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        ({"decimel": ","}, "has the keys sheet, decimal, encoding, delimiter, got 'decimel'. Did you mean 'decimal'?"),
        ({"decimal": ";"}, "decimal must be ',' or '.', got ';'"),
        ({"delimiter": "ab"}, "delimiter must be one sign, got 'ab'"),
        ({"encoding": "klingon"}, "encoding must be one that Python knows, such as 'cp1252', got 'klingon'"),
        ({"sheet": "A"}, "names a sheet, and"),
    ],
)  # fmt: skip
def test_faults_of_the_reading(reading: dict[str, str], expected: str, tmp_path: Path) -> None:
    path = written(tmp_path, b"g,y\na,1\n")
    assert expected in message(lambda: Audit(path, reading=reading))
    assert "is for files" in message(lambda: Audit({"g": ["a"]}, reading={"decimal": ","}))


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (b"\xd0\xcf\x11\xe0" + bytes(600), "x.xls", "open it in Excel and save it as .xlsx"),
        (b"<html><table><tr><td>a</td></tr></table>", "x.csv", "is a web page, whatever its name"),
        (b"PK\x03\x04" + bytes(50), "x.zip", "is a zip archive"),
        (b"PK\x03\x04" + bytes(50), "x.xlsx", "cannot be read as Excel"),
        (b"[1, 2]", "x.json", "has no objects"),
        (b'{"a": 1}\n{"a":\n', "x.jsonl", "cannot be read"),
    ],
)
def test_what_cannot_be_opened_says_why(content: bytes, name: str, expected: str, tmp_path: Path) -> None:
    assert expected in message(lambda: Audit(written(tmp_path, content, name)))


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gc
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    audit = opened(germany(tmp_path))
    numbers(audit, "Gehalt")
    assert len(list(tmp_path.glob("fairtrial-read-*"))) == 1
    del audit
    gc.collect()
    assert list(tmp_path.glob("fairtrial-read-*")) == []


# -- any mixture of habits: the right table, or one clear message
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252", "latin-1", "cp932")


@settings(max_examples=60, deadline=None)
@given(
    encoding=st.sampled_from(ENCODINGS), delimiter=st.sampled_from(",;\t|"), titles=st.integers(0, 3),
    merged=st.booleans(), footer=st.booleans(), comma=st.booleans(), seed=st.integers(0, 10_000),
)  # fmt: skip
def test_any_mixture_of_habits(
    encoding: str, delimiter: str, titles: int, merged: bool, footer: bool, comma: bool, seed: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    choose = random.Random(seed)
    words = ["男性", "女性", "その他"] if encoding == "cp932" else ["Müller", "José", "Ann"]
    people = [
        (choose.choice(words), choose.randint(0, 1), round(choose.uniform(0, 90_000), 2)) for _ in range(12)
    ]
    shown = german if comma else "{:,.2f}".format
    header = ("名前", "結果", "点数") if encoding == "cp932" else ("Größe", "Ergebnis", "Wert")
    rows: list[Any] = [("Report", "", "")[: choose.choice((1, 3))] for _ in range(titles)]
    rows += [(header[0], "Both", "")] if merged else []
    rows += [(header[0] if not merged else "", *header[1:])]
    rows += [(name, hit, shown(value)) for name, hit, value in people]
    rows += [(), ("Source: personnel",)] if footer else []
    folder = tmp_path_factory.mktemp("mixture")
    path = written(folder, text_of(rows, delimiter).encode(encoding))
    try:
        audit = Audit(path, outcome=header[1], score=header[2], groups=header[0])
        found = numbers(audit, header[2])
    except InputError as error:
        clear = len(error.faults) == 1 and bool(error.faults[0].cure) and not comma
        if not clear:
            raise
        return
    assert found == [[value for _, _, value in people]]
    assert audit.levels(header[0]) == tuple(sorted({name for name, _, _ in people}))


@settings(max_examples=60, deadline=None)
@given(content=st.binary(min_size=1, max_size=300))
def test_any_bytes_give_a_table_or_one_message(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = written(tmp_path_factory.mktemp("bytes"), content)
    try:
        audit = Audit(path)
        audit.cells((audit.source.columns[0],))
    except InputError as error:
        if not str(error).startswith("Audit: "):
            raise


def test_a_plain_file_is_what_csv_reads(tmp_path: Path) -> None:
    """Nothing is cut off at the end of a file whose last rows only look like totals."""
    rows = [("dept", "y", "n"), ("Total", 1, 5), ("Media", 0, 6), ("Total", 1, 7)]
    path = written(tmp_path, text_of(rows).encode())
    audit = Audit(path, outcome="y", groups="dept")
    assert audit.source.count_rows() == 3
    assert len(list(csv.DictReader(path.read_text().splitlines()))) == 3


def test_a_column_of_a_sheet_without_a_name_is_left_out_and_said(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (("g", None, "y"), ("a", "x", 1), ("b", "x", 0), (None, "only here", None)):
        sheet.append(list(row))
    book.save(tmp_path / "people.xlsx")
    audit = Audit(tmp_path / "people.xlsx", outcome="y", groups="g")
    assert (audit.source.columns, audit.source.count_rows()) == (("g", "y"), 2)
    assert said(audit) == ["Without a name in the header, and not read: column B."]
