"""Every fault says what to do: by its cure or hint, by naming what is required, or it stands here with the reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import fairtrial

SOURCE = Path(fairtrial.__file__).parent
# A requirement is what to do: "must be a number", "needs a score", "give either …", "…; rename one".
SAYS = re.compile(
    r"\bmust\b|\bneeds?\b|\bneeded\b|^give |`fairtrial \w+` writes|"
    r"[:;] (?:add|ask|choose|give|keep|leave|make|name|rename|run|see|write)\b"
)
# (file, function): why a fault of this function needs no cure of its own
REASONS = {
    ("_audit/files/headers.py", "file_fault"): "the caller words the whole sentence, and each says what to do",
    ("_options/__init__.py", "_bounds_fault"): "the requirement is worded by the option's declared bounds",
    ("_trial/spec/untrusted.py", "check_untrusted"): "listed under one fault that says what to add",
    ("_trial/spec/key_lines.py", "raise_any"): "joins faults that say it themselves",
    ("papers/improvability/_linear_program.py", "check"): "what the program lacks is worded by _lacks: it needs …",
    ("_improve/worth.py", "evaluate"): "worded with what the metric needs",
    ("_transport/result.py", "_rows"): "the reason says to run transport again where that helps",
}  # fmt: skip


def name_of(call: ast.Call) -> str:
    return str(getattr(call.func, "id", getattr(call.func, "attr", "")))


def words(node: ast.AST, scope: ast.AST, constants: dict[str, ast.AST]) -> str:
    """Every text that an expression may come to, as far as the source tells."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    if isinstance(node, ast.Call) and name_of(node) == "Words":
        return words(node.args[0], scope, constants)
    if isinstance(node, ast.BinOp):
        return words(node.left, scope, constants) + words(node.right, scope, constants)
    if isinstance(node, ast.IfExp):
        return min((words(part, scope, constants) for part in (node.body, node.orelse)), key=tells)
    if isinstance(node, ast.Name):
        before = [one for one in given_to(node.id, scope) if one.lineno < node.lineno]
        value = max(before, key=lambda one: one.lineno, default=None) or constants.get(node.id)
        return "" if value is None else words(value, scope, constants)
    return ""


def given_to(name: str, scope: ast.AST) -> Iterator[ast.expr]:
    """What a variable is set to, also as one of several at once."""
    for one in ast.walk(scope):
        if not isinstance(one, ast.Assign):
            continue
        for target in one.targets:
            if isinstance(target, ast.Name) and target.id == name:
                yield one.value
            elif isinstance(target, ast.Tuple) and isinstance(one.value, ast.Tuple):
                pairs = zip(target.elts, one.value.elts, strict=True)
                yield from (value for part, value in pairs if isinstance(part, ast.Name) and part.id == name)


def tells(text: str) -> bool:
    return bool(SAYS.search(text))


def silent(path: Path, source: str) -> Iterator[tuple[str, str, int]]:
    """The faults of a file that do not say what to do: file, function and line."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or name_of(call) != "Fault" or len(call.args) < 2:
            continue
        around = [one for one in functions if one.lineno <= call.lineno <= (one.end_lineno or 0)]
        scope: ast.AST = max(around, key=lambda one: one.lineno, default=tree)
        given = {keyword.arg for keyword in call.keywords}
        if not given & {"cure", "hint"} and not tells(words(call.args[1], scope, constants)):
            yield path.as_posix(), getattr(scope, "name", ""), call.lineno


def test_every_fault_says_what_to_do() -> None:
    found = [
        one
        for path in sorted(SOURCE.rglob("*.py"))
        for one in silent(path.relative_to(SOURCE), path.read_text(encoding="utf-8"))
    ]
    assert [one for one in found if one[:2] not in REASONS] == []
    unused = set(REASONS) - {one[:2] for one in found}
    assert unused == set(), "a reason that nothing needs any more"


@pytest.mark.parametrize(
    ("source", "is_silent"),
    [
        ('def f():\n    raise InputError("f", Fault("by", "is met by nobody"))', True),
        ('def f():\n    why = "is odd" if x else "must be even"\n    return Fault("by", why)', True),
        ('def f():\n    return Fault("by", "is met by nobody", cure="leave it out")', False),
        ('def f():\n    why = "must be a number"\n    return Fault("by", why, got=1)', False),
        ('WHY = "needs a score"\ndef f():\n    return Fault("by", WHY)', False),
    ],
)
def test_the_check_can_fail(source: str, is_silent: bool) -> None:
    assert bool(list(silent(Path("f.py"), source))) is is_silent
