"""The server's addresses: files, audits, their runs, and what can be seen of them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from importlib.resources import files as resources
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import Body, FastAPI, HTTPException, Query, Request
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from fairtrial.datasets import DATASETS
from fairtrial.errors import FairtrialError, MissingExtra
from fairtrial.methods.declaration import read_result, trial_methods
from fairtrial.trial import load_results
from fairtrial.trial.difference import difference
from fairtrial.trial.forms import form_schema
from fairtrial.trial.report.tables import csv_text
from fairtrial.trial.spec.tables import PRESETS
from fairtrial.web import files
from fairtrial.web.explore import Asked, Explorer
from fairtrial.web.guard import REPORT_POLICY, Guard
from fairtrial.web.jobs import Jobs
from fairtrial.web.settings import Settings
from fairtrial.web.specs import as_python, as_toml, faults_of, marked, with_source
from fairtrial.web.store import Missing, Store, now, plan_hash, plan_of

Content = Annotated[dict[str, Any], Body(embed=True)]
Identity = Annotated[str, Body(embed=True)]
KEPT_AT = re.compile(r"'?[^\s']*/files/[0-9a-f]{16}/data[.\w]*'?")
STAGES_OPEN = ("queued", "running")
KINDS = {".html": "text/html", ".json": "application/json", ".csv": "text/csv", ".md": "text/markdown",
         ".svg": "image/svg+xml", ".parquet": "application/octet-stream"}  # fmt: skip


def create_app(settings: Settings) -> Any:
    """The whole application, behind its guard."""
    store = Store(settings.home)
    jobs = Jobs(store, settings)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(jobs.close)

    app = FastAPI(
        title="fairtrial", version=version("fairtrial"), docs_url=None, redoc_url=None, lifespan=life
    )
    _add_errors(app)
    _add_page(app)
    _add_files(app, store, settings)
    _add_audits(app, store, jobs)
    _add_views(app, store, jobs, Explorer())
    return Guard(app, settings)


def _add_errors(app: FastAPI) -> None:
    def said(status: int, *messages: str) -> JSONResponse:
        return JSONResponse({"faults": list(messages)}, status_code=status)

    @app.exception_handler(Missing)
    async def missing(request: Request, error: Missing) -> JSONResponse:
        return said(404, "There is no such file or audit; it may have been deleted.")

    @app.exception_handler(files.TooLarge)
    async def too_large(request: Request, error: files.TooLarge) -> JSONResponse:
        return said(413, "The file is larger than one may be here.")

    @app.exception_handler(FairtrialError)
    async def refused(request: Request, error: FairtrialError) -> JSONResponse:
        status = 501 if isinstance(error, MissingExtra) else 422
        # where files lie is nobody's business who looks at a page
        text = KEPT_AT.sub("the file", str(error))
        return said(status, *text.splitlines())


def _add_page(app: FastAPI) -> None:
    static = resources("fairtrial.web").joinpath("static")

    @app.get("/", include_in_schema=False)
    @app.get("/audits/{identity}", include_in_schema=False)
    @app.get("/audits/{identity}/{view}", include_in_schema=False)
    async def page(identity: str = "", view: str = "") -> Response:
        return Response(static.joinpath("page.html").read_bytes(), media_type="text/html")

    @app.get("/static/{name}", include_in_schema=False)
    async def asset(name: str) -> Response:
        kinds = {"js": "text/javascript", "css": "text/css"}
        known = {item.name for item in static.iterdir()}
        if name not in known or name.rpartition(".")[2] not in kinds:
            raise HTTPException(404)
        return Response(static.joinpath(name).read_bytes(), media_type=kinds[name.rpartition(".")[2]])

    @app.get("/api/about")
    async def about() -> dict[str, Any]:
        """What can be asked, and of which bundled data; every form comes from the methods' declarations."""
        questions = [
            {"name": name, "question": method.question, "help": method.help, "form": form_schema(method)}
            for name, method in trial_methods().items()
        ]
        return {
            "version": version("fairtrial"),
            "questions": questions,
            "presets": list(PRESETS),
            "datasets": DATASETS,
        }


