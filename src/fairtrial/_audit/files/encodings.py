"""The encoding of a text file, and its text in UTF-8.

A mark at the start decides; then strict UTF-8; then Japanese (Shift-JIS) and Western European text (Windows-1252, of
which Latin-1 is a part), each only where the text makes sense in it and not in the other. All else is asked for.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from fairtrial._audit.engine import WHO
from fairtrial._errors import Fault, InputError, Set, Words

PART = 1 << 20
CHECKED = 1 << 30  # bytes; beyond them DuckDB refuses what is no UTF-8
JUDGED = 1 << 24  # bytes that tell which encoding a text is in
_BYTE_ORDER = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
CALLED = {
    "cp1252": "Western European (Windows-1252)",
    "cp932": "Japanese (Shift-JIS)",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32": "UTF-32",
}
_UTF8_LETTER = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_RUN = re.compile(rb"[\x80-\xff]+")
_WESTERN = re.compile("[À-ÖØ-öø-ÿŠŽŒšžœŸ€£§°ªº·«»“”‘’–—…´¨©®²³½¼¡¿\u00a0]")
_EARLY_LETTER = re.compile("[ŠŽŒšžœŸ]")  # where other encodings have their letters
# What no Western word has, and other encodings make: signs, large letters and endings inside it; Turkish letters.
_INSIDE = re.compile("(?<=[A-Za-z])[¡-¿ƒ‚„†‡ˆ‰‹›˜™](?=[a-z])|(?<=[a-z])[À-ÖØ-ÞŠŽŒŸ]|[ìù](?=[a-z])")
_RARE, _WITH_THEM = re.compile("[ðþÐÞ]"), re.compile("[áíúæÁÍÚÆ]")
_JAPANESE = re.compile("[\u3005\u3040-\u30ff\u4e00-\u9fff\uff01-\uff5e\u3000-\u3002]")
_AMONG_PLAIN = re.compile("(?<=[A-Za-z])[\u3040-\u30ff\u4e00-\u9fff]+|[\u3040-\u30ff\u4e00-\u9fff]+(?=[a-z])")
_HALF_WIDTH = re.compile("[\uff61-\uff9f]")


def is_packed(path: str) -> bool:
    """Whether it is a gzip file, whatever its name."""
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


def unpacked(path: str) -> IO[bytes]:
    """The bytes of a file, unpacked where it is a gzip file."""
    return cast(IO[bytes], gzip.open(path)) if is_packed(path) else open(path, "rb")


def find_encoding(path: str) -> str:
    """The codec of a text file, by its marks or by its text; a fault where nobody can tell."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with unpacked(path) as file:
        start = file.read(PART)
        marked = next((codec for mark, codec in _BYTE_ORDER if start.startswith(mark)), None)
        if marked is not None:
            return marked
        if b"\0" in start[:4096]:
            return _without_mark(path, start[:4096])
        done, part = 0, start
        try:
            while part and done < CHECKED:
                decoder.decode(part)
                done += len(part)
                part = file.read(PART)
            decoder.decode(b"", final=not part)
        except UnicodeDecodeError:
            return _judged(path)
    return "utf-8"


def _without_mark(path: str, start: bytes) -> str:
    """UTF-16 has a zero byte beside each plain letter."""
    even, odd = start[::2].count(0), start[1::2].count(0)
    if max(even, odd) > 0.3 * len(start) / 2 and min(even, odd) < 0.05 * len(start) / 2:
        return "utf-16-le" if odd > even else "utf-16-be"
    raise InputError(
        WHO, Fault("data", "is not a text file", subject=path, cure="save it as Excel or as CSV in UTF-8")
    )


def _judged(path: str) -> str:
    """Japanese or Western European text, whichever it makes sense as."""
    with unpacked(path) as file:
        content = file.read(JUDGED)
    runs = _RUN.findall(content)
    if sum(len(letter) for letter in _UTF8_LETTER.findall(content)) > 0.5 * sum(map(len, runs)):
        line = _first_wrong_line(path)
        cure = Words(
            "save it in one encoding, or say with {} which one to read it in",
            Set("reading", {"encoding": "cp1252"}),
        )
        raise InputError(
            WHO, Fault("data", f"is UTF-8 text, but not all of it (line {line:,})", subject=path, cure=cure)
        )
    found = [codec for codec, holds in (("cp932", _is_japanese), ("cp1252", _is_western)) if holds(content)]
    if len(found) == 1:
        return found[0]
    cure = Words("say it with {}, or save the file as CSV in UTF-8", Set("reading", {"encoding": "cp1250"}))
    required = f"is not UTF-8 (line {_first_wrong_line(path):,}), and its text does not tell its encoding"
    raise InputError(WHO, Fault("data", required, subject=path, cure=cure))


def _is_japanese(content: bytes) -> bool:
    try:
        text = content.decode("cp932")
    except UnicodeDecodeError as error:
        if len(content) < JUDGED or error.start < len(content) - 1:  # the last letter may be cut
            return False
        text = content[: error.start].decode("cp932")
    japanese, half = len(_JAPANESE.findall(text)), len(_HALF_WIDTH.findall(text))
    strange = sum(not letter.isascii() for letter in text)
    inside = sum(
        map(len, _AMONG_PLAIN.findall(text))
    )  # as where an accent and the letter after it look like one sign
    return japanese > 0.7 * strange and japanese > 3 * half and inside < 0.5 * japanese


def _is_western(content: bytes) -> bool:
    """Single letters with accents inside words of plain letters; no sign inside a word."""
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:
        return False
    strange = [letter for letter in text if not letter.isascii()]
    early, letters = len(_EARLY_LETTER.findall(text)), len(re.findall("[À-ÖØ-öø-ÿ]", text))
    long_runs = sum(len(run) for run in _RUN.findall(content) if len(run) > 2)
    return (
        len(_WESTERN.findall(text)) > 0.95 * len(strange)
        and early <= max(letters, 1)
        and long_runs < 0.3 * len(strange)
        and not _INSIDE.search(text)
        and not (_RARE.search(text) and not _WITH_THEM.search(text))
    )


def _first_wrong_line(path: str) -> int:
    decoder, lines = codecs.getincrementaldecoder("utf-8")(), 1
    with unpacked(path) as file:
        while part := file.read(PART):
            try:
                decoder.decode(part)
            except UnicodeDecodeError as error:
                return lines + error.object[: error.start].count(b"\n")
            lines += part.count(b"\n")
    return lines


def decoded(path: str, encoding: str) -> Iterator[str]:
    """The text of a file, a part at a time."""
    with unpacked(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline="")
        try:
            while part := text.read(PART):
                yield part
        except UnicodeError as error:
            reason = getattr(error, "reason", str(error))
            required = f"cannot be read as {encoding}: {reason}"
            cure = Words("name another encoding with {}", Set("reading", {"encoding": "cp1252"}))
            raise InputError(WHO, Fault("data", required, subject=path, cure=cure)) from None


def write_utf8(path: str, encoding: str, target: Path) -> str:
    """Write a text file anew in UTF-8, in little memory; a text of it that another encoding would show otherwise."""
    shown = ""
    with target.open("w", encoding="utf-8", newline="") as file:
        for part in decoded(path, encoding):
            file.write(part)
            found = (
                None
                if shown or part.isascii()
                else re.search(r"[^\s,;\t|\"]*[^\x00-\x7f][^\s,;\t|\"]*", part)
            )
            shown = shown if found is None else found[0][:40]
    return shown
