"""Running a spec: every question in order, what is finished is kept, one failure does not take the others "
"along."""

from __future__ import annotations

import os
import platform
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fairtrial import work
from fairtrial.errors import Cancelled, FairtrialWarning, InputError
from fairtrial.results.output import make_output_folder
from fairtrial.results.result import Result
from fairtrial.results.result import versions as result_versions
from fairtrial.trial.facts import data_facts
from fairtrial.trial.kept import Keeper, section_key
from fairtrial.trial.presets import complete
from fairtrial.trial.record import Answer, Status, Trial
from fairtrial.trial.spec import METHODS, Section, Spec, load_spec
from fairtrial.trial.spec.open_audit import check_sections

if TYPE_CHECKING:
    from fairtrial.data.audit import Audit


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


def run(
    spec: str | os.PathLike[str] | Mapping[str, Any] | Spec,
    *,
    data: object = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    jobs: int | None = None,
    seed: int | None = None,
    progress: Callable[[Event], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Trial:
    """Run a whole audit from its spec: a path of an audit.toml, or a dict of the same shape.

    `data` takes the place of the spec's source (any dataframe). With `out`, results.json, report.html, tables and
    charts are written there, and `resume=True` goes on where an interrupted run in that folder stopped.

    >>> trial = run({"data": {"dataset": "ricci", "decision": "passed", "groups": ["race"]},
    ...              "measure": {"metrics": "selection_rate"}})
    >>> trial.verdict.code
    'violated'
    """
    checked = load_spec(spec)
    seed = checked.run.seed if seed is None else seed
    jobs = checked.run.jobs if jobs is None else jobs
    work.check_seed(seed)
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise InputError("run", f"'jobs' must be a whole number of at least 1, got {jobs!r}")
    if resume and out is None:
        raise InputError("run", "'resume' needs 'out', the folder of the run to go on with")
    audit = checked.open(data)
    sections, preset_notes = complete(checked, audit)
    faults = checked.faults()
    check_sections(audit, sections, faults)
    faults.raise_any()
    folder = None
    if out is not None:
        folder = make_output_folder(
            "run", "out", out, files=("results.json", "report.html"), folders=("tables", "charts")
        )
    runner = _Runner(checked, audit, sections, seed, jobs, data is not None, progress, cancel)
    trial = runner.run(Keeper(folder, resume=resume) if folder else None, preset_notes)
    if folder:
        _save(trial, folder, progress)
        if trial.complete and runner.keeper:
            runner.keeper.discard()
    return trial


def _save(trial: Trial, folder: Path, progress: Callable[[Event], None] | None) -> None:
    tell = progress or (lambda event: None)
    clock = time.monotonic()
    tell(Event("report", "Writing the report", "running"))
    trial.save(folder)
    tell(Event("report", "Writing the report", "done", seconds=time.monotonic() - clock))


@dataclass(slots=True)
class _Runner:
    spec: Spec
    audit: Audit
    sections: tuple[Section, ...]
    seed: int
    jobs: int
    in_memory: bool
    progress: Callable[[Event], None] | None
    cancel: Callable[[], bool] | None
    keeper: Keeper | None = None
    stopped: bool = False

    def run(self, keeper: Keeper | None, preset_notes: list[str]) -> Trial:
        self.keeper = keeper
        started, clock = datetime.now(UTC), time.monotonic()
        facts = data_facts(self.spec, self.audit, self.in_memory)
        versions = dict(result_versions())
        identity = {
            "data": [facts["digest"], facts["sha256"], facts["roles"], facts["missing_rule"]],
            "spec": [self.spec.data.model_dump(mode="json"), self.seed],
            "versions": versions,
        }
        for section in self.sections:
            self._tell(section, "waiting")
        answers = [self._answer(section, section_key(section, identity)) for section in self.sections]
        run_facts = {
            "started": started.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - clock, 3),
            "host": platform.node(),
            "platform": platform.platform(),
            "jobs": self.jobs,
            "kept": [answer.section.id for answer in answers if answer.kept],
            "section_seconds": {answer.section.id: round(answer.seconds, 3) for answer in answers},
        }
        return Trial(
            spec=self.spec, answers=tuple(answers), data=facts, notes=tuple(preset_notes), seed=self.seed,
            versions=versions, run=run_facts,
        )  # fmt: skip

    def _answer(self, section: Section, key: str) -> Answer:
        if self.stopped or (self.cancel is not None and self.cancel()):
            self.stopped = True
            return self._ended(section, "stopped", 0.0, error="not started: the run was stopped before it")
        kept = self.keeper.load(key) if self.keeper else None
        if kept is not None:
            self._tell(section, "kept", kept.verdict.text)
            return Answer(section=section, status="done", result=kept, kept=True)
        self._tell(section, "running")
        clock = time.monotonic()
        try:
            result = self._call(section)
        except (KeyboardInterrupt, Cancelled):
            self.stopped = True
            return self._ended(
                section, "stopped", time.monotonic() - clock, error="stopped before it was finished"
            )
        except InputError as error:
            return self._ended(section, "failed", time.monotonic() - clock, error=str(error))
        except Exception as error:
            shown = f"{section.method} failed unexpectedly: {type(error).__name__}: {error}"
            details = traceback.format_exc()
            return self._ended(section, "failed", time.monotonic() - clock, error=shown, unexpected=details)
        if self.keeper:
            self.keeper.save(key, result)
        return self._ended(section, "done", time.monotonic() - clock, result=result)

    def _call(self, section: Section) -> Result:
        """The method itself, with the trial's seed, inside a session that stores finished batches."""
        method = METHODS[section.method].call
        arguments = dict(section.arguments)
        if _takes(method, "seed"):
            arguments["seed"] = self.seed

        def listen(progress: work.Progress) -> None:
            self._tell(section, "running", progress.name, progress.done, progress.total, progress.seconds)

        store = self.keeper.batches if self.keeper else None
        with (
            work.session(jobs=self.jobs, progress=listen, cancel=self.cancel, store=store),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", FairtrialWarning)  # the result's notes say the same
            result: Result = method(self.audit, **arguments)
        return result

    def _ended(
        self,
        section: Section,
        status: Status,
        seconds: float,
        *,
        result: Result | None = None,
        error: str = "",
        unexpected: str = "",
    ) -> Answer:
        self._tell(section, status, error or (result.verdict.text if result else ""), seconds=seconds)
        return Answer(
            section=section, status=status, result=result, error=error, unexpected=unexpected, seconds=seconds
        )

    def _tell(
        self,
        section: Section,
        status: Any,
        text: str = "",
        done: int = 0,
        total: int = 0,
        seconds: float = 0.0,
    ) -> None:
        if self.progress is not None:
            title = section.title or METHODS[section.method].question
            self.progress(Event(section.id, title, status, text, done, total, seconds))


def _takes(method: Callable[..., Any], argument: str) -> bool:
    import inspect

    return argument in inspect.signature(method).parameters