def _add_files(app: FastAPI, store: Store, settings: Settings) -> None:
    @app.post("/api/files", status_code=201)
    async def upload(request: Request, name: Annotated[str, Query(max_length=400)]) -> dict[str, Any]:
        """The body is the file."""
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > settings.most_upload:
            raise files.TooLarge
        identity = await files.receive(store, settings, name, request.stream())
        return _file(store, identity)

    @app.post("/api/files/dataset", status_code=201)
    def bundled(name: Identity) -> dict[str, Any]:
        """A dataset that comes with the package."""
        return _file(store, files.dataset(store, name))

    @app.post("/api/files/local", status_code=201)
    def local(path: Identity) -> dict[str, Any]:
        """A file of the folder that the server was started with."""
        return _file(store, files.local(store, settings, path))

    @app.get("/api/files/local")
    def listed() -> list[str]:
        """The files of that folder."""
        folder = settings.folder
        found = [] if folder is None else sorted(path.name for path in folder.iterdir() if path.is_file())
        return [name for name in found if name.lower().endswith((".csv", ".csv.gz", ".tsv", ".parquet"))][
            :500
        ]

    @app.get("/api/files/{identity}")
    def described(identity: str, preset: str | None = None) -> dict[str, Any]:
        """Columns, their labels, and a proposal of roles."""
        meta = store.files.read(identity)
        return {
            **{"id": identity, "name": meta["name"]},
            **files.described(store.data_path(identity), preset),
        }


def _add_audits(app: FastAPI, store: Store, jobs: Jobs) -> None:
    def content_of(file: str, content: dict[str, Any]) -> dict[str, Any]:
        return with_source(content, store.data_path(file), store.files.read(file).get("dataset"))

    @app.post("/api/check")
    def check(file: Identity, content: Content) -> dict[str, Any]:
        """Everything that is wrong with a spec, before it is run."""
        return {"faults": faults_of(content_of(file, content))}

    @app.post("/api/audits", status_code=201)
    def make(file: Identity, content: Content) -> dict[str, Any]:
        """An audit of a file; its questions can still be changed."""
        title = str(dict(content.get("report", {})).get("title") or store.files.read(file)["name"])[:200]
        identity = store.audits.make(file=file, title=title, stage="open", exploratory=False, plan=None)
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

    @app.delete("/api/audits/{identity}", status_code=204)
    def delete(identity: str) -> Response:
        """Stop it if it runs, and delete everything of it."""
        store.audits.path(identity)
        jobs.cancel(identity)
        store.audits.delete(identity)
        return Response(status_code=204)

    @app.put("/api/audits/{identity}/content")
    def change(identity: str, content: Content) -> dict[str, Any]:
        """Other questions; a plan that was fixed stays as it was."""
        meta = store.audits.read(identity)
        if meta.get("plan") or meta["stage"] in STAGES_OPEN:
            raise HTTPException(409, "The plan is fixed; make another audit to ask something else.")
        return store.audits.change(identity, content=content)

    @app.post("/api/audits/{identity}/plan")
    def fix(identity: str) -> dict[str, Any]:
        """Fix groups, metrics, tolerance and scale, dated and hashed; after a look it says so."""
        meta = store.audits.read(identity)
        if meta.get("plan"):
            return meta
        content = content_of(meta["file"], meta["content"])
        faults = faults_of(content)
        if faults:
            raise HTTPException(422, faults)
        return store.audits.change(identity, plan=plan_hash(plan_of(content)), planned=now())

    @app.post("/api/audits/{identity}/run", status_code=202)
    def run(identity: str) -> dict[str, Any]:
        """Queue it; the plan must be fixed."""
        meta = store.audits.read(identity)
        if not meta.get("plan"):
            raise HTTPException(409, "Fix the plan first.")
        content = marked(content_of(meta["file"], meta["content"]), meta)
        (store.audits.path(identity) / "spec.json").write_text(json.dumps(content), encoding="utf-8")
        jobs.add(identity)
        return store.audits.read(identity)

    @app.post("/api/audits/{identity}/cancel")
    def cancel(identity: str) -> dict[str, Any]:
        """Stop it; what is finished is kept."""
        store.audits.path(identity)
        jobs.cancel(identity)
        return store.audits.read(identity)


