"""The rename table: the kept records by the names of the tree that is compared."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from snapshot.kept import Flat

TABLE = Path(__file__).with_name("renames.toml")
COLUMN_NAME = re.compile(r"(?:.*/)?columns/\d+/0")
RESULT = re.compile(r"(?:results/[^/]+/|sections/[^/]+/published/|result/)?")  # at the head of its paths
END = r"(?=/|$)"
# Per kind of name, where it stands (OLD) in the name of a case, in the path of a place, and in a text.
STANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "cases": (("OLD",), (), ()),
    "methods": ((rf"^(?:faults/)?OLD{END}",), (rf"^(?:results|sections)/OLD{END}",), (r"\AOLD\Z",)),
    "options": (
        (r"(?<![\w-])OLD(?==)",),
        (rf"(?:^|/)(?:arguments|arguments/explanation|takes)/OLD{END}", r"/--OLD$"),
        (r"--OLD(?![\w-])", r"'OLD'", r"`OLD`", r"(?<![\w-])OLD(?= ?=)", r"\] OLD(?=:)"),
    ),
    "columns": ((), (rf"(?:^|/)(?:estimates/\d+|columns)/OLD{END}",), (r"'OLD'",)),
    "details": ((), (rf"(?:^|/)details/(?:.*/)?OLD{END}",), ()),
    "metrics": ((r"(?<=[/ \[=])OLD(?=[/ ,\]]|$)",), (rf"^metrics/OLD{END}",), (r"\AOLD\Z", r"'OLD'")),
    "paths": ((), (rf"(?:^|/)OLD{END}",), ()),
    "values": ((), (), (r"\AOLD\Z",)),
    "texts": ((), (), ("OLD",)),
}  # fmt: skip
CASE, PATH, TEXT = range(3)


class Renames:
    """What a table says; sections named after a method hold for its cases and results alone."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        rules = {name: table.get(name, []) for name in ("dropped", "added")}
        self.dropped, self.added = ([_rule(rule) for rule in rules[name]] for name in rules)
        self.words = {kind: words for kind, words in table.items() if kind in STANDS}
        self.of_methods = {name: words for name, words in table.items() if name not in {*STANDS, *rules}}
        for method, kinds in self.of_methods.items():
            if unknown := set(kinds) - set(STANDS):
                raise ValueError(
                    f"renames.toml: [{method}] has no {min(unknown)!r}, only {', '.join(STANDS)}"
                )
        self._change = cache(self._changer)

    def __bool__(self) -> bool:
        return bool(self.words or self.of_methods or self.dropped or self.added)

    def cases(self, names: Mapping[str, Any]) -> dict[str, list[str]]:
        """The old names of each case that is still there, by its new one: two may have become one."""
        found: dict[str, list[str]] = {}
        for old in names:
            if not (self and _holds(self.dropped, old, "")):
                found.setdefault(self._change(self._scope(old), CASE)(old) if self else old, []).append(old)
        return found

    def record(self, case: str, flat: Flat) -> Flat:
        """The record of a case, both by their old names, with new ones."""
        if not self:
            return flat
        of_case, new = self._scope(case), {}
        for old, value in flat.items():
            if _holds(self.dropped, case, old):
                continue
            kind = flat.get(f"{RESULT.match(old)[0]}kind")  # type: ignore[index]
            scope = of_case if kind is None else frozenset({kind} & {*self.of_methods})
            path = self._change(scope, PATH)(old)
            if path in new:
                raise ValueError(
                    f"renames.toml: {old!r} of {case!r} gets the name of another place, {path!r}"
                )
            if isinstance(value, str):
                value = self._change(scope, TEXT)(value)
                if COLUMN_NAME.fullmatch(old):
                    value = self._words(scope, "columns").get(value, value)
            new[path] = value
        return new

    def adds(self, case: str, path: str = "") -> bool:
        """Whether the case, or the place of it, is listed as new."""
        return _holds(self.added, case, path)

    def _scope(self, case: str) -> frozenset[str]:
        """The methods with names of their own that a case is of: "faults/certify/…", "texts/scan people …"."""
        return frozenset({*re.split(r"[/ ]", case)[:2]} & {*self.of_methods})

    def _words(self, scope: frozenset[str], kind: str) -> dict[str, str]:
        words = dict(self.words.get(kind, {}))
        for method in sorted(scope):
            words |= self.of_methods[method].get(kind, {})
        if kind == "options":
            words |= {old.replace("_", "-"): new.replace("_", "-") for old, new in words.items()}
        return words

    def _changer(self, scope: frozenset[str], what: int) -> Callable[[str], str]:
        """Puts every new name into a case's name, a path or a text."""
        steps: list[tuple[re.Pattern[str], dict[str, str]]] = []
        for kind, stands in STANDS.items():
            if words := self._words(scope, kind):
                olds = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
                steps += [
                    (re.compile(place.replace("OLD", f"(?P<old>{olds})")), words) for place in stands[what]
                ]

        @cache
        def change(text: str) -> str:
            for pattern, words in steps:
                text = pattern.sub(lambda found, words=words: _put(found, words), text)  # type: ignore[misc]
            return text

        return change


def _put(found: re.Match[str], words: Mapping[str, str]) -> str:
    start, end = found.start("old") - found.start(), found.end("old") - found.start()
    return found[0][:start] + words[found["old"]] + found[0][end:]


def _rule(rule: Mapping[str, str]) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    """Which cases, and which places of them; with `*` for anything. Without places: the cases themselves."""
    if not {"cases", "reason"} <= {*rule} <= {"cases", "paths", "reason"}:
        raise ValueError(
            f"renames.toml: what is dropped or added needs `cases` and a `reason`, not {dict(rule)}"
        )
    cases, paths = (re.escape(rule.get(name, "")).replace(r"\*", ".*") for name in ("cases", "paths"))
    return re.compile(cases, re.DOTALL), re.compile(paths) if "paths" in rule else None


def _holds(rules: list[tuple[re.Pattern[str], re.Pattern[str] | None]], case: str, path: str) -> bool:
    return any(
        cases.fullmatch(case) and (not path if paths is None else path and paths.fullmatch(path))
        for cases, paths in rules
    )


def read_renames(file: Path = TABLE) -> Renames:
    return Renames(tomllib.loads(file.read_text(encoding="utf-8")))


def empty(file: Path = TABLE) -> None:
    """Leave nothing of the table but what it says of itself."""
    lines = file.read_text(encoding="utf-8").splitlines()
    head = next((index for index, line in enumerate(lines) if not line.startswith("#")), len(lines))
    file.write_text("\n".join(lines[:head]) + "\n", encoding="utf-8")
