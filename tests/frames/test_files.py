"""What CSV readers change silently stays as it was written; what cannot be read is said."""

from __future__ import annotations

import builtins
import gzip

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from fairtrial import Audit, InputError, measure


def levels(path, column="g", **arguments):
    return Audit(path, **arguments).levels(column)


def write(folder, content, name="x.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def message(call) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("g,y\nYes,1\nNo,0\n", ("No", "Yes")),
        ("g,y\n1-5-10,1\n2-6-11,0\n", ("1-5-10", "2-6-11")),
        ("g,y\n2020-01-05,1\n2021-01-05,0\n", ("2020-01-05", "2021-01-05")),
        ("g,y\n007,1\n7,0\n", ("007", "7")),
        ("g,y\n12345678901234567890,1\n12345678901234567891,0\n", ("12345678901234567890", "12345678901234567891")),
        ("g,y\n12345678901234567,1\n12345678901234568,0\n1.5,0\n", ("1.5", "12345678901234567", "12345678901234568")),
        ("g,y\nTRUE,1\nF,0\n", ("F", "TRUE")),
        ("g,y\nnull,1\nNA,0\nNone,1\n", ("NA", "None", "null")),
        ("g,y\n a,1\na,0\n", (" a", "a")),
        (b"\xef\xbb\xbfg,y\na,1\nb,0\n", ("a", "b")),
        ("g;y;z\na,b;1;2,5\nb;0;3,5\n", ("a,b", "b")),
        ("g\ty\na,1\t1\nb\t0\n", ("a,1", "b")),
        ('g,y\n"a\nb",1\n"say ""x""",0\n', ("a\nb", 'say "x"')),
        ('"a;b;c",g\n1,u\n0,v\n', ("u", "v")),
        ("g,y\r\na,1\r\nb,0\r\n", ("a", "b")),
        ("g,y\na,1\nb,0", ("a", "b")),
        ("g,y\n1,1\n2,0\n10,0\n", ("1", "2", "10")),
        ("g,y\n1.0,1\n2.0,0\n", ("1", "2")),
        ("g,y\n250.1,1\n250.10,0\n", ("250.1", "250.10")),
    ],
)  # fmt: skip
def test_labels_stay_as_written(content, expected, tmp_path):
    assert levels(write(tmp_path, content)) == expected


@pytest.mark.parametrize("name", ["a.b", ">0.5", '"a".b', "a b", "select"])
def test_any_name_of_a_column(name, tmp_path):
    """A dot is a part of the name, not what stands between a table and its column."""
    frame = pd.DataFrame({name: ["u", "v"] * 10, "y": [0, 1] * 10})
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    for path in (tmp_path / "people.csv", tmp_path / "people.parquet"):
        found = measure(Audit(path, outcome="y", groups=name), "base_rate", minimum=1).estimates
        assert [(row["group"], row["rate"]) for row in found] == [("u", 0.0), ("v", 1.0)]


