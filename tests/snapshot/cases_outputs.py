"""Kinds of data, texts, whole audits and the command line."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import narwhals as nw

import fairtrial
from inside.cli import main
from snapshot import inputs
from snapshot.case import (
    BETA,
    Case,
    cost,
    in_word,
    in_words,
)
from snapshot.cases_models import FIXED, compared, decide
from snapshot.inputs import audit, call


# -- frames, files, texts, whole audits ------------------------------------------------------------------------------
def frame_cases() -> Iterator[Case]:
    for kind in (*inputs.FORMS, "spark"):
        questions: dict[str, Callable[[Any], Any]] = {
            "measure": lambda one: call("measure", one, ["fpr", "brier", "selection_rate"], target=BETA),
            "certify": lambda one: call("certify", one, "ppv", tolerance=0.1),
            "flag": lambda one: call("flag", one, "mean_score", by=["g", "side"]),
            "scan": lambda one: call(
                "scan", one, "fpr", protected={"g": "Alpha"}, features=["level", "side"], permutations=19
            ),
            "transport": lambda one: call("transport", one, "equal_opportunity"),
            "levels": lambda one: {
                name: one.levels(name) for name in ("g", "side", "level", "flag", "decile")
            },
            "frame": lambda one: _told(call("measure", one, "tpr").to_frame(all=True)),
            "real": lambda one: call("measure", one, cost(), target="overall"),
        }
        for name, question in questions.items():
            run = _of_form(kind, question)
            yield Case(f"frames/{kind}/{name}", run, 6, spark=kind == "spark")
        for mode in ("drop", "category", "error"):
            yield Case(f"frames/{kind}/missing {mode}", _of_gaps(kind, mode), 6, spark=kind == "spark")
    for kind in ("pandas", "polars", "pyarrow"):
        yield Case(f"frames/explain {kind}", _of_form(kind, _explained_form), 3)
        yield Case(f"frames/load {kind}", _loaded(kind), 1)
        for backend in ("pandas", "polars", "pyarrow"):
            yield Case(f"frames/{kind} to {backend}", _of_form(kind, _backend(backend)), 3)


def _explained_form(one: Any) -> Any:
    return call("explain", one, "tpr", model="logistic", features=["age", "level"], test="part")


def _backend(backend: str) -> Callable[[Any], Any]:
    return lambda one: _told(call("certify", one, "tpr", tolerance=0.1).to_frame(backend, all=True))


def _loaded(kind: str) -> Callable[[], Any]:
    def run() -> Any:
        found = {}
        for name in ("compas", "adult", "ricci"):
            table = call("load", name, backend=kind)
            found[name] = {
                "shape": list(table.shape),
                "columns": list(getattr(table, "column_names", table.columns)),
            }
        return found

    return run


def _told(table: Any) -> Any:
    """A dataframe of any kind as columns of texts."""
    as_arrow = nw.from_native(table, eager_only=True).to_arrow().to_pydict()
    kind = type(table).__module__.split(".")[0]
    return {
        "kind": kind,
        "columns": {name: [_missing(value) for value in values] for name, values in as_arrow.items()},
    }


def _missing(value: Any) -> Any:
    return None if value is None or value != value else value


def _of_form(kind: str, question: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: question(_form_audit(kind))


@cache
def _form_audit(kind: str) -> Any:
    roles = {"outcome": "y", "score": "s", "threshold": 0.45, "groups": "g"}
    return call("Audit", inputs.form(kind), **roles)


def _of_gaps(kind: str, mode: str) -> Callable[[], Any]:
    def run() -> Any:
        roles = {"decision": "d", "groups": ["g", "side"], "missing": mode}
        return call("measure", call("Audit", inputs.form(kind, "gaps"), **roles), "selection_rate", depth=2)

    return run


TEXTS: list[tuple[str, str, tuple[Any, ...], dict[str, Any]]] = [
    ("measure", "people", (["fpr", "brier"],), {"target": BETA}),
    ("measure", "sparse", ("selection_rate",), {}),
    ("measure", "people both", ("tpr",), {}),
    ("certify", "people", ("fpr",), {"target": BETA, "tolerance": 0.1}),
    ("certify", "people", ("brier",), {}),
    ("certify", "sparse", ("selection_rate",), {"tolerance": 0.1, "minimum": 2}),
    ("flag", "people two", ("fpr",), {"tolerance": 0.05}),
    ("flag", "sparse two", ("selection_rate",), {"direction": "outside"}),
    ("scan", "people", ("fpr",), {"protected": {"g": "Alpha"}, "permutations": 19}),
    (
        "scan",
        "people",
        ("mean_score",),
        {"protected": {"g": "Alpha"}, "permutations": 19, "null": "propensity"},
    ),
    ("scan", "people", ("fpr",), {"permutations": 49}),
    ("transport", "people by score", ("equalized_odds",), {}),
    ("transport", "linear", ("statistical_parity",), {"distance": inputs.LINEAR}),
    ("transport", "people decisions", ("statistical_parity",), {}),
    ("explain", "people aged", ("fpr",), {"model": "logistic", "target": BETA}),
    (
        "explain",
        "people",
        ("tpr",),
        {"coalitions": decide, "sensitive": "absent", "features": ["level", "age"]},
    ),
    ("improve", "misled", ("accuracy", "tpr"), FIXED),
    ("improve", "misled three", ("accuracy", "tpr"), {**FIXED, "scale": "difference"}),
]


def text_cases() -> Iterator[Case]:
    for function, of, given, options in TEXTS:
        short = {name: value for name, value in options.items() if name not in FIXED}
        name = f"texts/{function} {of} {' '.join(map(in_word, given))} {in_words(short)}".strip()
        yield Case(name, _summary(function, of, given, options), 2)
    yield Case(
        "texts/plan", lambda: call("plan", "fpr", rate=0.2, tolerance=0.05, disparity=0.1).summary(), 1
    )
    yield Case("texts/compare", lambda: compared("fpr", {})().summary(), 1)
    yield Case("texts/metrics", _metric_table, 1)
    yield Case("texts/names", lambda: sorted(name for name in dir(fairtrial) if name in inputs.POSITIONS), 1)


def _summary(function: str, of: str, given: tuple[Any, ...], options: dict[str, Any]) -> Callable[[], Any]:
    def run() -> Any:
        result = call(function, audit(of), *given, **options)
        again = type(result).from_dict(result.to_dict())
        about = {name: getattr(type(result), name) for name in ("kind", "method", "citation")}
        columns = [[column.name, column.title, column.kind, column.shown] for column in type(result).columns]
        return {
            "summary": result.summary(), "again": again.summary() == result.summary(),
            "html": len(result._repr_html_()) > 100,
            "about": about, "assumptions": list(type(result).assumptions), "columns": columns,
        }  # fmt: skip

    return run


def _metric_table() -> Any:
    rows = {}
    for name, one in fairtrial.METRICS.items():
        rows[name] = {
            "label": one.label, "equal": one.equal, "hurts": one.hurts, "harm": one.harm,
            "form": one.to_dict(),
            "needs": sorted(one.needs), "binary": one.binary,
        }  # fmt: skip
    return {"metrics": rows, "criteria": {name: list(parts) for name, parts in fairtrial.CRITERIA.items()}}


SPECS: dict[str, dict[str, Any]] = {
    "people": {
        "report": {"title": "People", "suppress_below": 10},
        "data": {"source": "people.parquet", "outcome": "y", "score": "s", "threshold": 0.45, "groups": ["g", "side"],
                 "features": ["level", "age"]},
        "run": {"seed": 3},
        "groups": {"beta": {"g": "Beta"}},
        "metrics": {"left": {"value": "role.decision", "given": {"side": "left"}}},
        "measure": [{"metric": ["fpr", "ppv"], "by": ["g"], "target": "beta"},
                    {"metric": ["left"], "by": ["g"], "title": "Left"}],
        "certify": {"metric": "tpr", "by": ["g"], "tolerance": 0.1},
        "flag": {"metric": "fpr", "depth": 2, "tolerance": 0.02, "direction": "above"},
        "scan": [
            {"metric": "fpr", "protected": "beta", "features": ["level", "side"], "permutations": 39},
            {"metric": "fpr", "protected": ["side"], "features": ["level"], "permutations": 49, "direction": "differs"},
        ],
        "transport": {"metric": "equalized_odds", "by": ["g"], "direction": "differs"},
        "explain": {"metric": "fpr", "by": ["g"], "target": "beta", "model": "logistic"},
        "improve": {"metric": "fpr", "by": ["side"], "candidates": {"fixed": "d2"},
                    "splits": 2, "bootstrap": 200},
    },
    "ricci": {
        "preset": "employment",
        "data": {"dataset": "ricci", "decision": "passed", "groups": ["race", "position"]},
        "report": {"suppress_below": 5},
    },
    "lending": {
        "preset": "lending",
        "data": {"source": "people.parquet", "outcome": "y", "decision": "d", "groups": ["side"]},
    },
    "failing": {
        "data": {"source": "people.parquet", "decision": "d", "groups": ["g"]},
        "measure": {"metric": "selection_rate"},
        "transport": {"metric": "statistical_parity", "minimum": 100000},
    },
}  # fmt: skip


def spec_of(name: str) -> dict[str, Any]:
    """A spec with today's names; its source is written where the spec lies."""
    shutil.copyfile(inputs.form("parquet"), inputs.scratch() / "people.parquet")
    spec: dict[str, Any] = {}
    for key, content in SPECS[name].items():
        if (key in inputs.POSITIONS and isinstance(content, dict)) or key in inputs.POSITIONS:
            spec[key] = content
        else:
            spec[key] = dict(content) if isinstance(content, dict) else content
    return spec


