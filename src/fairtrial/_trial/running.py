"""Running a spec: every question in order, what is finished is kept, one failure does not take the others along."""

from __future__ import annotations

import os
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from fairtrial import _work as work
from fairtrial._audit.audit import Audit
from fairtrial._errors import Cancelled, FairtrialWarning, Fault, InputError, Named, NotWritten, Set, Words
from fairtrial._inference.multiplicity import Dependence
from fairtrial._method.declaration import Method, find_method
from fairtrial._options import Option, checked
from fairtrial._results.masking import mask_result
from fairtrial._results.result import Result
from fairtrial._results.result import versions as result_versions
from fairtrial._trial.keeping import Keeper, identity_of, locked, section_key
from fairtrial._trial.presets import complete
from fairtrial._trial.publishing.making import make_plan, tells_of_few
from fairtrial._trial.publishing.plan import PublishingPlan
from fairtrial._trial.record import Answer, Status, Trial, data_facts
from fairtrial._trial.results_file import check_same_readers
from fairtrial._trial.spec import open_audit
from fairtrial._trial.spec.load import Spec, load_spec
from fairtrial._trial.spec.open_audit import check_sections
from fairtrial._trial.spec.sections import Section
from fairtrial._trial.spec.speech import TOML
from fairtrial._trial.spec.tables import ALPHA, CORRECTION, JOBS, PARALLEL, PUBLISH, SEED, Correction
from fairtrial._trial.spec.untrusted import check_untrusted
from fairtrial._work.cluster import cluster
from fairtrial._work.kept_files import make_output_folder, not_written
from fairtrial._work.notebook import notebook_bar


@dataclass(frozen=True, slots=True)
class Event:
    """What a run is doing, for a live display: one section's state, or how far its current loop is."""

    section: str
    title: str
    status: Literal["waiting", "running", "kept", "done", "failed", "stopped"]
    text: str = ""
    done: int = 0
    total: int = 0
    seconds: float = 0.0


Tell = Callable[[Event], None]
Rows = Annotated[
    object, Option("A dataframe in place of the spec's source.", python_only="it is held in memory")
]
Out = Annotated[
    str | os.PathLike[str] | None,
    Option(
        "Folder to write results.json, report.html, summary.md, tables and charts to.",
        not_in_file="it is about this run, not about the questions",
    ),
]
Resume = Annotated[
    bool,
    Option(
        "Go on where an interrupted run in the folder stopped.",
        not_in_file="it is about this run, not about the questions",
    ),
]
Trust = Annotated[
    bool,
    Option(
        "The file is yours: it may read and write outside its folder, and name a cluster or a database.",
        not_in_file="a file cannot vouch for itself",
    ),
]
Listen = Annotated[
    Tell | None,
    Option("Called as the run goes on.", python_only="it is a function; the command line shows the sections"),
]
Cancel = Annotated[
    Callable[[], bool] | None,
    Option(
        "Asked between two batches whether to stop.", python_only="it is a function; press Ctrl-C instead"
    ),
]


