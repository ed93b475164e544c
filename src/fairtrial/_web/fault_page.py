"""What a browser shows of a request that was refused: a page that needs nothing else of this server."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from fairtrial._results.charts.page import security_policy

STYLE = (
    ":root{color-scheme:light dark}"
    "body{margin:0 auto;max-width:44rem;padding:2rem 1rem;font:1rem/1.5 system-ui,sans-serif;"
    "background:#fff;color:#1c2024}a{color:#0b5cad}"
    "@media(prefers-color-scheme:dark){body{background:#14171a;color:#e8eaed}a{color:#8ab8f0}}"
)
POLICY = security_policy([], [STYLE])


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
