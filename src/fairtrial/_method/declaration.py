"""One declaration per question: what it is called, what it asks, what it returns, and its part in a trial.

The public function is decorated with `method`; its signature declares the options. Command line, audit file, report,
documentation and page are derived from it. A new method is one folder with a module `method`, or any module that
decorates a function; the questions of `_compare` share a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache, wraps
from typing import Any, Literal, ParamSpec, TypeVar

from fairtrial._errors import Fault, InputError, did_you_mean
from fairtrial._options import Argument, arguments_of, bind, recorded
from fairtrial._results.result import Result, check_content

P = ParamSpec("P")
R = TypeVar("R", bound=Result)
# What a small p-value of the method says in a trial: that people are treated unequally, that a better rule exists,
# that something carries the gap, nothing, because certificates need no correction, or nothing that a trial may say,
# because a paper's own method is not the valid one.
Shows = Literal["disparity", "alternative", "carrier", "certificate", "paper"]


@dataclass(frozen=True, slots=True)
class Cost:
    """About how many seconds of one core a question takes, measured with its defaults.

    Parameters
    ----------
    once : float
        Whatever the number of rows.
    million : float
        For each million rows besides.
    draws : str
        The option in whose proportion it all grows, such as "permutations"; none unless said.
    usual : float
        The value of that option for which it was measured.
    """

    once: float
    million: float = 0.0
    draws: str = ""
    usual: float = 1.0

    def seconds(self, rows: int, arguments: Mapping[str, Any]) -> float:
        """For so many rows, and these arguments."""
        given = arguments.get(self.draws)
        times = float(given) / self.usual if isinstance(given, int | float) else 1.0
        return (self.once + self.million * rows / 1e6) * times


A_SECOND = Cost(1.0)
BY_MORE = "it counts people by more than their group, decision and outcome"


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One question that can be asked.

    Parameters
    ----------
    name : str
        The public function's name, the command and the section of the audit file; of a paper's own method its path,
        such as papers.elfa.certify.
    question : str
        What it asks, in words.
    short : str
        Its name in the report's contents.
    help : str
        One line for the command line.
    order : int
        Its place in a trial.
    shows : str or None
        What a small p-value of it says in a trial; None when it is no part of one.
    function : callable
        The public function; its signature declares the options.
    result : type
        What it returns.
    also : tuple of type
        Results that its result's methods return.
    no_command : str
        Why there is no command for it; empty when there is one.
    variant_of : str
        The method whose question it asks in another way; who asked either has asked that question.
    of_groups : bool
        Whether all its numbers are about the audit's groups, or random parts of them: only then can it be published
        by joining small groups.
    not_published : str
        Why it is not published where it is about more than groups, after "because".
    evidence : tuple of str
        Which of the audit's 'weight', 'unit', 'pair' and 'order' it honours; the others are refused by name.
    cost : Cost
        About how long it takes.
    neutral : str
        What it asks where nobody said what is good for a person; empty where that makes no difference.
    """

    name: str
    question: str
    short: str
    help: str
    order: int
    shows: Shows | None
    function: Callable[..., Result]
    result: type[Result]
    also: tuple[type[Result], ...] = ()
    no_command: str = ""
    variant_of: str = ""
    of_groups: bool = False
    not_published: str = BY_MORE
    evidence: tuple[str, ...] = ()
    cost: Cost = A_SECOND
    neutral: str = ""

    def asks(self, favourable: object) -> str:
        """The question, which speaks of harm only where it was said what is good for a person."""
        return self.question if favourable is not None else self.neutral or self.question

    @property
    def paper(self) -> str:
        """The room of the paper whose own method it is; empty for a question of the product."""
        return self.name.split(".")[1] if "." in self.name else ""

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The declared options, without the audit."""
        return arguments_of(self.function)

    @property
    def takes_audit(self) -> bool:
        """Whether it asks about data, rather than about a plan or two results."""
        from inspect import signature, unwrap

        return "audit" in signature(unwrap(self.function)).parameters

    @property
    def before_audit(self) -> tuple[str, ...]:
        """Arguments that stand before the audit, such as a watch's state: one types them before the data."""
        from inspect import signature, unwrap

        names = list(signature(unwrap(self.function)).parameters)
        return tuple(names[: names.index("audit")]) if self.takes_audit else ()


# what says how rows stand for people, and a decision of more than two values: why a method refuses it that gives no
# reason of its own
EVIDENCE = {
    "weight": "its people all count alike",
    "unit": "its rows are people, each once",
    "pair": "it compares different people, not two answers to one",
    "order": "it takes a decision of two kinds, not an ordered one",
    "unlabelled": "it needs the outcomes themselves, not bounds of unknown ones",
    "probable": "it needs to know each person's group",
}
_DECLARED: dict[str, Method] = {}


