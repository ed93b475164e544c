"""Every declared option reaches the command line and the file, or says why it does not."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from inside.cli import Question, parameter_name, questions, read_one
from inside.cli import method_commands as commands_module
from inside.cli import run as run_module
from inside.data import definition, merging
from inside.ground import Argument, arguments_of
from inside.methods import Method, declared_methods, trial_methods
from inside.tabulate import entry
from inside.trial import (
    Names,
    SpecFaults,
    admits_groups,
    admits_metrics,
    data_keys,
    read_sections,
    role_keys,
    run,
    run_keys,
    section_keys,
)
from inside.trial import load_load_spec as load_spec

OPTIONS = [
    pytest.param(method, argument, id=f"{name}-{argument.name}")
    for name, method in declared_methods().items()
    for argument in method.arguments
]
RUN_OPTIONS = [pytest.param(argument, id=argument.name) for argument in arguments_of(run)]
ROLES = [pytest.param(argument, id=argument.name) for argument in role_keys().values()]


def typed(argument: Argument) -> str:
    """A text that stands for a value other than the default."""
    texts = [str(choice) for choice in argument.choices]
    texts += ["race=A"] if admits_groups(argument) else ["fpr"] if admits_metrics(argument) else []
    texts += ["young: age<25"] if argument.option.form is definition else []
    texts += ['{"group": {"race": "A"}}'] if argument.option.form is entry else []
    texts += ["sex: M=m|Male"] if argument.option.form is merging else []
    texts += ["age=4"] if argument.option.form and not texts else []
    texts += ["0.75", "0.3", "3", "1", "5", "700", "x"]
    for text in texts:
        value = read_one(argument, [text] if argument.option.many else text)
        if value != argument.default and argument.fault(value) is None:
            return text
    raise AssertionError(f"no text stands for a value of {argument.name}")


class Call:
    """Takes the place of a function and remembers what it was called with."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}

    def __call__(self, *arguments: Any, **given: Any) -> Any:
        self.given = {name: value for name, value in given.items() if name != "audit"}
        raise typer.Exit(17)


def command_of(method: Method, call: Call) -> typer.Typer:
    function = functools.wraps(method.function)(lambda *arguments, **given: call(*arguments, **given))
    application = typer.Typer(add_completion=False)
    application.command()(Question.of(replace(method, function=function)).command())
    return application


def type_option(argument: Argument) -> list[str]:
    if argument.is_flag:
        return [f"--no-{argument.flag}" if argument.default is True else f"--{argument.flag}"]
    return [f"--{argument.flag}", typed(argument)]


def expected(argument: Argument) -> Any:
    if argument.is_flag:
        return argument.default is not True
    return read_one(argument, [typed(argument)] if argument.option.many else typed(argument))


@pytest.mark.parametrize(("method", "argument"), OPTIONS)
def test_to_the_command_line(method: Method, argument: Argument, monkeypatch: pytest.MonkeyPatch) -> None:
    if argument.option.python_only or method.no_command:
        assert len(argument.option.python_only or method.no_command) > 10
        return
    opened, called = Call(), Call()
    monkeypatch.setattr(commands_module, "Audit", lambda *_, **given: opened.given.update(given))
    needed = [other for other in Question.of(method).own if other.required and other is not argument]
    placed = [other for other in [*needed, argument] if other.name in method.before_audit]
    words = [word for other in [*needed, argument] if other not in placed for word in type_option(other)]
    data = [*map(typed, placed), *(["people.csv"] if method.takes_audit else [])]
    done = CliRunner().invoke(command_of(method, called), [*data, *words])
    assert done.exit_code == 17, done.output
    role = role_keys().get(argument.name)
    of_audit = method.takes_audit and role is not None and role.flag == argument.flag
    where = opened.given if of_audit else called.given
    assert where[argument.name] == expected(argument)
    assert set(called.given) == {other.name for other in [*needed, argument]} - set(opened.given), (
        "what was not typed is Python's to choose"
    )


@pytest.mark.parametrize(("method", "argument"), OPTIONS)
def test_to_the_file(method: Method, argument: Argument) -> None:
    if argument.option.python_only or method.name not in trial_methods():
        return  # the reason was looked at above; a method that is no part of a trial has no section
    if argument.option.whole_trial:
        assert argument.name in run_keys()
        return
    content = {method.name: {argument.name: expected(argument)}}
    faults = SpecFaults("audit.toml", content, None)
    (section,) = read_sections(content, Names(), faults)
    assert section.arguments == content[method.name]
    assert not [text for _, text in faults.found if "is missing" not in text]


@pytest.mark.parametrize("name", trial_methods())
def test_what_a_section_may_not_set_says_why(name: str) -> None:
    method = trial_methods()[name]
    refused = [argument for argument in method.arguments if argument.name not in section_keys(method)]
    content = {name: {argument.name: 1 for argument in refused}}
    faults = SpecFaults("audit.toml", content, None)
    read_sections(content, Names(), faults)
    said = [text for _, text in faults.found if "is missing" not in text]
    assert len(said) == len(refused)
    assert all("for Python only: " in text or "write it under [run]" in text for text in said)


@pytest.mark.parametrize("argument", ROLES)
def test_roles_to_the_command_line_and_the_file(argument: Argument, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, called = Call(), Call()
    monkeypatch.setattr(commands_module, "Audit", lambda *_, **given: opened.given.update(given))
    words = ["people.csv", "--metric", "fpr", *type_option(argument)]
    done = CliRunner().invoke(command_of(questions()["certify"], called), words)
    assert done.exit_code == 17, done.output
    value = expected(argument)
    assert opened.given == {argument.name: [value] if argument.name == "groups" else value}
    assert argument.name in data_keys()
    needed = {"source": "people.csv", "score": "s", "groups": ["race"]}
    spec = load_spec({"data": {**needed, argument.name: value}, "measure": {}})
    assert spec.data.roles[argument.name] == value


@pytest.mark.parametrize("argument", RUN_OPTIONS)
def test_run(argument: Argument, monkeypatch: pytest.MonkeyPatch) -> None:
    if argument.option.python_only:
        assert len(argument.option.python_only) > 10
        return
    called = Call()
    monkeypatch.setattr(run_module, "run_trial", called)
    done = CliRunner().invoke(run_module.app, ["audit.toml", *type_option(argument)])
    assert done.exit_code == 17, done.output
    value = expected(argument)
    assert str(called.given[argument.name]) == str(value)
    assert set(called.given) == {"out", "progress", argument.name}
    assert (argument.name in run_keys()) != bool(argument.option.not_in_file)
    if argument.name in run_keys():
        content = {"data": {"dataset": "ricci", "decision": "passed", "groups": "race"}, "measure": {}}
        assert getattr(load_spec({**content, "run": {argument.name: value}}).run, argument.name) == value


def test_no_two_options_of_a_command_share_a_name() -> None:
    for name, method in questions().items():
        question = Question.of(method)
        names = [parameter_name(argument) for argument in (*question.roles, *question.own)]
        assert len(names) == len(set(names)), name
        assert not {"json", "csv", "chart", "data"} & set(names), name