@checked
def run(
    spec: str | os.PathLike[str] | Mapping[str, Any] | Spec,
    *,
    data: Rows = None,
    out: Out = None,
    resume: Resume = False,
    jobs: Annotated[int | None, JOBS] = None,
    parallel: Annotated[str | None, PARALLEL] = None,
    seed: Annotated[int | None, SEED] = None,
    alpha: Annotated[float | None, ALPHA] = None,
    correction: Annotated[Correction | None, CORRECTION] = None,
    publish: Annotated[bool | None, PUBLISH] = None,
    trust: Trust = False,
    progress: Listen = None,
    cancel: Cancel = None,
) -> Trial:
    """Run a whole audit from its spec.

    What is given here for `jobs`, `parallel`, `seed`, `alpha`, `correction` and `publish` takes the place of what
    stands under [run] in the spec. A file is taken for somebody else's unless you `trust` it; a dict is your own code.

    Parameters
    ----------
    spec : path, dict or Spec
        The path of an audit.toml, or a dict of the same shape.
    data : object, default None
        A dataframe in place of the spec's source. Python only: it is held in memory.
    out : str or PathLike or None, default None
        Folder to write results.json, report.html, summary.md, tables and charts to.
    resume : bool, default False
        Go on where an interrupted run in the folder stopped.
    jobs : int or None, default None
        Parallel workers; numbers do not depend on it.
    parallel : str or None, default None
        Where long loops run: dask for a cluster of this machine's processes, or the address of a Dask
        scheduler.
    seed : int or None, default None
        Same seed, same numbers.
    alpha : float or None, default None
        Chance of even one false finding in the whole trial.
    correction : {'holm', 'max-t'} or None, default None
        holm needs no assumption; max-t uses how tests of the same people depend on each other.
    publish : bool or None, default None
        For strangers: small groups are joined, and what would tell of few people is left out as far as
        that is known.
    trust : bool, default False
        The file is yours: it may read and write outside its folder, and name a cluster or a database.
    progress : callable or None, default None
        Called as the run goes on. Python only: it is a function; the command line shows the sections.
    cancel : callable or None, default None
        Asked between two batches whether to stop. Python only: it is a function; press Ctrl-C instead.

    Returns
    -------
    Trial
        All answers, the correction over them and the verdict.

    Examples
    --------
    >>> trial = run({"data": {"dataset": "ricci", "decision": "passed", "groups": ["race"]},
    ...              "measure": {"metric": "selection_rate"}})
    >>> trial.verdict.code
    'violated'
    """
    if resume and out is None:
        required = Words("needs {}, the folder of the run to go on with", Named("out"))
        raise InputError("run", Fault("resume", required))
    given = {
        "seed": seed, "jobs": jobs, "parallel": parallel, "alpha": alpha, "correction": correction, "publish": publish,
    }  # fmt: skip
    loaded = _loaded(spec, given, rows_at_hand=data is not None, out=None if trust else (out,))
    audit = open_audit(loaded, data)
    sections, notes = _questions(loaded, audit)
    plan = make_plan(loaded, audit, sections) if loaded.run.publish else None
    if plan is not None:
        loaded, audit = plan.translated(loaded), plan.audit
        sections, notes = _questions(loaded, audit)
        sections = plan.admitted(sections)
    written = {"files": ("results.json", "report.html", "summary.md"), "folders": ("tables", "charts")}
    folder = None if out is None else make_output_folder("run", "out", out, **written)
    if folder is not None:
        check_same_readers(folder, loaded.run.publish)
    runner = _Runner(
        loaded, audit, data is not None, progress or _shown_in_notebook(), cancel or (lambda: False), plan
    )
    if folder is None:
        return runner.run(sections, notes, None)
    try:
        with locked(folder):
            keeper = Keeper(folder, resume=resume)
            trial = runner.run(sections, notes, keeper)
            _save(trial, folder, runner.tell)
            if trial.complete:
                keeper.discard()
    except (NotWritten, OSError) as error:
        raise _not_written(folder, error) from None
    return trial


def _shown_in_notebook() -> Tell:
    """What shows a run's long loops where nobody else does: a bar in a notebook, nothing elsewhere."""
    bar = notebook_bar()

    def tell(event: Event) -> None:
        if bar is not None and event.status == "running" and event.total:
            bar(work.Progress(event.title, event.done, event.total, event.seconds))

    return tell


def check_spec(
    spec: str | os.PathLike[str] | Mapping[str, Any] | Spec,
    *,
    data: object = None,
    opened: Callable[[Spec, object], Audit] = open_audit,
) -> tuple[Section, ...]:
    """All faults of a spec and its data in one message, before any work; else the questions that a run would ask.

    Who checks often gives a way to open audits that keeps them.
    """
    loaded = load_spec(spec, rows_at_hand=data is not None)
    return _questions(loaded, opened(loaded, data))[0]