def method(
    *, question: str, short: str, help: str, order: int, shows: Shows | None, result: type[R],
    also: tuple[type[Result], ...] = (), no_command: str = "",
    variant_of: str = "", complete_rows: bool = True, evidence: tuple[str, ...] = (), refusal: str = "",
    of_groups: bool = False, not_published: str = BY_MORE, cost: Cost = A_SECOND, neutral: str = "", paper: str = "",
) -> Callable[[Callable[P, R]], Callable[P, R]]:  # fmt: skip
    """Declare a function as a method: its arguments are checked, and every front end finds it.

    One that uses only `complete_rows` is refused where dropping the others would leave other people than those audited.
    `refusal` says why it does not honour weights or units, where it does not. A `paper` names the room in
    `fairtrial.papers` whose own method it is: then it shows nothing in a trial, and its name begins with that room's.
    """

    def declare(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def public(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = bind(function, args, kwargs)
            audit: Any = bound.arguments.get("audit")
            if "audit" in bound.arguments:
                _check_audit(function.__name__, audit, complete_rows, evidence, refusal)
            with nullcontext() if audit is None else audit.source.alone:
                answer = function(*bound.args, **bound.kwargs)
            bound.apply_defaults()
            return _with_arguments(answer, function, bound.arguments)

        name = f"papers.{paper}.{function.__name__}" if paper else function.__name__
        _DECLARED[name] = Method(
            name=name, question=question, short=short, help=help, order=order, shows="paper" if paper else shows,
            function=public, result=result, also=also, no_command=no_command, variant_of=variant_of, evidence=evidence,
            of_groups=of_groups, not_published=not_published, cost=cost, neutral=neutral,
        )  # fmt: skip
        return public

    return declare


def _check_audit(
    who: str, audit: object, complete_rows: bool, evidence: tuple[str, ...], refusal: str
) -> None:
    """The first argument must be an Audit, whose rows stand for the people audited as the method can honour."""
    from fairtrial._audit.audit import Audit

    if not isinstance(audit, Audit):
        required = f"must be an Audit, got {type(audit).__name__}"
        cure = "say what the columns mean: Audit(data, decision=…, outcome=…, groups=…)"
        raise InputError(who, Fault("audit", required, cure=cure))
    own = {"weight": refusal, "unit": refusal} if refusal else {}
    for name, why in EVIDENCE.items():
        if name not in evidence:
            audit.refuse(who, name, why=own.get(name, why))
    if complete_rows:
        from fairtrial._method.selective_labels import refuse_selective_rows

        refuse_selective_rows(who, audit)


def _with_arguments(answer: R, function: Callable[..., R], given: Mapping[str, Any]) -> R:
    """The result with every argument that can be written down; what the method recorded in its own words stays."""
    written = {
        argument.name: recorded(given[argument.name])
        for argument in arguments_of(function)
        if not (argument.option.python_only or argument.option.whole_trial)
    }
    provenance = {**answer.provenance, "arguments": {**written, **answer.provenance.get("arguments", {})}}
    return replace(answer, provenance=provenance)


@cache
def _import_methods() -> None:
    """Import every declaring module; the one place that imports by name."""
    from importlib import import_module
    from pathlib import Path

    package = Path(__file__).parents[1]
    paths = [*package.glob("*/method.py"), *package.glob("*/*/method.py")]
    paths.append(package / "_compare" / "tabulate.py")  # the fourth question of its room
    for path in sorted(paths):
        import_module(".".join(["fairtrial", *path.relative_to(package).with_suffix("").parts]))


def all_methods() -> dict[str, Method]:
    """Every declared method by name, the papers' own too, in the order of a trial."""
    _import_methods()
    return {found.name: found for found in sorted(_DECLARED.values(), key=lambda found: found.order)}


def declared_methods() -> dict[str, Method]:
    """Every question of the product by name, in the order of a trial."""
    return {name: found for name, found in all_methods().items() if not found.paper}


def paper_methods() -> dict[str, dict[str, Method]]:
    """The papers' own methods: by the paper's room, then by the function's name."""
    found: dict[str, dict[str, Method]] = {}
    for name, method in sorted(all_methods().items()):
        if method.paper:
            found.setdefault(method.paper, {})[name.split(".")[-1]] = method
    return found


def find_method(name: str) -> Method:
    """One method by name."""
    methods = all_methods()
    if name not in methods:
        raise InputError(
            "fairtrial", Fault("", f"there is no method {name!r}", hint=did_you_mean(name, methods))
        )
    return methods[name]


def trial_methods() -> dict[str, Method]:
    """The questions a trial can ask, in its order."""
    return {name: found for name, found in declared_methods().items() if found.shows is not None}


def read_result(content: Any) -> Result:
    """A saved result of any kind again.

    Parameters
    ----------
    content : dict
        From a result's `to_dict()`, or from the JSON it was saved as.

    Returns
    -------
    Result
        Of the class that its method returns.
    """
    kinds = {one.kind: one for found in all_methods().values() for one in (found.result, *found.also)}
    check_content("read_result", content, kinds)
    return kinds[content["kind"]].from_dict(content)
