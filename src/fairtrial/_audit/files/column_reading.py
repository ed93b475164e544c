"""What the columns of a file of texts are read as: whole numbers, numbers, numbers as offices write them, or texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fairtrial._audit.engine import WHO, quote
from fairtrial._audit.files.number_marks import (
    READ_AS,
    Mark,
    Marks,
    leaves_open,
    speaks_for_numbers,
    sql_marks,
    sql_nothing,
    sql_number,
    sql_plain,
)
from fairtrial._audit.files.parquet import text
from fairtrial._errors import Fault, InputError, Set, Words
from fairtrial._labels import INFINITE

AS_WRITTEN = (
    "\x1fas written"  # asks for a column's texts although they are numbers: 250.1 and 250.10 are two codes
)
_NUMBER = r"^[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_WHOLE = r"^-?(0|[1-9][0-9]{0,17})$"
_WORD = r"^[+-]?(nan|inf|infinity)$"
_TOO_LONG = r"[0-9]{16}"  # more digits than a float keeps: such a number is a name, and stays text
SAMPLED = 1_000  # values that tell whether a column is worth a closer look

Run = Callable[[str], Any]


class ColumnReading(NamedTuple):
    """How one column is read: as a type of DuckDB, or as numbers with a decimal mark; and what is said of it."""

    kind: str  # "BIGINT", "DOUBLE" or "VARCHAR"; "" for numbers as offices write them
    decimal: Mark = "."
    said: str = ""
    wrong: str = ""  # why it stays text, where most of its values are numbers

    def cast(self, column: str) -> str:
        """The column as SQL, or its texts where they were asked for: what is no number is missing or infinite."""
        name = quote(column)
        if not column.endswith(AS_WRITTEN):
            value = f"CAST({name} AS {self.kind})" if self.kind else sql_number(name, self.decimal)
            return f"{value} AS {name}"
        nothing = f"WHEN {sql_nothing(sql_plain(name))} THEN NULL " if not self.kind else ""
        return (
            f"CASE {nothing}WHEN regexp_matches({name}, '^[+-]?nan$', 'i') THEN NULL "
            f"WHEN regexp_matches({name}, '{_WORD}', 'i') THEN '{INFINITE}' ELSE {name} END AS {name}"
        )


class ColumnReader(NamedTuple):
    """Finds how columns are to be read: from all of their values, and where those do not tell, from the file's."""

    run: Run
    numbers: frozenset[str]  # columns whose values were numbers before they became texts
    file_says: Callable[[], Mark | None]
    semicolons: bool  # the delimiter of countries with decimal commas

    def read(self, columns: Sequence[str], rows: str) -> dict[str, ColumnReading]:
        """The reading of each column of a relation of texts."""
        counts = self._counts(columns, rows)
        plain = {name: _plain_kind(*counts[name]) for name in columns}
        closer = [
            name for name, kind in plain.items()
            if kind in ("DOUBLE", "VARCHAR") and counts[name][0] and name.removesuffix(AS_WRITTEN) not in self.numbers
        ]  # fmt: skip
        found = {name: ColumnReading(kind) for name, kind in plain.items()}
        for name, values in self._samples(closer, rows).items():
            if plain[name] == "DOUBLE" and leaves_open(values):
                found[name] = self._plain_or_grouped(name, rows)
            elif plain[name] == "VARCHAR" and speaks_for_numbers(values):
                found[name] = self._office_number(name, rows)
        return found

    def _counts(self, columns: Sequence[str], rows: str) -> dict[str, tuple[int, ...]]:
        tests = ", ".join(
            f"count({name}), count(*) FILTER (regexp_matches({name}, '{_NUMBER}') OR regexp_matches({name}, '{_WORD}',"
            f" 'i')), count(*) FILTER (regexp_matches({name}, '{_WHOLE}')),"
            f" count(*) FILTER (regexp_matches(split_part({name}, '.', 1), '{_TOO_LONG}'))"
            for name in map(quote, columns)
        )
        counts = self.run(f"SELECT {tests} FROM {rows}").fetchone()
        return {name: counts[4 * i : 4 * i + 4] for i, name in enumerate(columns)}

    def _samples(self, columns: Sequence[str], rows: str) -> dict[str, list[str]]:
        """Some of each column's values; none is empty."""
        if not columns:
            return {}
        listed = ", ".join(map(quote, columns))
        table = self.run(f"SELECT {listed} FROM {rows} LIMIT {SAMPLED}").fetchall()
        found = {
            name: [row[place] for row in table if row[place] is not None]
            for place, name in enumerate(columns)
        }
        for name in [name for name, values in found.items() if not values]:
            asked = f"SELECT {quote(name)} FROM {rows} WHERE {quote(name)} IS NOT NULL LIMIT 100"
            found[name] = [value for (value,) in self.run(asked).fetchall()]
        return found

    def _marks(self, name: str, rows: str) -> Marks:
        return Marks(*self.run(sql_marks(quote(name)).replace("raw_values", rows)).fetchone())

    def _plain_or_grouped(self, name: str, rows: str) -> ColumnReading:
        """Plain numbers that could all be whole ones with points between their thousands."""
        marks = self._marks(name, rows)
        if marks.only_point or marks.infinite or marks.present != marks.as_comma:
            return ColumnReading("DOUBLE")
        decimal = self.file_says()
        if decimal is None and self.semicolons:
            raise _unsettled(name, self._example(name, rows, marks_only=True))
        return self._told(name, rows, marks, ",") if decimal == "," else ColumnReading("DOUBLE")

    def _office_number(self, name: str, rows: str) -> ColumnReading:
        marks = self._marks(name, rows)
        decimal = marks.decimal()
        if decimal == "ask":
            decimal = marks.decimal(self.file_says())
        if decimal == "ask":
            raise _unsettled(name, self._example(name, rows, marks_only=True))
        if decimal is not None:
            return self._told(name, rows, marks, decimal)
        wrong = self._left_as_text(name, rows, marks)
        said = f"{name.removesuffix(AS_WRITTEN)!r} stays text: {wrong}." if wrong else ""
        return ColumnReading("VARCHAR", said=said, wrong=wrong)

    def _told(self, name: str, rows: str, marks: Marks, decimal: Mark) -> ColumnReading:
        column = name.removesuffix(AS_WRITTEN)
        number = sql_number(quote(name), decimal)
        low, high = self.run(f"SELECT min({number}), max({number}) FROM {rows}").fetchone()
        scale = " from 0 to 100" if marks.percent and low >= 0 and high <= 100 else ""
        said = f"{column!r} is read as numbers{scale}"
        many = marks.unusual or marks.undecided
        if many:
            example = self._example(name, rows, marks_only=not marks.unusual)
            [value] = self.run(
                f"SELECT {sql_number('v', decimal)} FROM (SELECT {text(example)} AS v)"
            ).fetchone()
            said += f": {_values(many)} such as {example!r} for {value:.15g}"
        if marks.nothing:
            nothing = f"SELECT {quote(name)} FROM {rows} WHERE {sql_nothing(sql_plain(quote(name)))} LIMIT 1"
            [shown] = self.run(nothing).fetchone()
            said += f"; {_values(marks.nothing)} such as {shown!r} {'is' if marks.nothing == 1 else 'are'} missing"
        return ColumnReading("", decimal, said + ".")

    def _example(self, name: str, rows: str, marks_only: bool = False) -> str:
        """The first value that is no number as it is written."""
        value = quote(name)
        wanted = (
            f"regexp_matches({value}, '[0-9][.,][0-9]')"
            if marks_only
            else f"NOT regexp_matches({value}, '{_NUMBER}')"
        )
        asked = (
            f"SELECT {value} FROM {rows} WHERE {value} IS NOT NULL AND NOT {sql_nothing(sql_plain(value))} "
            f"AND {wanted} LIMIT 1"
        )
        found = self.run(asked).fetchone()
        return str(found[0]) if found else ""

    def _left_as_text(self, name: str, rows: str, marks: Marks) -> str:
        """What is no number in a column that mostly holds numbers, with three examples."""
        if not marks.mostly_numbers:
            return ""
        if marks.currencies > 1:
            return f"it holds amounts in {marks.currencies} currencies"
        if marks.percent and marks.percent_or_zero < marks.present:
            some = f"{marks.percent:,} of its {marks.present:,} values"
            return f"{some} have a percent sign, and the others have none"
        mark: Mark = "," if marks.as_comma > marks.as_point else "."
        value = sql_plain(quote(name))
        wrong = f"NOT {sql_nothing(value)} AND NOT regexp_matches({value}, {text(READ_AS[mark])})"
        asked = f"SELECT {quote(name)}, count(*) AS n FROM {rows} WHERE {wrong} GROUP BY 1 ORDER BY n DESC, 1 LIMIT 3"
        shown = ", ".join(repr(label) for label, _ in self.run(asked).fetchall())
        if not shown:
            return ""
        many = marks.present - max(marks.as_comma, marks.as_point)
        verb = "is no number" if many == 1 else "are no numbers"
        return f"{many:,} of its {marks.present:,} values {verb}, such as {shown}"


