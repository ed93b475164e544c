"""The server: its page, and what its addresses answer when something is wrong."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version
from importlib.resources import files as resources
from pathlib import Path
from typing import Annotated, Any

from fastapi import Body, FastAPI, HTTPException, Query, Request
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool

from fairtrial._errors import FairtrialError, Fault, InputError, MissingExtra, check_choice
from fairtrial._method.declaration import trial_methods
from fairtrial._metrics.table import CRITERIA, METRICS
from fairtrial._trial.spec.tables import PRESETS, TABLES, Lending
from fairtrial._web.audit_routes import add_audits
from fairtrial._web.guard import FAULT_POLICY as POLICY
from fairtrial._web.guard import Guard, fault_page, wants_page
from fairtrial._web.jobs import Jobs
from fairtrial._web.look import looked_at
from fairtrial._web.settings import MEGABYTE, ServerSettings
from fairtrial._web.specs import page_form
from fairtrial._web.store import KINDS as KINDS_OF_FILES
from fairtrial._web.store import Missing, Store, digest_of, kind_of
from fairtrial._web.view_routes import add_views
from fairtrial.datasets import DATASETS

KEPT_AT = re.compile(r"'?[^\s']*/files/[0-9a-f]{16}/data[.\w]*'?")
KINDS = {"js": "text/javascript", "css": "text/css"}


def create_app(settings: ServerSettings) -> Any:
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
    _add_about(app, settings)
    add_files(app, store, settings)
    add_audits(app, store, jobs)
    add_views(app, store, jobs)
    _add_page(app)
    return Guard(app, settings)


def said(status: int, *messages: str) -> JSONResponse:
    """What is wrong, without where files lie: that is nobody's business who looks at a page."""
    return JSONResponse({"faults": [KEPT_AT.sub("the file", text) for text in messages]}, status_code=status)


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(Missing)
    async def missing(request: Request, error: Missing) -> JSONResponse:
        return said(404, "There is no such file or audit; it may have been deleted.")

    @app.exception_handler(404)
    async def unknown(request: Request, error: HTTPException) -> Response:
        text = "There is no such page here."
        if not wants_page(request.headers):
            return said(404, text)
        headers = {"content-security-policy": POLICY}
        return Response(fault_page(text, start=True), 404, headers, media_type="text/html")

    @app.exception_handler(TooLarge)
    async def too_large(request: Request, error: TooLarge) -> JSONResponse:
        return said(413, "The file is larger than one may be here.")

    @app.exception_handler(Unreadable)
    async def unreadable(request: Request, error: Unreadable) -> JSONResponse:
        return said(error.status, *error.faults)

    @app.exception_handler(RecursionError)
    async def nested(request: Request, error: RecursionError) -> JSONResponse:
        return said(422, "What was sent is nested too deep.")

    @app.exception_handler(FairtrialError)
    async def refused(request: Request, error: FairtrialError) -> JSONResponse:
        return said(501 if isinstance(error, MissingExtra) else 422, *str(error).splitlines())


def _add_about(app: FastAPI, settings: ServerSettings) -> None:
    @cache
    def declared() -> dict[str, Any]:
        questions = [
            {"name": name, "question": method.question, "help": method.help, "form": page_form(method)}
            for name, method in trial_methods().items()
        ]
        return {
            "version": version("fairtrial"),
            "questions": questions,
            "presets": list(PRESETS),
            "with_references": [name for name in PRESETS if TABLES.get(name) is Lending],
            "datasets": DATASETS,
            "metrics": [
                {"name": one.name, "label": one.label, "needs": sorted(one.needs)} for one in METRICS.values()
            ],
            "criteria": list(CRITERIA),
            "most_megabytes": settings.most_upload // MEGABYTE,
        }

    @app.get("/api/about")
    def about() -> dict[str, Any]:
        """What can be asked, and of which bundled data; every form comes from the methods' declarations."""
        return declared()


def _add_page(app: FastAPI) -> None:
    """Last: whatever address has no answer of its own is a view, which the page draws."""
    static = resources("fairtrial._web").joinpath("static")
    known = {item.name for item in static.iterdir()}

    @app.get("/static/{name}", include_in_schema=False)
    async def asset(name: str) -> Response:
        kind = KINDS.get(name.rpartition(".")[2])
        if name not in known or kind is None:
            raise HTTPException(404)
        return Response(static.joinpath(name).read_bytes(), media_type=kind)

    @app.get("/", include_in_schema=False)
    @app.get("/compare", include_in_schema=False)
    @app.get("/watches", include_in_schema=False)
    @app.get("/audits/{identity}", include_in_schema=False)
    @app.get("/audits/{identity}/{view}", include_in_schema=False)
    async def page(identity: str = "", view: str = "") -> Response:
        return Response(static.joinpath("page.html").read_bytes(), media_type="text/html")


# -- Addresses of files: brought, bundled, or of the folder that the server was started with.
Text = Annotated[str, Body(embed=True, max_length=4_000)]


