"""The server: its page, and what its addresses answer when something is wrong."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version
from importlib.resources import files as resources
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool

from fairtrial.datasets import DATASETS
from fairtrial.errors import FairtrialError, MissingExtra
from fairtrial.methods.declaration import trial_methods
from fairtrial.metrics.table import CRITERIA, METRICS
from fairtrial.trial.spec.tables import PRESETS, TABLES, Lending
from fairtrial.web.audit_routes import add_audits
from fairtrial.web.fault_page import POLICY, fault_page, wants_page
from fairtrial.web.file_routes import add_files
from fairtrial.web.files import TooLarge, Unreadable
from fairtrial.web.guard import Guard
from fairtrial.web.jobs import Jobs
from fairtrial.web.settings import MEGABYTE, Settings
from fairtrial.web.specs import page_form
from fairtrial.web.store import Missing, Store
from fairtrial.web.view_routes import add_views

KEPT_AT = re.compile(r"'?[^\s']*/files/[0-9a-f]{16}/data[.\w]*'?")
KINDS = {"js": "text/javascript", "css": "text/css"}


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


def _add_about(app: FastAPI, settings: Settings) -> None:
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
    static = resources("fairtrial.web").joinpath("static")
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