def _not_written(folder: Path, error: NotWritten | OSError) -> NotWritten:
    """The disk is full or the folder gone; the way to go on once that is mended."""
    found = error if isinstance(error, NotWritten) else not_written("run", folder, error)
    cure = Words("finished sections are kept: mend that, then go on with {}", Set("resume", True))
    return NotWritten("run", [replace(fault, cure=cure) for fault in found.faults])


def _loaded(
    spec: str | os.PathLike[str] | Mapping[str, Any] | Spec,
    given: Mapping[str, Any],
    *,
    rows_at_hand: bool,
    out: tuple[str | os.PathLike[str] | None] | None,
) -> Spec:
    """The checked spec, with what the call gives in place of its own [run].

    With an `out` it is a file from others, which may ask for no more than its own folder.
    """
    loaded = load_spec(spec, rows_at_hand=rows_at_hand)
    if out is not None and loaded.text:
        check_untrusted(loaded, out[0])
    own = {name: value for name, value in given.items() if value is not None}
    return replace(loaded, run=replace(loaded.run, **own))


def _questions(spec: Spec, audit: Audit) -> tuple[tuple[Section, ...], list[str]]:
    """Every section, the preset's too, checked against the data, and what the reader must know of them."""
    sections, notes = complete(spec, audit)
    faults = spec.faults()
    check_sections(audit, sections, faults)
    faults.raise_any()
    return sections, notes


def _told(plan: PublishingPlan, answers: list[Answer]) -> list[Answer]:
    """The answers that tell of nobody few, without what is about single people."""
    kept = []
    for answer in answers:
        result = None if answer.result is None else answer.result.to_publish()
        if result is not None and tells_of_few(result, plan.limit):
            plan.leave_out(answer.section, "its numbers would tell of few people")
        else:
            kept.append(replace(answer, result=result))
    return kept


def _save(trial: Trial, folder: Path, tell: Tell) -> None:
    clock = time.monotonic()
    tell(Event("report", "Writing the report", "running"))
    trial.save(folder)
    tell(Event("report", "Writing the report", "done", seconds=time.monotonic() - clock))