def as_toml(spec: dict[str, Any]) -> str:
    """A spec as the text of a file."""

    def value(of: Any) -> str:
        if isinstance(of, bool):
            return str(of).lower()
        if isinstance(of, dict):
            return "{ " + ", ".join(f'"{key}" = {value(inner)}' for key, inner in of.items()) + " }"
        if isinstance(of, list | tuple):
            return "[" + ", ".join(map(value, of)) + "]"
        return f'"{of}"' if isinstance(of, str) else repr(of)

    lines = [
        f"{key} = {value(content)}" for key, content in spec.items() if not isinstance(content, dict | list)
    ]
    for key, content in spec.items():
        tables = [(f"[{key}]", content)] if isinstance(content, dict) else []
        if isinstance(content, list):
            tables = [(f"[[{key}]]", table) for table in content]
        for heading, table in tables:
            lines += [heading, *(f"{name} = {value(inner)}" for name, inner in table.items())]
    return "\n".join(lines) + "\n"


def written(name: str) -> str:
    """The spec as a file in the scratch folder."""
    path = inputs.scratch() / f"{name}.toml"
    path.write_text(as_toml(spec_of(name)), encoding="utf-8")
    return str(path)


def run_cases() -> Iterator[Case]:
    for name in SPECS:
        yield Case(f"run/{name}", lambda name=name: call("run", written(name)), 3)
    yield Case("run/people seed", lambda: call("run", written("people"), seed=11, jobs=1), 0)
    yield Case("run/ricci dict", lambda: call("run", spec_of("ricci")), 2)
    yield Case(
        "run/data", lambda: call("run", {**spec_of("failing"), "transport": []}, data=inputs.people()), 3
    )


