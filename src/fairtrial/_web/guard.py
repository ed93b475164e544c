"""Who may come in: the token, the name the server was called by, and where a request comes from."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from html import escape
from typing import Any
from urllib.parse import parse_qs, urlencode

from fairtrial._results.charts.page import security_policy
from fairtrial._web.settings import MEGABYTE, ServerSettings

# -- Connections that ask for nothing are ended, so that they keep nobody else out.
MOST_CONNECTIONS = 500
HEAD_SECONDS = 20.0
STRANGERS, STRANGER_SECONDS = 100, 5.0  # connections that showed no token: how many, and for how long
Admits = Callable[[Mapping[str, Any]], bool]


def patient_protocol(
    seconds: float = HEAD_SECONDS, admits: Admits | None = None, stranger_seconds: float = STRANGER_SECONDS
) -> type[Any]:
    """uvicorn's own protocol, which by itself waits for the head of a request without end.

    A connection is a stranger's until a request on it is one that `admits` lets in. Strangers' end soon, and the
    oldest of them at once where there are too many.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    strangers: dict[Any, None] = {}  # in the order in which they came

    class Patient(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(seconds, self._end_if_silent, None)
            if admits is not None:
                strangers[self] = None
                self.loop.call_later(stranger_seconds, self._end_if_stranger)
                if len(strangers) > STRANGERS:
                    next(iter(strangers))._end_if_stranger()

        def connection_lost(self, exc: Exception | None) -> None:
            strangers.pop(self, None)
            super().connection_lost(exc)

        def _end_if_stranger(self) -> None:
            if strangers.pop(self, self) is None and not self.transport.is_closing():
                self.transport.close()

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            super().data_received(data)
            if admits is not None and self in strangers and self.cycle is not None and admits(self.scope):
                strangers.pop(self)
            if self._waits(before):  # for the rest of a request's head
                self.loop.call_later(seconds, self._end_if_silent, before)

        def _waits(self, before: Any) -> bool:
            return self.cycle is before and (before is None or before.response_complete)

        def _end_if_silent(self, before: Any) -> None:
            if self._waits(before) and not self.transport.is_closing():
                self.transport.close()

    return Patient


MOST_AT_ONCE = MOST_CONNECTIONS - 50  # so that whoever comes next can still be told
MOST_BYTES = 4 * MEGABYTE  # of what a page sends beside files, which have a limit of their own
UPLOADS = "/api/files"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
)
# A report brings its own policy, with the hashes of its own scripts; here it is only shut off from this server.
REPORT_POLICY = "sandbox allow-scripts allow-downloads allow-popups allow-modals; frame-ancestors 'self'"
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
SAFE = ("GET", "HEAD", "OPTIONS")