@pytest.mark.parametrize(
    "content",
    [
        '"","g","y"\n"1","a",1\n"2","b",0\n"3","a",1\n',
        ",g,y\n0,a,1\n1,b,0\n2,a,1\n",
        " ;g;y\n1;a;1\n2;b;0\n3;a;1\n",
    ],
    ids=["write.csv", "to_csv", "semicolons"],
)
def test_a_nameless_first_column_that_counts_the_rows_is_not_read(content, tmp_path):
    audit = Audit(write(tmp_path, content), decision="y", groups="g")
    assert audit.source.columns == ("g", "y")
    rates = {row["group"]: (row["n"], row["rate"]) for row in measure(audit, "selection_rate").estimates}
    assert rates == {"a": (2, 1.0), "b": (1, 0.0)}
    with_and_without = [
        write(tmp_path, content, "p1.csv"),
        write(tmp_path, "g,y\na,1\nb,0\n", "p2.csv"),
    ]
    joined = Audit(str(with_and_without[0].parent / "p*.csv"), decision="y", groups="g")
    assert {row["n"] for row in measure(joined, "selection_rate").estimates} == {2, 3}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("g,y,g\n1,1,3\n", "the header has 'g' twice, with different values; rename one"),
        ("g,y,\n1,1,3\n", "column 3 has no name in the header"),
        (",g,y\n7,a,1\n3,b,0\n9,c,0\n", "column 1 has no name in the header: name it; or, where it holds row numbers"),
        (",,y\n1,a,1\n2,b,0\n", "column 2 has no name in the header"),
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("g,y\na,1\nb\n", "CSV Error on Line: 3; Original Line: b; Expected Number of Columns: 2 Found: 1"),
        ("g,y\na,1\nb,0,7\n", "CSV Error on Line: 3; Original Line: b,0,7; Expected Number of Columns: 2 Found: 3"),
        ('g,y\na,1\n"b,0\n', "Value with unterminated quote found."),
        (b"g,y\n\x00\x01\x02\x03,1\n", "is not a text file: save it as Excel or as CSV in UTF-8"),
        ("g,y\nкофе,1\n".encode("cp1251"), "is not UTF-8 (line 2), and its text does not tell its encoding"),
        ("g,y\ncafé,1\n".encode() + "thé,1\n".encode("latin-1"), "is UTF-8 text, but not all of it (line 3)"),
    ],
    ids=["twice", "nameless", "no row numbers", "another nameless",
         "empty", "blank", "short", "long", "truncated", "no text", "cyrillic", "two encodings"],
)  # fmt: skip
def test_files_that_cannot_be_read_as_they_are(content, expected, tmp_path):
    path = write(tmp_path, content)
    text = message(lambda: levels(path))
    assert text.startswith("Audit: ")
    assert expected in text
    assert path.name in text
    assert "ignore_errors" not in text, "advice to lose rows"


def test_a_header_alone_has_no_rows(tmp_path):
    said = message(lambda: levels(write(tmp_path, "g,y\n")))
    assert said == "Audit: 'data' has no rows: look whether a filter or an export left any"


@pytest.mark.parametrize("url", ["https://example.com/x.csv", "s3://bucket/x.parquet", "hf://x/y.csv"])
def test_nothing_is_fetched(url):
    assert message(lambda: Audit(url)) == (
        f"Audit: 'data' must be a local file, got {url!r}: nothing is fetched from elsewhere"
    )


def test_files_that_are_not_there_or_of_another_kind(tmp_path):
    assert "does not exist" in message(lambda: Audit(tmp_path / "none.csv"))
    assert "is a folder" in message(lambda: Audit(tmp_path))
    assert "must be a table: a file of text, Excel" in message(lambda: Audit(write(tmp_path, "x", "x.docx")))
    write(tmp_path, "g,y\na,1\n", "z.csv")
    parquet.write_table(pa.table({"g": ["a"], "y": [1]}), tmp_path / "z.parquet")
    assert "mixes CSV and Parquet" in message(lambda: Audit(str(tmp_path / "z.*")))


def test_a_file_that_may_not_be_opened(tmp_path, monkeypatch):
    path = write(tmp_path, "g,y\na,1\n")

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(builtins, "open", refuse)
    assert message(lambda: Audit(path)) == f"Audit: {path} cannot be read: [Errno 13] Permission denied"


def test_a_glob_with_reordered_columns(tmp_path):
    write(tmp_path, "g,h,y\na,u,1\n", "part1.csv")
    write(tmp_path, "y,g,h\n0,b,v\n", "part2.csv")
    audit = Audit(str(tmp_path / "part*.csv"), outcome="y")
    assert audit.levels("g") == ("a", "b")
    assert audit.levels("h") == ("u", "v")
    assert [row["rate"] for row in measure(audit, "base_rate", by="g", minimum=1).estimates] == [1.0, 0.0]
    write(tmp_path, "y,g\n0,b\n", "part3.csv")
    assert "do not have the same columns: ['h']" in message(lambda: Audit(str(tmp_path / "part*.csv")))


