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
from pathlib import Path
from typing import Any

from fairtrial.errors import Fault, InputError
from fairtrial.web.settings import Settings
from fairtrial.web.store import Missing, Store, now

MOST_EVENTS = 2_000  # per audit; a loop's older steps are of no use
OPEN = ("queued", "running")


class Jobs:
    """Runs audits; a crash of one is an answer of that one alone."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self.changed = threading.Condition()
        self.waiting: deque[str] = deque()
        self.running: dict[str, subprocess.Popen[str]] = {}
        self.cancelled: set[str] = set()
        self.events: dict[str, list[dict[str, Any]]] = {}
        self.late: set[str] = set()
        self.closed = False
        for meta in store.audits.all():  # a server that was stopped left them behind
            if meta.get("stage") in OPEN:
                store.audits.change(
                    meta["id"], stage="stopped", error="The server was stopped. Run it again to go on."
                )

    def add(self, identity: str) -> None:
        """Queue an audit."""
        with self.changed:
            if identity in self.waiting or identity in self.running:
                raise InputError("run", Fault("", "the audit is running already"))
            if len(self.waiting) >= self.settings.most_waiting:
                cure = "wait until one has ended"
                raise InputError(
                    "run", Fault("", f"{len(self.waiting)} audits are waiting already", cure=cure)
                )
            self.cancelled.discard(identity)
            self.late.discard(identity)
            self.events[identity] = []
            self.store.audits.change(identity, stage="queued", error="", verdict=None)
            self.waiting.append(identity)
            self._start_next()
            self.changed.notify_all()

    def cancel(self, identity: str) -> None:
        """Stop an audit; what it has finished is kept and found again when it is run once more."""
        with self.changed:
            if identity in self.waiting:
                self.waiting.remove(identity)
                self._ended(identity, "cancelled", "")
            process = self.running.get(identity)
            if process is not None:
                self.cancelled.add(identity)
                _end(process, signal.SIGINT)

    def close(self) -> None:
        """End every process; audits that ran can be run again."""
        with self.changed:
            self.closed = True
            self.waiting.clear()
            processes = list(self.running.values())
        for process in processes:
            _end(process, signal.SIGTERM)
        for process in processes:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                _end(process, signal.SIGKILL)

    def wait(self, identity: str, seen: int, timeout: float) -> list[dict[str, Any]]:
        """Events after the first `seen` ones, as soon as there are some; none after the timeout."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.events.get(identity, ())) > seen or self.closed, timeout)
            return list(self.events.get(identity, ())[seen:])

    # -- one audit -----------------------------------------------------------------------------------------------
    def _start_next(self) -> None:
        while self.waiting and len(self.running) < self.settings.most_running and not self.closed:
            identity = self.waiting.popleft()
            try:
                folder = self.store.audits.path(identity)
            except Missing:
                continue  # deleted while it waited
            self.store.audits.change(identity, stage="running", started=now())
            self.running[identity] = process = self._process(folder)
            for job in (self._listen, self._guard_time):
                threading.Thread(target=job, args=(identity, process), daemon=True).start()

    def _process(self, folder: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "fairtrial.web.worker", str(folder), str(self.settings.most_memory)]
        with open(folder / "worker.log", "w", encoding="utf-8") as log:
            return subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, text=True, start_new_session=True
            )  # fmt: skip

    def _listen(self, identity: str, process: subprocess.Popen[str]) -> None:
        last: dict[str, Any] = {}
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                try:
                    last = json.loads(line)
                except ValueError:
                    continue
                self._pass_on(identity, last)
        code = process.wait()
        with self.changed:
            self.running.pop(identity, None)
            stage, error = self._outcome(identity, code, last)
            self._ended(identity, stage, error, last if stage == "done" else None)
            self._start_next()
            self.changed.notify_all()

    def _outcome(self, identity: str, code: int, last: dict[str, Any]) -> tuple[str, str]:
        """How it ended: the stage, and what to say of it."""
        if identity in self.cancelled:
            return "cancelled", ""
        if last.get("what") == "done":
            return "done", ""
        if last.get("what") == "failed":
            return "failed", str(last["text"])
        if self.closed:
            return "stopped", "The server was stopped. Run it again to go on."
        why = "it took longer than one may" if identity in self.late else f"code {code}"
        return (
            "failed",
            f"The audit's process ended before it was done ({why}). Other audits are not affected.",
        )

    def _ended(self, identity: str, stage: str, error: str, verdict: dict[str, Any] | None = None) -> None:
        told = None if verdict is None else {"code": verdict["code"], "text": verdict["text"]}
        try:
            self.store.audits.path(identity)
            self.store.audits.change(identity, stage=stage, error=error, verdict=told, ended=now())
        except Missing:
            pass  # deleted while it ran
        self._pass_on(identity, {"what": "ended", "stage": stage, "text": error})

    def _pass_on(self, identity: str, event: dict[str, Any]) -> None:
        with self.changed:
            known = self.events.setdefault(identity, [])
            if len(known) < MOST_EVENTS or event["what"] != "event" or event.get("status") != "running":
                known.append(event)
            self.changed.notify_all()

    def _guard_time(self, identity: str, process: subprocess.Popen[str]) -> None:
        end = time.monotonic() + self.settings.most_seconds
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.5)
        if process.poll() is None:
            self.late.add(identity)
            _end(process, signal.SIGKILL)


def _end(process: subprocess.Popen[str], how: signal.Signals) -> None:
    """Signal the process and all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, how)
