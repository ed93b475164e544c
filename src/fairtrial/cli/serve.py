"""`fairtrial serve`: the trial in a browser, on this machine."""

from __future__ import annotations

import socket
import ssl
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from fairtrial._errors import Fault, InputError
from fairtrial._work.extras import lacking

app = typer.Typer(add_completion=False)
LEAST_MEMORY = 512  # megabytes


@app.command()
def serve(
    host: Annotated[
        str, typer.Option("--host", help="Where to listen; default: this machine alone.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="0 takes a free one.")] = 8721,
    token: Annotated[
        str | None,
        typer.Option(
            "--token", envvar="FAIRTRIAL_TOKEN", help="The secret that lets a browser in; default: a new one."
        ),
    ] = None,
    no_auth: Annotated[bool, typer.Option("--no-auth", help="Let in whoever reaches it.")] = False,
    certificate: Annotated[
        str | None, typer.Option("--certificate", help="Certificate (PEM) for https; with --key.")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", help="The certificate's key (PEM).")] = None,
    plain_http: Annotated[
        bool, typer.Option("--plain-http", help="Let other machines reach it unencrypted.")
    ] = False,
    folder: Annotated[
        str | None, typer.Option("--folder", help="Files here can be opened without uploading them.")
    ] = None,
    home: Annotated[
        str | None, typer.Option("--home", help="Where audits are kept; default: your own data folder.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", help="Audits that run at once.")] = 2,
    upload: Annotated[int, typer.Option("--upload", help="Most megabytes of one file.")] = 512,
    memory: Annotated[int, typer.Option("--memory", help="Most megabytes of one audit; 0: no limit.")] = 4096,
    minutes: Annotated[int, typer.Option("--minutes", help="Most minutes of one audit.")] = 60,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Audit files in the browser; nothing leaves this machine."""
    if any(find_spec(name) is None for name in ("fastapi", "uvicorn")):
        raise lacking("serve: needs FastAPI and uvicorn, which are not installed", "web")
    from fairtrial._web.settings import MEGABYTE, ServerSettings, check_open

    check_open(host, token, no_auth=no_auth, certificate=certificate, key=key, plain_http=plain_http)
    if folder is not None and not Path(folder).is_dir():
        raise InputError("serve", Fault("folder", "must be a folder that exists", got=folder))
    if 0 < memory < LEAST_MEMORY:
        required = f"must be 0, for no limit, or at least {LEAST_MEMORY}: the programs alone need that"
        raise InputError("serve", Fault("memory", required, got=memory))
    if certificate is not None and key is not None:
        _try_certificate(certificate, key)
    listening = _listen(host, port)
    chosen: dict[str, Any] = {} if token is None and not no_auth else {"token": token}
    chosen |= {"home": Path(home)} if home is not None else {}
    settings = ServerSettings(
        host=host, port=listening.getsockname()[1], folder=None if folder is None else Path(folder), most_running=jobs,
        certificate=None if certificate is None else Path(certificate), most_upload=upload * MEGABYTE,
        most_memory=memory * MEGABYTE, most_seconds=60 * minutes, **chosen,
    )  # fmt: skip
    _run(settings, listening, key, open_browser=open_browser)


def _try_certificate(certificate: str, key: str) -> None:
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError, ValueError):
        required = "must be a certificate in PEM whose key is the one named with --key"
        raise InputError("serve", Fault("certificate", required, got=certificate)) from None


def _listen(host: str, port: int) -> socket.socket:
    """The port is taken before anything is said, and a browser that is quicker than the server waits."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # named as TCP, because asyncio sends without delay only then: an answer would wait 40 ms for an acknowledgement
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()
    except OSError as error:
        cure = "choose another with --port, or 0 for a free one"
        fault = Fault("port", f"cannot be listened on: {error.strerror}", got=port, cure=cure)
        raise InputError("serve", fault) from None
    return listening


def _run(settings: Any, listening: socket.socket, key: str | None, *, open_browser: bool) -> None:
    typer.echo(f"fairtrial: open {settings.address}\nCtrl-C ends it; audits are kept in {settings.home}")
    if open_browser:
        typer.launch(settings.ticket_address)  # first, so that the browser starts while the rest is loaded
    import uvicorn

    from fairtrial._web.app import create_app
    from fairtrial._web.guard import MOST_CONNECTIONS, patient_protocol

    app = create_app(settings)
    config = uvicorn.Config(
        app,
        http=patient_protocol(admits=app.admits),
        ssl_certfile=settings.certificate,
        ssl_keyfile=key,
        limit_concurrency=MOST_CONNECTIONS,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
    )
    uvicorn.Server(config).run(sockets=[listening])
