"""Size of the house: `python scripts/house.py [SRC]` prints how many files, lines, classes and options it has.

With `--history` every hundredth commit is counted too; with `--beside FOLDER …` packages are set side by side, as
docs/design.md does. tests/unit/test_house.py keeps the numbers from growing.
"""

from __future__ import annotations

import ast
import io
import json
import statistics
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LONG_FUNCTION = 30
# options that mean the same everywhere and count for no question
COMMON = {"confidence_level", "seed", "jobs", "progress"}
STUDIES_AND_TESTS = {"_studies", "tests"}
SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
MEASURE = """
import json, sys, fairtrial
def audit():
    return fairtrial.Audit(fairtrial.load("compas"), outcome="two_year_recid", score="decile_score", threshold=5)
fairtrial.measure(audit(), "fpr", by="race")
fresh, entered = audit(), set()
def see(frame, event, arg):
    if event == "call" and "/fairtrial/" in frame.f_code.co_filename:
        entered.add(frame.f_code.co_filename)
sys.setprofile(see)
fairtrial.measure(fresh, "fpr", by="race")
sys.setprofile(None)
own = [name for name in sys.modules if name.split(".")[0] == "fairtrial"]
numba = "numba" in sys.modules
handed = set()
def constructed(frame, event, arg):
    if event == "call" and frame.f_code.co_name == "__init__":
        kind = type(frame.f_locals.get("self"))
        if kind.__module__.startswith(("fairtrial._compare", "fairtrial._audit.cells")) and kind.__name__[0] != "_":
            handed.add(kind.__name__)
sys.setprofile(constructed)
fairtrial.certify(fresh, "fpr", by="race", tolerance=0.05)
sys.setprofile(None)
print(json.dumps({"loaded": sorted(own), "entered": sorted(entered), "numba": numba, "handed": sorted(handed)}))
"""


def documented(tree: ast.AST) -> set[int]:
    """The lines that docstrings take."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                lines |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def code_lines(text: str, tree: ast.AST) -> set[int]:
    """The lines of code: no blank ones, no comments, no docstrings."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return lines - documented(tree)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def is_long(function: ast.FunctionDef | ast.AsyncFunctionDef, code: set[int]) -> bool:
    """Whether it has more lines of code than fit on a screen, its signature with them."""
    lines = range(function.lineno, (function.end_lineno or function.lineno) + 1)
    return len(code.intersection(lines)) > LONG_FUNCTION


