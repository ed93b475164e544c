"""Addresses of files: brought, bundled, or of the folder that the server was started with."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body, FastAPI, Query, Request

from fairtrial.web import files
from fairtrial.web.settings import Settings
from fairtrial.web.store import Store

Text = Annotated[str, Body(embed=True, max_length=4_000)]


def add_files(app: FastAPI, store: Store, settings: Settings) -> None:
    """Add them to the application."""

    @app.post("/api/files", status_code=201)
    async def upload(request: Request, name: Annotated[str, Query(max_length=400)]) -> dict[str, Any]:
        """The body is the file."""
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > settings.most_upload:
            raise files.TooLarge
        return _known(store, await files.receive(store, settings, name, request.stream()))

    @app.post("/api/files/dataset", status_code=201)
    def bundled(name: Text) -> dict[str, Any]:
        """A dataset that comes with the package."""
        return _known(store, files.dataset(store, name))

    @app.post("/api/files/local", status_code=201)
    def local(path: Text) -> dict[str, Any]:
        """A file of the folder that the server was started with."""
        return _known(store, files.local(store, settings, path))

    @app.get("/api/files/local")
    def listed() -> list[str]:
        """The files of that folder."""
        return files.listed(settings)

    @app.get("/api/files/{identity}")
    def described(identity: str) -> dict[str, Any]:
        """Columns, their labels, the first rows, and a proposal of roles."""
        meta = store.files.read(identity)
        return {"id": identity, "name": meta["name"], **meta["seen"]}


def _known(store: Store, identity: str) -> dict[str, Any]:
    """What a page may know of a file: not where it lies."""
    meta = store.files.read(identity)
    return {name: meta[name] for name in ("id", "made", "name")}