@dataclass(slots=True)
class _Runner:
    """One run: its spec and data, who listens, and what it keeps."""

    spec: Spec
    audit: Audit
    in_memory: bool
    tell: Tell
    cancel: Callable[[], bool]
    plan: PublishingPlan | None = None
    keeper: Keeper | None = None
    stopped: bool = False
    jobs: int = 1

    def run(self, sections: tuple[Section, ...], notes: list[str], keeper: Keeper | None) -> Trial:
        self.keeper = keeper
        started, clock = datetime.now(UTC), time.monotonic()
        facts = data_facts(self.spec, self.audit, self.in_memory)
        versions = dict(result_versions())
        identity = identity_of(self.spec, self.audit, sections, facts, versions)
        if keeper is not None:
            keeper.begin(identity, sections)
            self._tell_said(keeper.said)
        for section in sections:
            self._tell(section, "waiting")
        with cluster("run", self.spec.run.parallel, self.spec.run.jobs) as self.jobs:
            answers = [self._answer(section, section_key(section, identity)) for section in sections]
        if self.plan is not None:
            answers = _told(self.plan, answers)
            notes = [*self.plan.notes, *notes]
        said = [*notes, *(keeper.said if keeper is not None else [])]
        dependence, unknown = self._dependence(answers)
        said += [unknown] if unknown else []
        if keeper is not None and keeper.damage:
            self._tell_said([keeper.damage])
        run_facts = {
            "started": started.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - clock, 3),
            "jobs": self.spec.run.jobs,
            "kept": [answer.section.id for answer in answers if answer.kept],
            "section_seconds": {answer.section.id: round(answer.seconds, 3) for answer in answers},
        }
        return Trial(
            spec=self.spec, answers=tuple(answers), data=facts, notes=tuple(said), versions=versions, run=run_facts,
            dependence=dependence, unpublished=() if self.plan is None else tuple(self.plan.unpublished),
        )  # fmt: skip

    def _dependence(self, answers: list[Answer]) -> tuple[Dependence | None, str]:
        """How the family's tests depend on each other, where it is asked for, and why nothing of it is known."""
        if self.spec.run.correction == "holm":
            return None, ""
        from fairtrial._trial.shared_people import find_dependence, why_nothing_is_known

        told = [(answer.section.arguments, answer.result) for answer in answers if answer.result is not None]
        return find_dependence(self.audit, told), why_nothing_is_known(self.audit)

    def _answer(self, section: Section, key: str) -> Answer:
        """One section answered, taken from what was kept, or the reason why there is no answer."""
        if self.stopped or self.cancel():
            self.stopped = True
            return self._ended(section, "stopped", error="not started: the run was stopped before it")
        kept = self.keeper.load(key) if self.keeper else None
        if kept is not None:
            self._tell(section, "kept", self._said(kept))
            return Answer(section=section, status="done", result=kept, kept=True)
        self._tell(section, "running")
        clock = time.monotonic()
        try:
            result = self._call(section)
        except (KeyboardInterrupt, Cancelled):
            self.stopped = True
            return self._ended(section, "stopped", clock, error="stopped before it was finished")
        except NotWritten:
            raise  # every other section would end so, too
        except InputError as error:
            return self._ended(section, "failed", clock, error=error.said(TOML))
        except Exception as error:
            shown = f"{section.method} failed unexpectedly: {type(error).__name__}: {error}"
            return self._ended(section, "failed", clock, error=shown, unexpected=traceback.format_exc())
        if self.keeper:
            self.keeper.save(key, result)
        return self._ended(section, "done", clock, result=result)

    def _call(self, section: Section) -> Result:
        """The method itself, with the trial's seed, inside a session that stores finished batches."""
        method = find_method(section.method)
        arguments = {**section.arguments, **self._paths(method, section.arguments)}
        if any(argument.name == "seed" for argument in method.arguments):
            arguments["seed"] = self.spec.run.seed

        def listen(progress: work.Progress) -> None:
            loop = {"done": progress.done, "total": progress.total, "seconds": progress.seconds}
            self._tell(section, "running", progress.name, **loop)

        store = self.keeper.batches if self.keeper else None
        with (
            work.session(jobs=self.jobs, progress=listen, cancel=self.cancel, store=store),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", FairtrialWarning)  # the result's notes say the same
            return method.function(audit=self.audit, **arguments)

    def _paths(self, method: Method, arguments: Mapping[str, Any]) -> dict[str, str]:
        """Files that a section names, relative to the spec."""
        named = [part.name for part in method.arguments if part.option.path and arguments.get(part.name)]
        return {name: str(self.spec.folder / os.path.expanduser(arguments[name])) for name in named}

    def _ended(self, section: Section, status: Status, clock: float | None = None, **outcome: Any) -> Answer:
        """How a section ended; `outcome` holds its result or its error."""
        seconds = 0.0 if clock is None else time.monotonic() - clock
        answer = Answer(section=section, status=status, seconds=seconds, **outcome)
        text = answer.error or (self._said(answer.result) if answer.result else "")
        self._tell(section, status, text, seconds=seconds)
        return answer

    def _said(self, result: Result) -> str:
        """The verdict as the report will say it."""
        if self.plan is not None and tells_of_few(result.to_publish(), self.plan.limit):
            return "answered, and not published: its numbers would tell of few people"
        return str(mask_result(result, self.spec.report.suppress_below)["verdict"]["text"])

    def _tell_said(self, notes: list[str]) -> None:
        for note in notes:
            self.tell(Event("resume", "What was kept", "done", note))

    def _tell(self, section: Section, status: Any, text: str = "", **loop: Any) -> None:
        title = section.title or find_method(section.method).asks(self.audit.favourable)
        self.tell(Event(section.id, title, status, text, **loop))