def module_name(path: Path, source: Path) -> str:
    """fairtrial/_audit/audit.py → fairtrial._audit.audit."""
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def importers(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Who imports each module, lazily and for types too."""
    found: dict[str, set[str]] = {name: set() for name in trees}
    for name, tree in trees.items():
        for node in ast.walk(tree):
            asked = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                whole = [f"{node.module}.{alias.name}" for alias in node.names]
                asked = [one if one in trees else str(node.module) for one in whole]
            for one in asked:
                if one in trees and one != name:
                    found[one].add(name)
    return found


def sizes(source: Path) -> dict[str, Any]:
    """Files, lines, classes, functions and imports of a source tree.

    The papers' studies travel with the package, so that their tables can be made again; they are no rooms of it.
    """
    paths = sorted(path for path in source.rglob("*.py") if "_studies" not in path.parts)
    texts = {module_name(path, source): path.read_text(encoding="utf-8") for path in paths}
    packages = {module_name(path, source) for path in paths if path.name == "__init__.py"}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    classes = Counter(
        node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    )
    code = {name: code_lines(text, trees[name]) for name, text in texts.items()}
    long = [
        f"{name}.{one.name}"
        for name, tree in trees.items()
        for one in functions(tree)
        if is_long(one, code[name])
    ]
    known = importers(trees)
    # what the stub of the public names holds is reached by users, whoever imports it besides
    packages |= {
        f"{module_name(stub.with_suffix('.py'), source)}.{node.module}"
        for stub in source.rglob("*.pyi")
        for node in ast.walk(ast.parse(stub.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
    }
    length = {name: len(text.splitlines()) for name, text in texts.items()}
    return {
        "files": len(paths),
        "lines of code": sum(map(len, code.values())),
        "classes": classes.total(),
        "class names used twice": sorted(name for name, times in classes.items() if times > 1),
        "one importer": sorted(name for name in trees if len(known[name]) == 1 and name not in packages),
        "longest file": max(length.values()),
        "files over 400": sorted(name for name, lines in length.items() if lines > 400),
        "functions": sum(1 for tree in trees.values() for _ in functions(tree)),
        "long functions": long,
    }


def options() -> dict[str, int]:
    """How many options each question of the product has, beside those that mean the same everywhere."""
    from fairtrial._method.declaration import declared_methods

    return {
        name: sum(argument.name not in COMMON for argument in method.arguments)
        for name, method in declared_methods().items()
    }


def one_measure() -> dict[str, Any]:
    """Own modules that one `measure` loads, files it enters, whether numba came along; what a `certify` hands on."""
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def beside(root: Path) -> dict[str, Any]:
    """What docs/design.md says of a package, its tests left out."""
    paths = [path for path in sorted(root.rglob("*.py")) if not STUDIES_AND_TESTS & set(path.parts)]
    texts = {module_name(path, root.parent): path.read_text(encoding="utf-8") for path in paths}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    code = {name: code_lines(text, trees[name]) for name, text in texts.items()}
    total = sum(map(len, code.values()))
    classes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    asked = [(name, one) for name, tree in trees.items() for one in functions(tree)]
    modules = [module_name(path, root.parent) for path in paths if path.name != "__init__.py"]
    known, lengths = importers(trees), [len(text.splitlines()) for text in texts.values()]
    return {
        "files": len(paths),
        "lines of code": total,
        "lines of a middling file": statistics.median(lengths),
        "longest file": max(lengths),
        "classes per 1,000 lines of code": round(1000 * len(classes) / total, 1),
        "class names used twice": sum(n > 1 for n in Counter(node.name for node in classes).values()),
        "longest class": max((node.end_lineno or 0) - node.lineno + 1 for node in classes),
        "functions of more than 30 lines": f"{sum(is_long(f, code[n]) for n, f in asked) / len(asked):.1%}",
        "marked private": f"{sum('._' in name for name in modules)} of {len(modules)}",
        "modules that one other imports": sum(len(known[name]) == 1 for name in modules),
        "open with a sentence": f"{sum(bool(ast.get_docstring(trees[m])) for m in modules)} of {len(modules)}",
        "lines of docstrings per line of code": round(
            sum(len(documented(t)) for t in trees.values()) / total, 2
        ),
        "functions that say what they return": f"{sum(f.returns is not None for _, f in asked) / len(asked):.0%}",
    }


def history(step: int = 100) -> Iterator[tuple[str, dict[str, Any]]]:
    """The sizes at every so manieth commit, from a folder of its own."""
    import tarfile
    import tempfile

    def git(*arguments: str) -> bytes:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=True).stdout

    for commit in git("rev-list", "--first-parent", "HEAD").decode().split()[::step]:
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(fileobj=io.BytesIO(git("archive", commit, "src"))) as archive:
                archive.extractall(folder, filter="data")
            yield commit[:10], sizes(Path(folder) / "src")


def main(arguments: list[str]) -> None:
    """Print the numbers, and behind some of them what they count."""
    if "--history" in arguments:
        for commit, found in history():
            print(commit, *(found[name] for name in ("files", "lines of code", "classes")))
        return
    if "--beside" in arguments:
        for folder in arguments[arguments.index("--beside") + 1 :]:
            print(folder, *(f"{name}: {value}" for name, value in beside(Path(folder)).items()), sep="\n  ")
        return
    found = sizes(Path(arguments[0]) if arguments and arguments[0] != "-v" else ROOT / "src")
    share = len(found["long functions"]) / found["functions"]
    for name in ("files", "lines of code", "classes", "longest file", "functions"):
        print(f"{name}: {found[name]:,}")
    for name in ("class names used twice", "files over 400", "one importer", "long functions"):
        print(f"{name}: {len(found[name])}  {' '.join(found[name]) if '-v' in arguments else ''}")
    print(f"functions over {LONG_FUNCTION} lines: {100 * share:.2f}%")
    asked = options()
    print(f"options: {sum(asked.values())} in all, {asked}")
    seen = one_measure()
    loaded, entered = len(seen["loaded"]), len(seen["entered"])
    print(f"one measure: {loaded} modules loaded, {entered} files entered, numba: {seen['numba']}")
    print(f"one certify hands on: {' '.join(seen['handed'])}")


if __name__ == "__main__":
    main(sys.argv[1:])
