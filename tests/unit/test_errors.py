"""One clear message: who, which argument, what is required, what came."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

import fairtrial
from fairtrial import FairtrialError, InputError
from inside.ground import (
    PYTHON,
    Cancelled,
    Fault,
    Faults,
    MissingExtra,
    Named,
    NotApplicable,
    Option,
    Set,
    Use,
    Words,
    check_choice,
    checked,
    did_you_mean,
)


def test_one_fault_is_one_line():
    error = InputError("flag", Fault("by", "is missing"))
    assert str(error) == "flag: 'by' is missing"
    assert [str(fault) for fault in error.faults] == ["'by' is missing"]
    assert isinstance(error, ValueError)


def test_faults_are_collected_once_each():
    faults = Faults("flag")
    faults.raise_any()
    one, two = Fault("", "one"), Fault("", "two")
    faults.add(one)
    faults.add(one)
    faults.extend(InputError("other", [two, one]))
    with pytest.raises(InputError, match="flag: 2 faults:\n  - one\n  - two"):
        faults.raise_any()


def test_suggestions():
    assert did_you_mean("fprr", ["fpr", "tpr"]) == " Did you mean 'fpr'?"
    assert did_you_mean("xyz", ["fpr", "tpr"]) == ""
    assert did_you_mean(3, [0, 1]) == "", "column names of a frame may be numbers"
    with pytest.raises(InputError, match=r"scan: 'mode' must be one of \['a', 'b'\], got None"):
        check_choice("scan", "mode", None, ["a", "b"])


@pytest.mark.parametrize("value", [0, 1, True, "0.5", float("nan"), None])
def test_numbers_between(value):
    """Bounds are declared; whoever calls the function is checked by them."""

    @checked
    def ask(level: Annotated[float, Option("A level.", above=0, below=1)]) -> float:
        return level

    with pytest.raises(InputError, match="ask: 'level' must be a number between 0 and 1, got"):
        ask(value)
    assert ask(0.5) == 0.5
    assert type(ask(np.float64(0.5))) is float


def test_a_fault_is_worded_by_its_front_end():
    class Shouting:
        def subject(self, argument):
            return argument.upper()

        def name(self, argument, of):
            return f"<{of}.{argument}>"

        def setting(self, argument, value, of):
            return f"<{of}.{argument}: {value}>"

        def method(self, name):
            return f"<{name}>"

        def value(self, value):
            return f"<{value}>"

    cure = Words("give {} with {}, or use {}", Named("score", of="Audit"), Set("cut", 3), Use("scan"))
    fault = Fault("by", "must be a column", got=1, cure=cure, hint="Did you mean 'g'?")
    assert fault.said(PYTHON) == (
        "'by' must be a column, got 1: give score= in the Audit with cut=3, or use scan. Did you mean 'g'?"
    )
    assert fault.said(Shouting()) == (
        "BY must be a column, got 1: give <Audit.score> with <.cut: 3>, or use <scan>. Did you mean 'g'?"
    )
    assert fault.about(PYTHON, "").startswith("must be a column")
    with pytest.raises(ValueError, match="one {} for each"):
        Words("{} and {}", Use("scan")).said(PYTHON)


def test_kinds_of_errors():
    for kind in (InputError, NotApplicable, MissingExtra, Cancelled):
        assert issubclass(kind, FairtrialError)
    assert issubclass(NotApplicable, InputError)
    assert issubclass(MissingExtra, ImportError)


def test_unknown_keywords_name_the_function_and_a_close_one():
    with pytest.raises(TypeError, match=r"scan\(\) .*'penalti'\. Did you mean 'penalty'\?"):
        fairtrial.scan("an audit", "fpr", penalti=2.0)


def test_what_is_not_there_or_cannot_be_read_comes_with_what_to_do():
    """A fault that requires something says so by itself; one that only finds something wrong needs a cure or a hint."""
    found_only = re.compile(r"has no|there is no group|cannot be (?:read|opened|written)|mixes|was taken")
    lacking = []
    for path in sorted(Path(fairtrial.__file__).parent.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if not (
                isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Fault" and len(node.args) > 1
            ):
                continue
            text = str(ast.get_source_segment(source, node.args[1])).removeprefix("f").strip("\"'")
            if found_only.match(text) and not {"cure", "hint"} & {word.arg for word in node.keywords}:
                lacking.append(f"{path.name}:{node.lineno} {text}")
    assert lacking == []