def add_files(app: FastAPI, store: Store, settings: ServerSettings) -> None:
    """Add them to the application."""

    @app.post("/api/files", status_code=201)
    async def upload(request: Request, name: Annotated[str, Query(max_length=400)]) -> dict[str, Any]:
        """The body is the file."""
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > settings.most_upload:
            raise TooLarge
        return _known(store, await receive(store, settings, name, request.stream()))

    @app.post("/api/files/dataset", status_code=201)
    def bundled(name: Text) -> dict[str, Any]:
        """A dataset that comes with the package."""
        return _known(store, dataset(store, name))

    @app.post("/api/files/local", status_code=201)
    def local(path: Text) -> dict[str, Any]:
        """A file of the folder that the server was started with."""
        return _known(store, local_file(store, settings, path))

    @app.get("/api/files/local")
    def listed() -> list[str]:
        """The files of that folder."""
        return listed_files(settings)

    @app.get("/api/files/{identity}")
    def described(identity: str) -> dict[str, Any]:
        """Columns, their labels, the first rows, and a proposal of roles."""
        meta = store.files.read(identity)
        return {"id": identity, "name": meta["name"], **meta["seen"]}


def _known(store: Store, identity: str) -> dict[str, Any]:
    """What a page may know of a file: not where it lies."""
    meta = store.files.read(identity)
    return {name: meta[name] for name in ("id", "made", "name")}


# -- A file that was brought: stored within the limit, looked at in a process of its own, and kept with what it
# holds.
STALLED = 30  # seconds without a byte of an upload
LOOK_SECONDS, MORE_PER_MEGABYTE = 120, 1
LOOK_MEMORY = 4096 * MEGABYTE


class TooLarge(Exception):
    """More bytes came than one file may have."""


class Unreadable(Exception):
    """What a first look at a file found wrong with it."""

    def __init__(self, status: int, faults: list[str]) -> None:
        super().__init__(*faults)
        self.status, self.faults = status, faults


async def receive(store: Store, settings: ServerSettings, name: str, body: AsyncIterator[bytes]) -> str:
    """Store what is uploaded; nothing is kept of a file that is too large or cannot be read."""
    kind = kind_of(name)
    identity = store.files.make(name=Path(name).name[-120:], stored=f"data{kind}")
    place = store.files.path(identity) / f"data{kind}"
    size = 0
    try:
        with open(place, "wb") as file:
            async for part in _flowing(body):
                size += len(part)
                if size > settings.most_upload:
                    raise TooLarge
                await run_in_threadpool(file.write, part)
        digest = await run_in_threadpool(digest_of, place)
        seen = await run_in_threadpool(look, place, place.parent, settings.most_upload)
        store.files.change(identity, bytes=size, digest=digest, stored=seen.pop("stored"), seen=seen)
    except BaseException:
        store.files.delete(identity)
        raise
    return identity


async def _flowing(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The parts as they come; one that does not come holds nothing open for long."""
    while True:
        try:
            yield await asyncio.wait_for(anext(body), STALLED)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Unreadable(408, [f"file: nothing more came for {STALLED} seconds."]) from None


def look(place: Path, folder: Path, unpacked: int = 0) -> dict[str, Any]:
    """What the file holds; whatever is wrong with it ends a process of its own."""
    command = [
        sys.executable,
        "-m",
        "fairtrial._web.look",
        str(place),
        str(folder),
        str(LOOK_MEMORY),
        str(unpacked),
    ]
    seconds = LOOK_SECONDS + MORE_PER_MEGABYTE * place.stat().st_size // MEGABYTE
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        seen: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise Unreadable(422, [f"file: reading it took more than {seconds} seconds."]) from None
    except ValueError:
        raise Unreadable(422, ["file: cannot be read; it may need too much memory."]) from None
    if "faults" in seen:
        raise Unreadable(seen["status"], seen["faults"])
    return seen


def dataset(store: Store, name: str) -> str:
    """A bundled dataset as a file."""
    check_choice("file", "dataset", name, DATASETS)
    place = str(resources("fairtrial.datasets").joinpath(f"{name}.parquet"))
    return store.files.make(name=f"{name}.parquet", path=place, dataset=name, **_bundled(place))


@cache
def _bundled(place: str) -> dict[str, Any]:
    return {"digest": digest_of(Path(place)), "seen": looked_at(Path(place))}


def local_file(store: Store, settings: ServerSettings, name: str) -> str:
    """A file of the folder that was named when the server started; nothing outside it."""
    if settings.folder is None:
        cure = "start the server with --folder"
        raise InputError("file", Fault("path", "cannot be opened: no folder was named", cure=cure))
    folder = settings.folder.resolve()
    place = (folder / name).resolve() if "\0" not in name else folder
    if not place.is_relative_to(folder) or not place.is_file():
        raise InputError(
            "file", Fault("path", "must be a file in the folder of this server", got=name[-120:])
        )
    kind_of(place.name)
    identity = store.files.make(name=place.name, path=str(place))
    try:
        store.files.change(identity, digest=digest_of(place), seen=look(place, store.files.path(identity)))
    except BaseException:
        store.files.delete(identity)
        raise
    return identity


def listed_files(settings: ServerSettings) -> list[str]:
    """The files of the folder that can be opened."""
    folder = settings.folder
    found = [] if folder is None else sorted(path.name for path in folder.iterdir() if path.is_file())
    return [name for name in found if name.lower().endswith(KINDS_OF_FILES)][:500]