class Guard:
    """An ASGI application in front of another: refuses, or lets through and adds the headers that keep a page safe."""

    def __init__(self, app: Any, settings: ServerSettings) -> None:
        self.app, self.settings = app, settings
        self.tickets = {settings.ticket}
        self.open = 0  # requests that are being answered, streams of events among them

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refused(scope, headers)
        if refused is not None:
            await _answer(send, *refused, page=wants_page(headers))
            return
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if given and scope["path"] == "/" and self.settings.token is not None:
            await self._welcome(scope, send)
            return
        if scope["path"] != UPLOADS:
            length = headers.get("content-length", "0")
            if not length.isdigit() or int(length) > MOST_BYTES:
                await _answer(send, 413, "More was sent than any form of this page holds.")
                return
            receive = _limited(receive)
        self.open += 1
        try:
            await self.app(scope, receive, _with_headers(send))
        finally:
            self.open -= 1

    def admits(self, scope: Mapping[str, Any]) -> bool:
        """Whether a request shows what lets its browser in; a ticket, which lets in once, is not used up."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        return self.settings.token is None or self._known(scope, headers, used=False)

    def _refused(self, scope: Any, headers: dict[str, str]) -> tuple[int, str] | None:
        if not self.settings.knows(headers.get("host", "")):
            return 421, "This server was asked for under a name that is not its own."
        origin = headers.get("origin")
        if origin is not None and not self.settings.knows(origin.split("://", 1)[-1]):
            return 403, "Requests from other sites are refused."
        if headers.get("sec-fetch-site") == "cross-site" and scope["method"] not in SAFE:
            return 403, "Requests from other sites are refused."
        if self.settings.token is not None and not self._known(scope, headers):
            return 401, "Open the address that the server printed when it started: it holds the token."
        if self.open >= MOST_AT_ONCE:
            return (
                503,
                "Too many pages are open here at once. Close some, wait a moment, and load this one again.",
            )
        return None

    def _known(self, scope: Any, headers: dict[str, str], *, used: bool = True) -> bool:
        cookies = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        held = next((value for name, _, value in cookies if name == self.settings.cookie), "")
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        asked = ""
        if scope["path"] == "/":  # elsewhere a token in the address would stay in histories and logs
            asked = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
            if asked in self.tickets:
                if used:
                    self.tickets.discard(asked)
                return True
        token = str(self.settings.token).encode()
        return any(secrets.compare_digest(given.encode(), token) for given in (held, bearer, asked))

    async def _welcome(self, scope: Any, send: Any) -> None:
        """The token becomes a cookie, and leaves the address."""
        rest = parse_qs(scope["query_string"].decode("latin-1"))
        rest.pop("token")
        place = "/" + (f"?{urlencode(rest, doseq=True)}" if rest else "")
        cookie = f"{self.settings.cookie}={self.settings.token}; Path=/; HttpOnly; SameSite=Strict"
        cookie += "; Secure" if self.settings.certificate is not None else ""
        await _answer(send, 303, "", {"location": place, "set-cookie": cookie})


async def _answer(
    send: Any, status: int, text: str, more: dict[str, str] | None = None, *, page: bool = False
) -> None:
    headers = {
        **HEADERS,
        "content-type": f"text/{'html' if page else 'plain'}; charset=utf-8",
        "content-security-policy": FAULT_POLICY if page else POLICY,
        **(more or {}),
    }
    listed = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": (fault_page(text) if page else text).encode()})


def _limited(receive: Any) -> Any:
    """Ends what is sent without a length as soon as it is too much; the request is then one that was broken off."""
    size = 0

    async def received() -> Any:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        return {"type": "http.disconnect"} if size > MOST_BYTES else message

    return received


def _with_headers(send: Any) -> Any:
    async def sent(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message["headers"]}
            added = {**HEADERS, "content-security-policy": POLICY}
            message["headers"] = [
                *message["headers"],
                *(
                    (name.encode(), value.encode())
                    for name, value in added.items()
                    if name.encode() not in own
                ),
            ]
        await send(message)

    return sent


# -- What a browser shows of a request that was refused: a page that needs nothing else of this server.
STYLE = (
    ":root{color-scheme:light dark}"
    "body{margin:0 auto;max-width:44rem;padding:2rem 1rem;font:1rem/1.5 system-ui,sans-serif;"
    "background:#fff;color:#1c2024}a{color:#0b5cad}"
    "@media(prefers-color-scheme:dark){body{background:#14171a;color:#e8eaed}a{color:#8ab8f0}}"
)
FAULT_POLICY = security_policy([], [STYLE])


def wants_page(headers: Mapping[str, str]) -> bool:
    """Whether a person asks, whose browser goes to the address; a page's own requests are told in plain text."""
    return "text/html" in headers.get("accept", "")


def fault_page(text: str, *, start: bool = False) -> str:
    """The sentence, and the way back where there is one."""
    back = '<p><a href="/">To the start</a></p>' if start else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>fairtrial</title><link rel="icon" href="data:,"><style>{STYLE}</style></head>'
        f"<body><main><h1>fairtrial</h1><p>{escape(text)}</p>{back}</main></body></html>\n"
    )
