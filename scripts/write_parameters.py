"""Write the Parameters section of every declared function's docstring, and the docs' tables of options.

    python scripts/write_parameters.py           write
    python scripts/write_parameters.py --check   name what is not as declared, and exit with 1

An option's help, bounds and choices stand once, in the signature; docstrings and docs repeat them for readers.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fairtrial._audit.audit import Audit
from fairtrial._method.declaration import all_methods
from fairtrial._options import Argument, arguments_of
from fairtrial._trial.running import run

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 110
LONGEST = 116  # of a line that is not wrapped
SECTION = re.compile(
    r"(?P<indent>[ ]*)Parameters\n[ ]*-{10}\n(?P<body>.*?)(?=\s*\n[ ]*[A-Z]\w+\n[ ]*-{3,}|\Z)", re.S
)
TABLE = re.compile(r"(<!-- options of ([\w.]+) -->\n).*?(<!-- end of options -->)", re.S)


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Everything whose options are declared, by its public name."""
    yield "Audit", Audit.__init__
    yield "run", run
    for name, method in all_methods().items():
        yield name, method.function


def type_words(argument: Argument) -> str:
    """'float or None', '{"wilson", "exact"}'."""
    words = [_type_word(part) for part in _parts(argument.hint)]
    shown = " or ".join(dict.fromkeys(word for word in words if word))
    return shown if argument.required else f"{shown}, default {argument.default!r}"


def _parts(hint: Any) -> tuple[Any, ...]:
    import types

    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(part for member in typing.get_args(hint) for part in _parts(member))
    return (hint,)


def _type_word(part: Any) -> str:
    if typing.get_origin(part) is typing.Literal:
        return "{" + ", ".join(repr(choice) for choice in typing.get_args(part)) + "}"
    if part is type(None):
        return "None"
    origin = typing.get_origin(part) or part
    return {"Sequence": "list", "Mapping": "dict", "Callable": "callable", "Any": "object"}.get(
        getattr(origin, "__name__", str(origin)), getattr(origin, "__name__", str(origin))
    )


def parameters(function: Callable[..., Any], first: str) -> list[str]:
    """The lines of the section, without indentation; `first` is what is written by hand before the options."""
    lines = first.splitlines() if first else []
    for argument in arguments_of(function):
        kind = type_words(argument)
        listed = len(argument.name) + len(kind) + 3 <= LONGEST  # a longer list of choices stands in the help
        lines.append(f"{argument.name} : {kind if listed else re.sub(r'{.*?}', 'str', kind)}")
        more = f" Python only: {argument.option.python_only}." if argument.option.python_only else ""
        lines += textwrap.wrap(
            argument.option.help + ("" if listed else _choices(argument)) + more,
            WIDTH - 8,
            initial_indent="    ",
            subsequent_indent="    ",
            break_on_hyphens=not argument.choices,
        )
    return lines


def _choices(argument: Argument) -> str:
    return f" One of {', '.join(map(repr, argument.choices))}."


def rewritten(function: Callable[..., Any], source: str, docstring: str) -> str:
    """The docstring with its Parameters section as declared; what is no option (the audit) stays as written."""
    match = SECTION.search(docstring)
    if match is None:
        raise SystemExit(f"{function.__qualname__}: its docstring has no Parameters section")
    indent = match["indent"]
    declared = {argument.name for argument in arguments_of(function)}
    own = _own_entries(textwrap.dedent(match["body"]), declared)
    lines = [f"{indent}{line}" if line else "" for line in parameters(function, own)]
    section = f"{indent}Parameters\n{indent}----------\n" + "\n".join(lines) + "\n"
    rest = docstring[match.end() :].lstrip("\n")
    return docstring[: match.start()] + section + ("\n" if rest.strip() else "") + rest


def _own_entries(body: str, declared: set[str]) -> str:
    """Entries of the section that are not declared options."""
    entries = re.split(r"\n(?=\w[\w, ]* : )", body.strip("\n"))
    names = [set(entry.split(" : ")[0].strip().split(", ")) for entry in entries]
    kept = [entry for entry, own in zip(entries, names, strict=True) if entry.strip() and not own <= declared]
    return "\n".join(kept)


def table(function: Callable[..., Any]) -> str:
    """The options as a Markdown table."""
    rows = ["| option | what it is | default |", "|---|---|---|"]
    for argument in arguments_of(function):
        default = "required" if argument.required else f"`{argument.default!r}`"
        choices = "; ".join(f"`{choice}`" for choice in argument.choices)
        words = argument.option.help + (f" One of {choices}." if choices else "")
        rows.append(f"| `{argument.name}` | {words.replace('|', chr(92) + '|')} | {default} |")
    return "\n".join(rows) + "\n"


def changes() -> Iterator[tuple[Path, str]]:
    """Every file that differs from what the declarations say, with its new text."""
    texts: dict[Path, str] = {}
    by_name = dict(functions())
    for name, function in by_name.items():
        plain = inspect.unwrap(function)
        owner = Audit if name == "Audit" else plain
        path = Path(inspect.getsourcefile(owner) or "")
        source = texts.get(path) or path.read_text(encoding="utf-8")
        docstring = _docstring_in(source, "class Audit" if name == "Audit" else f"def {plain.__name__}(")
        texts[path] = source.replace(docstring, rewritten(plain, source, docstring), 1)
    for path in sorted((ROOT / "docs").rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        texts[path] = TABLE.sub(lambda match: match[1] + table(by_name[match[2]]) + match[3], text)
    for path, text in texts.items():
        if text != path.read_text(encoding="utf-8"):
            yield path, text


def _docstring_in(source: str, opening: str) -> str:
    """The text of the docstring that follows a definition, as it stands in the file."""
    start = source.index('"""', source.index(opening)) + 3
    return source[start : source.index('"""', start)]


def main() -> int:
    found = list(changes())
    for path, text in found:
        print(path.relative_to(ROOT))
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
    return int(bool(found)) if "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