def _add_views(app: FastAPI, store: Store, jobs: Jobs, explorer: Explorer) -> None:
    @app.get("/api/audits/{identity}/events")
    async def events(identity: str, request: Request) -> StreamingResponse:
        """What the run says, as server-sent events; a page that comes back is told everything again."""
        store.audits.path(identity)
        return StreamingResponse(_stream(store, jobs, identity, request), media_type="text/event-stream")

    @app.get("/api/audits/{identity}/explore")
    @app.get("/api/audits/{identity}/explore.json")
    def explore(
        identity: str,
        metric: str = "selection_rate",
        by: Annotated[list[str] | None, Query()] = None,
        target: str = "rest",
        threshold: float | None = None,
        tolerance: Annotated[float | None, Query(gt=0)] = None,
        scale: Literal["difference", "ratio"] = "difference",
    ) -> dict[str, Any]:
        """Rates, gaps and verdicts now; an audit whose plan is not fixed becomes exploratory by it."""
        meta = store.audits.read(identity)
        if not meta.get("plan") and not meta.get("exploratory"):
            meta = store.audits.change(identity, exploratory=True)
        content = with_source(meta["content"], store.data_path(meta["file"]), None)
        compared = tuple(by or _listed(content["data"].get("groups")))
        asked = Asked(metric, compared, _target(target), threshold, tolerance, scale)
        return {
            "exploratory": meta["exploratory"],
            **explorer.see(content, store.data_path(meta["file"]), asked),
        }

    @app.get("/api/audits/{identity}/explore.csv")
    def explore_csv(identity: str, metric: str = "selection_rate", threshold: float | None = None,
                    by: Annotated[list[str] | None, Query()] = None, target: str = "rest") -> Response:  # fmt: skip
        """The same rates as a table."""
        seen = explore(identity, metric, by, target, threshold)
        return Response(csv_text(read_result(seen["measure"])), media_type="text/csv")

    @app.get("/api/audits/{identity}/code")
    def code(identity: str) -> dict[str, str]:
        """The same audit as a file, as Python and as a command."""
        meta = store.audits.read(identity)
        name = store.files.read(meta["file"])["name"]
        content = with_source(meta["content"], Path(name), store.files.read(meta["file"]).get("dataset"))
        return {"toml": as_toml(content), "python": as_python(content), "command": "fairtrial run audit.toml"}

    @app.get("/api/audits/{identity}/audit.toml")
    def toml(identity: str) -> PlainTextResponse:
        """The audit's file."""
        return PlainTextResponse(code(identity)["toml"], headers=_as_file("audit.toml"))

    @app.get("/api/audits/{identity}/report/{name:path}")
    def report(identity: str, name: str, download: bool = False) -> Response:
        """A file of the report: the page, results.json, summary.md, tables and charts."""
        folder = (store.audits.path(identity) / "report").resolve()
        place = (folder / name).resolve()
        if not place.is_relative_to(folder) or not place.is_file() or place.suffix not in KINDS:
            raise Missing(name)
        headers = {"content-security-policy": REPORT_POLICY} | (_as_file(place.name) if download else {})
        return FileResponse(place, media_type=KINDS[place.suffix], headers=headers)

    @app.get("/api/compare")
    def compare(old: str, new: str) -> dict[str, Any]:
        """Two finished audits side by side."""
        contents = [
            load_results(store.audits.path(identity) / "report" / "results.json") for identity in (old, new)
        ]
        return difference(*contents)


async def _stream(store: Store, jobs: Jobs, identity: str, request: Request) -> AsyncIterator[str]:
    seen = 0
    while not await request.is_disconnected():
        fresh = await run_in_threadpool(jobs.wait, identity, seen, 1.0)
        for event in fresh:
            seen += 1
            yield f"data: {json.dumps(event)}\n\n"
        if not fresh:
            try:
                stage = store.audits.read(identity)["stage"]
            except Missing:
                return
            if stage not in STAGES_OPEN:
                yield f"data: {json.dumps({'what': 'ended', 'stage': stage, 'text': ''})}\n\n"
                return
            yield ": still here\n\n"
        await asyncio.sleep(0)


def _file(store: Store, identity: str) -> dict[str, Any]:
    """What a page may know of a file: not where it lies."""
    meta = store.files.read(identity)
    return {name: meta[name] for name in ("id", "made", "name")}


def _listed(groups: Any) -> list[str]:
    return [groups] if isinstance(groups, str) else list(groups or ())


def _target(text: str) -> Any:
    name, _, label = text.partition("=")
    return {name: label} if label else text


def _as_file(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}
