"""The queue: a few audits run at once, each in a process of its own; what they say is kept and passed on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairtrial._errors import Fault, InputError
from fairtrial._web.settings import ServerSettings
from fairtrial._web.store import Missing, Store, now
from fairtrial._work.memory import limit_memory

OPEN = ("queued", "running")
ALONE = 1.0  # seconds after which a worker notices that its server is gone
PATIENCE = 10.0  # seconds that a process has to end after it was asked to
STOPPED = "The server was stopped. Run it again to go on."


class JobProgress:
    """The last thing said of each question, numbered as it came: a page that comes back is told where all stand."""

    def __init__(self) -> None:
        self.said: dict[str, tuple[int, dict[str, Any]]] = {}
        self.count = 0

    def add(self, event: dict[str, Any]) -> None:
        """One more thing said."""
        self.count += 1
        self.said[str(event.get("section", event["what"]))] = (self.count, event)

    def since(self, seen: int) -> list[dict[str, Any]]:
        """What was said after the first `seen` things, as far as nothing newer takes its place."""
        return [
            event for number, event in sorted(self.said.values(), key=lambda pair: pair[0]) if number > seen
        ]


class Jobs:
    """Runs audits; a crash of one is an answer of that one alone."""

    def __init__(self, store: Store, settings: ServerSettings) -> None:
        self.store, self.settings = store, settings
        self.lock = threading.RLock()  # held while a process is started, so pages are told without it
        self.telling = threading.Lock()
        self.waiting: deque[str] = deque()
        self.running: dict[str, subprocess.Popen[str]] = {}
        self.ended_by: dict[str, str] = {}  # "cancelled" or "late": why a process was ended from here
        self.progress: dict[str, JobProgress] = {}
        self.closed = False
        for meta in store.audits.all():  # a server that was stopped left them behind
            if meta.get("stage") in OPEN:
                store.audits.change(meta["id"], stage="stopped", error=STOPPED)

    def add(self, identity: str) -> None:
        """Queue an audit."""
        with self.lock:
            if identity in self.waiting or identity in self.running:
                raise InputError(
                    "run",
                    Fault("", "the audit is running already", cure="wait until it has ended, or stop it"),
                )
            if len(self.waiting) >= self.settings.most_waiting:
                text = f"{len(self.waiting)} audits are waiting already"
                raise InputError("run", Fault("", text, cure="wait until one has ended"))
            self.store.audits.change(identity, stage="queued", error="", verdict=None, seconds={})
            self.ended_by.pop(identity, None)
            with self.telling:
                self.progress[identity] = JobProgress()
            self._pass_on(identity, {"what": "queued", "text": ""})
            self.waiting.append(identity)
            self._start_next()

    def cancel(self, identity: str, how: signal.Signals = signal.SIGINT) -> subprocess.Popen[str] | None:
        """Stop an audit; what it has finished is kept and found again when it is run once more."""
        with self.lock:
            if identity in self.waiting:
                self.waiting.remove(identity)
                self._ended(identity, "cancelled", "")
            process = self.running.get(identity)
            if process is not None:
                self.ended_by[identity] = "cancelled"
                _end(process, how)
            return process

    def delete(self, identity: str) -> None:
        """End it and delete everything of it, once nothing writes there any more."""
        process = self.cancel(identity, signal.SIGKILL)
        if process is not None:
            process.wait(PATIENCE)
        self.store.delete_audit(identity)
        with self.telling:
            self.progress.pop(identity, None)

    def close(self) -> None:
        """End every process; audits that ran can be run again."""
        with self.lock:
            self.closed = True
            self.waiting.clear()
            processes = list(self.running.values())
        for process in processes:
            _end(process, signal.SIGTERM)
        for process in processes:
            try:
                process.wait(timeout=3)
            except subprocess.TimeoutExpired:
                _end(process, signal.SIGKILL)
                process.wait(timeout=3)

    def since(self, identity: str, seen: int) -> tuple[list[dict[str, Any]], int]:
        """What was said after the first `seen` things, and how many there are now; it never waits."""
        with self.telling:
            progress = self.progress.get(identity)
            return ([], 0) if progress is None else (progress.since(seen), progress.count)

    # -- one audit -----------------------------------------------------------------------------------------------
    def _start_next(self) -> None:
        while self.waiting and len(self.running) < self.settings.most_running and not self.closed:
            identity = self.waiting.popleft()
            try:
                self.store.audits.change(identity, stage="running", started=now())
                process = self._process(self.store.audits.path(identity))
            except Missing:
                continue  # deleted while it waited
            except OSError as error:
                self._ended(identity, "failed", f"No process could be started: {error.strerror}.")
                continue
            self.running[identity] = process
            self._pass_on(identity, {"what": "started"})
            for job in (self._listen, self._guard_time):
                threading.Thread(target=job, args=(identity, process), daemon=True).start()

    def _process(self, folder: Path) -> subprocess.Popen[str]:
        memory, parent = str(self.settings.most_memory), str(os.getpid())
        command = [sys.executable, "-m", "fairtrial._web.jobs", str(folder), memory, parent]
        with open(folder / "worker.log", "w", encoding="utf-8") as log:
            return subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, text=True, start_new_session=True
            )  # fmt: skip

    def _listen(self, identity: str, process: subprocess.Popen[str]) -> None:
        last: dict[str, Any] = {}
        seconds: dict[str, float] = {}
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                try:
                    last = json.loads(line)
                except ValueError:
                    continue
                if last.get("status") == "done":
                    seconds[last["section"]] = last["seconds"]
                self._pass_on(identity, last)
        code = process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # whatever it had started and left behind
        with self.lock:
            self.running.pop(identity, None)
            stage, error = self._outcome(identity, code, last)
            told = {"code": last["code"], "text": last["text"]} if stage == "done" else None
            self._ended(identity, stage, error, verdict=told, seconds=seconds)
            self._start_next()

    def _outcome(self, identity: str, code: int, last: dict[str, Any]) -> tuple[str, str]:
        """How it ended: the stage, and what to say of it."""
        ended_by = self.ended_by.pop(identity, "")
        if ended_by == "cancelled":  # it may have written a report of what was finished
            return "cancelled", ""
        if last.get("what") == "done":
            return "done", ""
        if last.get("what") == "failed":
            return "failed", str(last["text"])
        if self.closed:
            return "stopped", STOPPED
        minutes = f"{self.settings.most_seconds / 60:g}"
        why = f"it took longer than {minutes} minutes" if ended_by == "late" else f"code {code}"
        return (
            "failed",
            f"The audit's process ended before it was done ({why}). Other audits are not affected.",
        )

    def _ended(self, identity: str, stage: str, error: str, **facts: Any) -> None:
        with contextlib.suppress(Missing):  # deleted while it ran
            self.store.audits.change(identity, stage=stage, error=error, ended=now(), **facts)
        self._pass_on(identity, {"what": "ended", "stage": stage, "text": error})

    def _pass_on(self, identity: str, event: dict[str, Any]) -> None:
        with self.telling:
            if identity in self.progress:
                self.progress[identity].add(event)

    def _guard_time(self, identity: str, process: subprocess.Popen[str]) -> None:
        """End it when its time is over, or when it does not end by itself after it was cancelled."""
        end = time.monotonic() + self.settings.most_seconds
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.5)
            if self.ended_by.get(identity) == "cancelled":
                end = min(end, time.monotonic() + PATIENCE)
        if process.poll() is None:
            self.ended_by.setdefault(identity, "late")
            _end(process, signal.SIGKILL)


def _end(process: subprocess.Popen[str], how: signal.Signals) -> None:
    """Signal the process and all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, how)