def test_a_glob_may_mix_delimiters_and_types(tmp_path):
    """A column is a number only if it is one in every file."""
    write(tmp_path, "g,y\n1,1\n", "part1.csv")
    write(tmp_path, "g;y\nx;0\n", "part2.csv")
    assert levels(str(tmp_path / "part*.csv")) == ("1", "x")


@pytest.mark.parametrize("name", ["a[1].csv", "a*.csv", "a?.csv", "it's.csv", "ü ä.csv"])
def test_names_with_signs_are_taken_as_written(name, tmp_path):
    """DuckDB would read `a1.csv` when asked for `a[1].csv`."""
    write(tmp_path, "g,y\nwrong,1\n", "a1.csv")
    assert levels(write(tmp_path, "g,y\nright,1\n", name)) == ("right",)


def test_compressed_files(tmp_path):
    lines = b"g,y\n" + b"".join(b"a%d,%d\n" % (i % 7, i * 7919 % 2) for i in range(200_000))
    packed = gzip.compress(lines)
    assert len(levels(write(tmp_path, packed, "whole.csv.gz"))) == 7
    assert len(levels(write(tmp_path, lines, "not packed.csv.gz"))) == 7
    for content in (packed[: len(packed) // 2], packed[:-20]):
        assert "cannot be read" in message(
            lambda content=content: levels(write(tmp_path, content, "x.csv.gz"))
        )


def test_parquet_files(tmp_path):
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"g": ["007", "7"], "y": [0, 1], "nested": [{"g": 1}, {"g": 2}]}), path)
    assert levels(path) == ("007", "7")
    assert Audit(path).source.columns == ("g", "y", "nested")
    content = path.read_bytes()
    (tmp_path / "b1.parquet").write_bytes(b"")
    assert levels(write(tmp_path, content, "b[1].parquet")) == ("007", "7")
    for damaged in (b"", content[:-10], content[:10] + bytes(30) + content[40:]):
        assert "cannot be read" in message(
            lambda damaged=damaged: levels(write(tmp_path, damaged, "y.parquet"))
        )


@pytest.mark.parametrize(("second", "expected"), [("g", "'g' twice"), ("G", "differ only in case")])
def test_parquet_with_duplicated_columns(second, expected, tmp_path):
    """DuckDB would rename the second one and say nothing."""
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["g", second]), path)
    assert expected in message(lambda: Audit(path, decision="g").check())


def test_labels_that_are_one_number(tmp_path):
    assert "has the labels '1' and '1.0', which are one label here" in message(
        lambda: levels(write(tmp_path, "g,y\n1,1\n1.0,0\n"))
    )
    path = write(tmp_path, "g,y\n250.1,1\n250.10,0\n,1\n", "codes.csv")
    assert levels(path, missing="category") == ("(missing)", "250.1", "250.10")
    assert levels(path, bins={"g": [100, 300]}, missing="category") == ("(missing)", "100 to under 300")
    dropped = Audit(path, outcome="y", groups="g", features="g", missing="drop")
    assert [row["n"] for row in measure(dropped, "base_rate").estimates] == [1, 1]
    assert dropped.design().matrix.ravel().tolist() == [250.1, 250.1], "as a feature it is a number"


def test_numbers_of_a_file(tmp_path):
    path = write(tmp_path, "g,y,s\na,1,+0.5\nb,0,1e-3\na,1,nan\n")
    audit = Audit(path, outcome="y", score="s", missing="drop")
    result = measure(audit, "mean_score", by="g", minimum=1)
    assert [row["rate"] for row in result.estimates] == [0.5, 0.001]
    assert "Mean score: fewer than 10 rows left out, fewer than 10 without the score." in [
        note.text for note in result.notes
    ]
    wrong = Audit(write(tmp_path, "g,y,s\na,1,high\nb,0,low\n", "w.csv"), outcome="y", score="s")
    assert message(lambda: measure(wrong, "mean_score", by="g")) == (
        "Audit: 's' (score) must hold numbers, got 'high', 'low'"
    )
