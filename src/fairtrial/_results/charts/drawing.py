"""Charts drawn as SVG or PNG, and the script that draws them in a browser, by a process of their own.

The renderer is a program inside the Python process: a label with a control character, or too little memory, ends it
and everything with it. So it works in a child, from cleaned texts; when the child dies, one chart is missing.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version as library_version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairtrial._errors import FairtrialError

if TYPE_CHECKING:
    from altair import TopLevelMixin

SECONDS_FOR_ONE = 120.0
# What no chart can show and the renderer dies of: controls but tab and line feed, lone surrogates, line separators
# and the two code points that are no characters.
NOT_DRAWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
IN_ITS_PLACE = "\N{REPLACEMENT CHARACTER}"
CHILD = "fairtrial._results.charts.drawing"


class ChartFailed(FairtrialError):
    """A chart that could not be drawn; its numbers are in the table."""


def cleaned(spec: Any) -> Any:
    """The same spec with every text free of what cannot be drawn."""
    if isinstance(spec, str):
        return NOT_DRAWN.sub(IN_ITS_PLACE, spec)
    if isinstance(spec, Mapping):
        return {cleaned(key): cleaned(value) for key, value in spec.items()}
    return [cleaned(value) for value in spec] if isinstance(spec, list | tuple) else spec


def svg(spec: Mapping[str, Any]) -> str:
    """A Vega-Lite spec as SVG."""
    return _child.ask({"draw": "svg", "spec": cleaned(spec)}).decode()


def png(spec: Mapping[str, Any]) -> bytes:
    """A Vega-Lite spec as PNG, twice as fine as the screen."""
    return _child.ask({"draw": "png", "spec": cleaned(spec)})


def bundle(version: str) -> str:
    """The libraries that draw charts of this version of Vega-Lite in a browser, as one script.

    Making it takes seconds, so it is kept in the user's own cache folder, by the versions it is made of.
    """
    kept = _cache_folder() / f"vega-{version}-{library_version('vl-convert-python')}.js"
    with contextlib.suppress(OSError, ValueError):
        check, _, script = kept.read_text(encoding="utf-8").partition("\n")
        if check == _hash(script):
            return script
    script = _child.ask({"draw": "bundle", "version": version}).decode()
    with contextlib.suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = kept.with_name(f".{kept.name}.{os.getpid()}")
        partial.write_text(f"{_hash(script)}\n{script}", encoding="utf-8")
        partial.replace(kept)
    return script


def _hash(script: str) -> str:
    return hashlib.sha256(script.encode()).hexdigest()


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairtrial"


class _Child:
    """The drawing process: started for the first chart, started anew after it died."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.lock = threading.Lock()

    def ask(self, request: Mapping[str, Any]) -> bytes:
        """Send one request and wait for its answer."""
        with self.lock:
            answer = self._answer(json.dumps(request).encode())
        if answer is None:
            self.stop()
            raise ChartFailed("the chart could not be drawn: the drawing process ended or took too long")
        content = json.loads(answer)
        if "error" in content:
            raise ChartFailed(f"the chart could not be drawn: {content['error']}")
        return base64.b64decode(content["drawn"])

    def _answer(self, request: bytes) -> bytes | None:
        process = self._running()
        if process is None or process.stdin is None or process.stdout is None:
            return None
        clock = threading.Timer(SECONDS_FOR_ONE, process.kill)
        clock.start()
        try:
            process.stdin.write(request + b"\n")
            process.stdin.flush()
            return process.stdout.readline() or None
        except OSError:
            return None
        finally:
            clock.cancel()

    def _running(self) -> subprocess.Popen[bytes] | None:
        if self.process is None or self.process.poll() is not None:
            self.stop()
            try:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", CHILD],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
            except OSError:
                return None
        return self.process

    def stop(self) -> None:
        """End the process; the next chart starts another."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.communicate()


_child = _Child()
atexit.register(_child.stop)


def _draw(request: Mapping[str, Any]) -> bytes:
    import vl_convert

    if request["draw"] == "bundle":
        known = vl_convert.get_vegalite_versions()
        version = request["version"] if request["version"] in known else None
        script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
        return script.encode()
    if request["draw"] == "png":
        return bytes(vl_convert.vegalite_to_png(request["spec"], scale=2))
    return str(vl_convert.vegalite_to_svg(request["spec"])).encode()


def _serve() -> None:
    """Answer requests, one line each, until there are no more."""
    for line in sys.stdin.buffer:
        try:
            content = {"drawn": base64.b64encode(_draw(json.loads(line))).decode()}
        except Exception as error:  # whatever the renderer raises is told, and the next chart is drawn
            content = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(content) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()


# -- Charts that a notebook shows without a network. Altair's own output fetches its scripts from
# elsewhere. Here a front end that can draw Vega-Lite itself gets the spec, and every other one the drawn
# picture.


def offline(chart: TopLevelMixin) -> TopLevelMixin:
    """The same chart, of a kind that is shown without anything being fetched."""
    shown: Any = chart.copy(deep=False)  # type: ignore[attr-defined]
    kind: Any = type(chart)
    object.__setattr__(shown, "__class__", _offline_kind(kind))
    return shown  # type: ignore[no-any-return]


@cache
def _offline_kind(kind: type) -> type:
    return type(kind.__name__, (kind,), {"_repr_mimebundle_": _bundle, "__module__": kind.__module__})


def _bundle(self: Any, include: object = None, exclude: object = None, **options: object) -> dict[str, Any]:
    """What a notebook may show, from the richest to plain text."""
    import altair

    spec = cleaned(self.to_dict())
    shown: dict[str, Any] = {
        f"application/vnd.vegalite.v{altair.SCHEMA_VERSION.lstrip('v').split('.')[0]}+json": spec,
        "text/plain": f"<{type(self).__name__}>",
    }
    try:
        shown["image/svg+xml"] = svg(spec)
    except ChartFailed as error:
        shown["text/plain"] = str(error)
    return shown