# -- One audit in a process of its own: limits first, then `run`, telling how far it is in lines of JSON.
# python -m fairtrial._web.jobs FOLDER MEMORY PARENT
def main(folder: str, memory: str, parent: str) -> None:
    """Run the folder's spec.json and write its report beside it."""
    threading.Thread(target=_end_with, args=(int(parent),), daemon=True).start()
    # before the limit: some releases' linear algebra loops for ever where it gets no memory while it is loaded
    import scipy.special  # noqa: F401

    limit_memory(int(memory))
    os.nice(5)  # the page stays quick

    from fairtrial._errors import FairtrialError
    from fairtrial._trial.running import Event, run

    place = Path(folder).resolve()
    os.chdir(place)  # where the rows have their own name

    def tell(event: Event) -> None:
        _say("event", **asdict(event))

    content = json.loads((place / "spec.json").read_text(encoding="utf-8"))
    try:
        trial = run(content, out=place / "report", resume=(place / "report").is_dir(), progress=tell)
    except FairtrialError as error:
        _say("failed", text=str(error))
        sys.exit(2)
    except MemoryError:
        _say("failed", text="The audit needs more memory than one may use here.")
        sys.exit(2)
    _say("done", code=trial.verdict.code, text=trial.shown_verdict.text)


def _end_with(parent: int) -> None:
    """End with the server that started this process, however that ended, and take along what was started here."""
    while os.getppid() == parent:
        time.sleep(ALONE)
    os.killpg(0, signal.SIGKILL)


def _say(what: str, **facts: Any) -> None:
    sys.stdout.write(json.dumps({"what": what, **facts}, ensure_ascii=True) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
