"""Addresses of audits: made, planned, run, cancelled, deleted, and what a run says meanwhile."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

from fastapi import Body, FastAPI, HTTPException, Request, Response
from fastapi.responses import StreamingResponse

from fairtrial._method.declaration import find_method
from fairtrial._trial.family import favourable_of
from fairtrial._web.jobs import OPEN, Jobs
from fairtrial._web.specs import (
    Opened,
    checked_content,
    confined,
    expected_seconds,
    marked,
    plain_json,
    plan_text,
    questions_of,
    slowness,
    table_of,
    with_source,
)
from fairtrial._web.store import Missing, Store, now
from fairtrial._work.kept_files import write_whole

Content = Annotated[dict[str, Any], Body(embed=True)]
Identity = Annotated[str, Body(embed=True, max_length=40)]
LOOK_EVERY, SAY_EVERY = 0.2, 15.0  # seconds between looks for news, and between signs of life


def content_of(store: Store, file: str, content: dict[str, Any]) -> dict[str, Any]:
    """The spec as it is checked: of this file, and of no other file of the machine."""
    own = confined(checked_content(content), store.watches)
    return with_source(own, store.look_path(file), store.files.read(file).get("dataset"))


def content_to_run(store: Store, meta: dict[str, Any]) -> dict[str, Any]:
    """The spec as it is run in the audit's folder: a report does not say where this server keeps things."""
    own = marked(confined(checked_content(meta["content"]), Path("..", "..", store.watches.name)), meta)
    store.link_data(meta["id"], meta["file"])
    return with_source(
        own, Path(store.data_name(meta["file"])), store.files.read(meta["file"]).get("dataset")
    )


def add_audits(app: FastAPI, store: Store, jobs: Jobs) -> None:
    """Add them to the application."""
    _add_making(app, store)
    _add_running(app, store, jobs)


def _add_making(app: FastAPI, store: Store) -> None:
    opened = Opened()

    @app.post("/api/check")
    def check(file: Identity, content: Content) -> dict[str, Any]:
        """Everything that is wrong with a spec; else its questions, and about how long each takes here."""
        faults, sections = questions_of(content_of(store, file, content), opened)
        expected = expected_seconds(sections, int(store.files.read(file)["seen"]["rows"]))
        times, good = slowness(store.audits.all()), favourable_of(content)
        questions = [
            {
                "id": one.id,
                "method": one.method,
                "title": one.title or find_method(one.method).asks(good),
                "arguments": plain_json(one.arguments),
                "seconds": times * expected[one.id],
            }
            for one in sections
        ]
        return {"faults": faults, "questions": questions}

    @app.post("/api/audits", status_code=201)
    def make(file: Identity, content: Content) -> dict[str, Any]:
        """An audit of a file; its questions can still be changed."""
        title = str(
            table_of(checked_content(content), "report").get("title") or store.files.read(file)["name"]
        )
        facts = {"file": file, "title": title[:200], "stage": "open", "plan": None}
        identity = store.audits.make(**facts, exploratory=store.was_shown(file))
        return store.audits.change(identity, content=content)

    @app.get("/api/audits")
    def listed() -> list[dict[str, Any]]:
        """Every audit that is kept here, the newest first."""
        return [
            {name: value for name, value in meta.items() if name != "content"} for meta in store.audits.all()
        ]

    @app.get("/api/audits/{identity}")
    def one(identity: str) -> dict[str, Any]:
        """One audit."""
        return store.audits.read(identity)

    @app.put("/api/audits/{identity}/content")
    def change(identity: str, content: Content) -> dict[str, Any]:
        """Other questions; a plan that was fixed stays as it was."""
        meta = store.audits.read(identity)
        if meta.get("plan") or meta["stage"] in OPEN:
            raise HTTPException(409, "The plan is fixed; make another audit to ask something else.")
        return store.audits.change(identity, content=checked_content(content))

    @app.post("/api/audits/{identity}/plan")
    def fix(identity: str) -> dict[str, Any]:
        """Fix groups, metrics, tolerance and scale, dated and hashed; after a look it says so."""
        meta = store.audits.read(identity)
        if meta.get("plan"):
            return meta
        faults, sections = questions_of(content_of(store, meta["file"], meta["content"]), opened)
        if faults:
            raise HTTPException(422, faults)
        file = store.files.read(meta["file"])
        own = with_source(meta["content"], Path(store.data_name(meta["file"])), file.get("dataset"))
        text = plan_text(own, str(file.get("digest", "")), sections)
        with store.audits.writing(identity) as folder:
            write_whole(folder / "plan.json", text)
        return store.audits.change(
            identity,
            plan=hashlib.sha256(text.encode()).hexdigest(),
            planned=now(),
            expected=expected_seconds(sections, int(file["seen"]["rows"])),
            exploratory=meta["exploratory"] or store.was_shown(meta["file"]),
        )


def _add_running(app: FastAPI, store: Store, jobs: Jobs) -> None:
    @app.post("/api/audits/{identity}/run", status_code=202)
    def run(identity: str) -> dict[str, Any]:
        """Queue it; the plan must be fixed."""
        meta = store.audits.read(identity)
        if not meta.get("plan"):
            raise HTTPException(409, "Fix the plan first.")
        if meta["stage"] not in OPEN:  # the spec of one that runs is being read
            with store.audits.writing(identity) as folder:
                write_whole(folder / "spec.json", json.dumps(content_to_run(store, meta)))
        store.mark_shown(meta["file"])  # its first answers are shown while it runs
        jobs.add(identity)
        return store.audits.read(identity)

    @app.post("/api/audits/{identity}/cancel")
    def cancel(identity: str) -> dict[str, Any]:
        """Stop it; what is finished is kept."""
        store.audits.path(identity)
        jobs.cancel(identity)
        return store.audits.read(identity)

    @app.delete("/api/audits/{identity}", status_code=204)
    def delete(identity: str) -> Response:
        """Stop it if it runs, and delete everything of it, and its file where no other audit is of it."""
        store.audits.path(identity)
        jobs.delete(identity)
        return Response(status_code=204)

    @app.get("/api/audits/{identity}/events")
    async def events(identity: str, request: Request) -> StreamingResponse:
        """What the run says, as server-sent events; a page that comes back is told where everything stands."""
        store.audits.path(identity)
        return StreamingResponse(_stream(store, jobs, identity, request), media_type="text/event-stream")


async def _stream(store: Store, jobs: Jobs, identity: str, request: Request) -> AsyncIterator[str]:
    """No thread waits for a page: hundreds may watch."""
    seen, quiet = 0, 0.0
    while not await request.is_disconnected():
        fresh, seen = jobs.since(identity, seen)
        for event in fresh:
            yield f"data: {json.dumps(event)}\n\n"
            if event["what"] == "ended":
                return
        if seen == 0:  # run before this server was started, or deleted
            yield f"data: {json.dumps({'what': 'ended', 'stage': _stage(store, identity), 'text': ''})}\n\n"
            return
        quiet = 0.0 if fresh else quiet + LOOK_EVERY
        if quiet >= SAY_EVERY:
            quiet = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(LOOK_EVERY)


def _stage(store: Store, identity: str) -> str:
    try:
        return str(store.audits.read(identity)["stage"])
    except Missing:
        return "deleted"
