"""Fingerprints of columns, values included: the same on every engine that hands its rows over as Arrow.

Spark, and DuckDB where there are very many rows, sum up hashes of their own: handing the rows over takes longer than
all the rest of a question. DuckDB may change its hash from one release to the next; the rows then count as others.

Each row becomes one number, which depends on the value of every column; sums of these numbers do not depend on the
order of the rows, and a second sum does. A number has one form whatever its type is, a label its canonical text.
They tell data apart that differ by accident; whoever must be sure of a file's bytes has the run's SHA-256 of them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairtrial._labels import MISSING, canonical

Words = NDArray[np.uint64]
_EXACT = 2**53  # up to here a whole number and the float that is equal to it are one
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]+)?")


class Fingerprint(NamedTuple):
    """Of the rows whatever their order, and of the rows as they follow one another."""

    content: str
    order: str


def row_fingerprint(
    names: Sequence[str], batches: Iterable[Any], ordered: bool, counted: bool = False
) -> Fingerprint:
    """The fingerprint of all values of some columns, from their rows as Arrow; `ordered` where their order is told.

    Where one more column has `counted` the people of each row, the fingerprint is that of the people, one row each;
    the order stays that of the rows.
    """
    rows, people, sums = 0, 0, np.zeros(3, dtype=np.uint64)
    for batch in batches:
        times = _whole(batch.column(len(names))) if counted else np.ones(batch.num_rows, dtype=np.uint64)
        row = np.zeros(batch.num_rows, dtype=np.uint64)
        for place in range(len(names)):
            row = _mixed(row + _mixed(_words(batch.column(place)) + np.uint64(place + 1)))
        places = np.arange(rows, rows + batch.num_rows, dtype=np.uint64)
        numbers = (row, _mixed(row ^ np.uint64(0x9E3779B97F4A7C15)), _mixed(row + _mixed(places)))
        sums += np.array([(times * part).sum() for part in numbers])
        rows += batch.num_rows
        people += int(times.sum())
    one, other, in_order = (int(total) for total in sums)
    content = text_fingerprint("rows", names, people, one, other)
    return Fingerprint(content, text_fingerprint(content, in_order) if ordered else "")


def _whole(column: Any) -> Words:
    """Counts, whatever their type is."""
    return np.asarray(_as_floats(column.cast("float64"))).astype(np.uint64)


def text_fingerprint(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _mixed(words: Words) -> Words:
    """Every bit of a word in every bit of the result (the last steps of splitmix64)."""
    mixed: Words = words ^ (words >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def _words(column: Any) -> Words:
    """One word per value."""
    import pyarrow.types as kinds

    kind = column.type
    if kinds.is_floating(kind) or kinds.is_decimal(kind):
        return _float_words(_as_floats(column))
    if kinds.is_integer(kind):
        return _integer_words(column)
    return _label_words(column)


def _as_floats(column: Any) -> NDArray[np.float64]:
    import pyarrow as pa

    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _float_words(values: NDArray[np.float64]) -> Words:
    words = (values + 0.0).view(np.uint64)  # −0 is 0
    return np.where(np.isnan(values), _label_word(MISSING), words)


def _integer_words(column: Any) -> Words:
    whole = np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False))
    words = whole.astype(np.float64).view(np.uint64)
    if whole.size and (int(whole.max()) > _EXACT or int(whole.min()) < -_EXACT):
        large = (whole > _EXACT) | (whole < -_EXACT)
        words = np.where(large, _mixed(whole.astype(np.uint64)), words)
    absent = np.asarray(column.is_null().to_numpy(zero_copy_only=False))
    return np.where(absent, _label_word(MISSING), words) if absent.any() else words


def _label_words(column: Any) -> Words:
    """Labels by their canonical text, each worked out once."""
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        return np.array([_label_word(str(value)) for value in column.to_pylist()], dtype=np.uint64)
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    labels = encoded.dictionary.to_pylist()
    words = np.array([*(_label_word(canonical(label)) for label in labels), _label_word(MISSING)], np.uint64)
    places = encoded.indices.fill_null(len(labels))
    return words[np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)]


def _label_word(text: str) -> np.uint64:
    """A text that is just how a number is written is that number: files do not tell the two apart."""
    if _NUMBER.fullmatch(text) and canonical(float(text)) == text:
        return np.float64(text).view(np.uint64)
    return np.uint64(
        int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())
    )