def find_decimal(run: Run, columns: Sequence[str], rows: str) -> Mark | None:
    """The decimal mark of a file: what the columns that leave no doubt agree on."""
    listed = ", ".join(map(quote, columns))
    table = run(f"SELECT {listed} FROM {rows} LIMIT {SAMPLED}").fetchall()
    worth = [
        name for place, name in enumerate(columns)
        if speaks_for_numbers([row[place] for row in table if row[place] is not None])
    ]  # fmt: skip
    found: set[Mark] = set()
    for name in worth:
        marks = Marks(*run(sql_marks(quote(name)).replace("raw_values", rows)).fetchone())
        if marks.decimal() == "." and marks.only_point:
            found.add(".")
        elif marks.decimal() == "," and marks.only_comma:
            found.add(",")
    return found.pop() if len(found) == 1 else None


def _plain_kind(present: int, numbers: int, whole: int, too_long: int) -> str:
    """A column as the numbers that all of its values are, or as their texts."""
    fits = {"BIGINT": whole == present, "DOUBLE": numbers == present and not too_long}
    return next((kind for kind, all_are in fits.items() if present and all_are), "VARCHAR")


def _unsettled(column: str, example: str) -> InputError:
    """A column whose mark may be decimal or stand between thousands."""
    sign = "comma" if "," in example else "point"
    required = (
        f"holds values such as {example!r}, whose {sign} may be decimal or stand between thousands, and no other value "
        "of the file tells"
    )
    cure = Words(
        "say which with {} or {}", Set("reading", {"decimal": ","}), Set("reading", {"decimal": "."})
    )
    subject = repr(column.removesuffix(AS_WRITTEN))
    return InputError(WHO, Fault("reading", required, subject=subject, cure=cure))


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count:,} values"