COMMANDS: list[list[str]] = [
    ["--help"], ["measure", "--help"], ["certify", "--help"], ["flag", "--help"], ["plan", "--help"],
    ["scan", "--help"], ["transport", "--help"], ["explain", "--help"], ["improve", "--help"],
    ["run", "--help"],
    ["plan", "--metric", "fpr", "--rate", "0.2", "--tolerance", "0.05"], ["measur"],
    ["measure", "nothing.csv"],
    ["measure", "FILE", "--outcome", "y", "--decision", "d", "--by", "g", "--metric", "fpr"],
    ["certify", "FILE", "--outcome", "y", "--decision", "d", "--by", "g", "--metric", "fpr", "--tolerance", "0.1"],
    ["flag", "FILE", "--outcome", "y", "--decision", "d", "--by", "g", "--metric", "fprr"],
    ["transport", "FILE", "--outcome", "y", "--score", "s", "--threshold", "0.45", "--by", "g", "--metric", "tpr"],
    ["run", "missing.toml"],
    ["certify", "FILE", "--decision", "dd", "--by", "g", "--metric", "selection_rate"],
]  # fmt: skip


def command_cases() -> Iterator[Case]:
    for words in COMMANDS:
        yield Case(f"command/{' '.join(words)}", lambda words=words: _typed(words), 3)


def _typed(words: list[str]) -> Any:
    """Exit code and output of the program, on a terminal of 100 columns without colours."""
    file = str(inputs.form("csv"))
    typed = [file if word == "FILE" else word for word in words]
    out, err, before = io.StringIO(), io.StringIO(), (sys.argv, dict(os.environ))
    os.environ |= {"COLUMNS": "100", "TERMINAL_WIDTH": "100", "NO_COLOR": "1", "TERM": "dumb"}
    sys.argv, code = ["fairtrial", *typed], 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            inputs.elsewhere(main)
    except SystemExit as stopped:
        code = int(stopped.code or 0) if not isinstance(stopped.code, str) else 1
    finally:
        sys.argv = before[0]
        os.environ.clear()
        os.environ.update(before[1])
    scratch = str(inputs.scratch())
    shown = {"out": out.getvalue(), "err": err.getvalue()}
    lines = {
        name: [line.rstrip() for line in text.replace(scratch, "<scratch>").splitlines()]
        for name, text in shown.items()
    }
    told: dict[str, Any] = {name: "\n".join(text) for name, text in lines.items()}
    return {"code": code, **told, **({"out": help_page(told["out"])} if "--help" in words else {})}


def help_page(text: str) -> dict[str, Any]:
    """A help page by its sections and their names, without widths: a new option is one place more."""
    heads: list[str] = []
    sections: dict[str, dict[str, str]] = {}
    entries, name = {}, ""
    for line in text.splitlines():
        if section := re.fullmatch(r"(\w+):", line):
            entries = sections[section[1]] = {}
        elif not sections:
            heads.append(line)
        elif entry := re.fullmatch(r"  ((?:-\S+, )?\S+)(.*)", line):
            name, entries[entry[1]] = entry[1], entry[2].strip()
        elif line:
            entries[name] += line.strip() if entries[name].endswith("-") else f" {line.strip()}"
    told = {
        title: {one: " ".join(words.split()) for one, words in of.items()} for title, of in sections.items()
    }
    return {"head": " ".join(" ".join(heads).split()), **told}
