"""Addresses of what can be seen, with .json and .csv beside each view, and of what can be taken away."""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, Query
from fastapi.responses import FileResponse, PlainTextResponse, Response

from fairtrial._report.certificate import certificate_page
from fairtrial._report.excel import workbook_bytes
from fairtrial._results.charts.page import DARK
from fairtrial._trial.difference import difference
from fairtrial._trial.results_file import load_results
from fairtrial._web import views
from fairtrial._web.explore import LookRequest, RatesExplorer, listed, table_rows
from fairtrial._web.guard import REPORT_POLICY
from fairtrial._web.jobs import Jobs
from fairtrial._web.specs import EXPLORATORY, as_code, with_source
from fairtrial._web.store import Missing, Store

KINDS = {".html": "text/html", ".json": "application/json", ".csv": "text/csv", ".md": "text/markdown",
         ".svg": "image/svg+xml", ".parquet": "application/octet-stream"}  # fmt: skip
WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
Name = Annotated[str, Query(max_length=400)]
Number = Annotated[float | None, Query(allow_inf_nan=False)]


class Results:
    """The results of a few audits, kept as long as their files stay the same: reading one checks all of it."""

    def __init__(self, store: Store, most: int = 8) -> None:
        self.store, self.most, self.lock = store, most, Lock()
        self.kept: OrderedDict[tuple[str, float], dict[str, Any]] = OrderedDict()

    def of(self, identity: str) -> dict[str, Any]:
        """What a finished audit found."""
        place = self.store.audits.path(identity) / "report" / "results.json"
        try:
            key = (str(place), place.stat().st_mtime)
        except OSError:
            raise HTTPException(409, "The audit has no results yet.") from None
        with self.lock:
            if key not in self.kept:
                self.kept[key] = load_results(place)
                while len(self.kept) > self.most:
                    self.kept.popitem(last=False)
            return self.kept[key]

    def exploratory(self, *identities: str) -> bool:
        """Whether one of these audits was looked at before its questions were fixed."""
        return any(self.store.audits.read(identity)["exploratory"] for identity in identities)


def add_views(app: FastAPI, store: Store, jobs: Jobs) -> None:
    """Add them to the application; the general address of a view comes last."""
    results = Results(store)
    _add_exploring(app, store, RatesExplorer())
    _add_comparing(app, store, results)
    _add_taking_away(app, store)
    _add_finished(app, results)


def _add_exploring(app: FastAPI, store: Store, explorer: RatesExplorer) -> None:
    @app.get("/audits/{identity}/explore.json")
    def explore(
        identity: str, metric: Name = "selection_rate", by: Annotated[list[str] | None, Query()] = None,
        target: Name = "rest", threshold: Number = None,
        tolerance: Annotated[float | None, Query(gt=0, allow_inf_nan=False)] = None,
        scale: Literal["difference", "ratio"] = "difference", sizes: bool = True,
    ) -> dict[str, Any]:  # fmt: skip
        """Rates, gaps and verdicts now; an audit whose plan is not fixed becomes exploratory by it."""
        meta = store.audits.read(identity)
        store.mark_shown(meta["file"])
        if not meta.get("plan") and not meta.get("exploratory"):
            meta = store.audits.change(identity, exploratory=True)
        place = store.look_path(meta["file"])
        content = with_source(meta["content"], place, None)
        compared = tuple(by or listed(content["data"].get("groups")))
        asked = LookRequest(metric, compared, _target(target), threshold, tolerance, scale, sizes)
        return {"exploratory": meta["exploratory"], **explorer.see(content, place, asked)}

    @app.get("/audits/{identity}/explore.csv")
    def explore_csv(
        identity: str, metric: Name = "selection_rate", by: Annotated[list[str] | None, Query()] = None,
        target: Name = "rest", threshold: Number = None,
        tolerance: Annotated[float | None, Query(gt=0, allow_inf_nan=False)] = None,
        scale: Literal["difference", "ratio"] = "difference",
    ) -> Response:  # fmt: skip
        """The same as a table: rates, gaps, and the verdict against the tolerance where one is asked for."""
        seen = explore(identity, metric, by, target, threshold, tolerance, scale)
        return _csv(table_rows(seen), exploratory=seen["exploratory"])


def _add_comparing(app: FastAPI, store: Store, results: Results) -> None:
    @app.get("/compare.json")
    def compare(old: Name, new: Name) -> dict[str, Any]:
        """Two finished audits side by side."""
        before, after = results.of(old), results.of(new)
        found, asks = difference(before, after), views.asks(after)
        tests = [{**test, "question": asks(test["method"])} for test in found["tests"]]
        return {"exploratory": results.exploratory(old, new), **found, "tests": tests}

    @app.get("/compare.csv")
    def compare_csv(old: Name, new: Name) -> Response:
        """Every test of both, and what became of it."""
        found = compare(old, new)
        return _csv([_flat(test) for test in found["tests"]], exploratory=found["exploratory"])

    @app.get("/watches.json")
    def watches() -> list[dict[str, Any]]:
        """Every watch that is kept here, with the last audit that added to it."""
        found: dict[str, dict[str, Any]] = {}
        for meta in store.audits.all():
            if meta["stage"] != "done" or not meta["content"].get("watch"):
                continue
            told = {key: meta[key] for key in ("title", "ended", "exploratory")}
            for name, verdict in views.watch_verdicts(results.of(meta["id"])):
                found.setdefault(name, {"watch": name, "audit": meta["id"], **told, "verdict": verdict})
        return list(found.values())

    @app.get("/watches.csv")
    def watches_csv() -> Response:
        """The same as a table."""
        return _csv(watches())


def _add_taking_away(app: FastAPI, store: Store) -> None:
    def named(identity: str, name: str, how: str = "attachment") -> dict[str, str]:
        exploratory = store.audits.read(identity)["exploratory"]
        return _as_file(f"exploratory-{name}" if exploratory else name, how)

    @app.get("/api/audits/{identity}/code")
    def code(identity: str) -> dict[str, str]:
        """The same audit as a file, as Python and as a command."""
        meta = store.audits.read(identity)
        file, name = store.files.read(meta["file"]), Path(store.data_name(meta["file"]))
        return as_code(with_source(meta["content"], name, file.get("dataset")), meta)

    @app.get("/api/audits/{identity}/code/{name}")
    def code_file(identity: str, name: Literal["audit.toml", "audit.py", "audit.sh"]) -> PlainTextResponse:
        """One of them to keep."""
        return PlainTextResponse(code(identity)[name], headers=named(identity, name))

    @app.get("/api/audits/{identity}/plan.json")
    def plan(identity: str) -> Response:
        """What was fixed, as it was fixed: the SHA-256 of this file is the plan's fingerprint."""
        place = store.audits.path(identity) / "plan.json"
        if not place.is_file():
            raise HTTPException(409, "The plan is not fixed yet.")
        return FileResponse(place, media_type="application/json", headers=named(identity, "plan.json"))

    @app.get("/api/audits/{identity}/tables.zip")
    def tables(identity: str) -> Response:
        """Every table of the report, as CSV and as Parquet."""
        folder = store.audits.path(identity) / "report" / "tables"
        found = sorted(folder.iterdir()) if folder.is_dir() else []
        if not found:
            raise Missing(identity)
        exploratory = store.audits.read(identity)["exploratory"]
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for place in found:
                archive.write(place, f"exploratory-{place.name}" if exploratory else place.name)
            if exploratory:
                archive.writestr("exploratory.txt", f"{EXPLORATORY}\n")
        return Response(out.getvalue(), media_type="application/zip", headers=named(identity, "tables.zip"))

    @app.get("/api/audits/{identity}/report/{name:path}")
    def report(identity: str, name: str, download: bool = False, dark: bool = False) -> Response:
        """A file of the report: the page, results.json, summary.md, tables and charts, these also in dark colours."""
        folder = (store.audits.path(identity) / "report").resolve()
        place = (folder / name.replace("\0", "")).resolve()
        if not place.is_relative_to(folder) or not os.path.isfile(place) or place.suffix not in KINDS:
            raise Missing(name)  # also where the name is longer than any file's
        headers = {"content-security-policy": REPORT_POLICY}
        headers |= named(identity, place.name, "attachment" if download else "inline")
        if place.suffix == ".svg":
            try:
                text = place.read_text(encoding="utf-8")
            except OSError:
                raise Missing(name) from None  # deleted meanwhile
            text = marked_exploratory(text) if store.audits.read(identity)["exploratory"] else text
            return Response(on_dark(text) if dark else text, media_type=KINDS[".svg"], headers=headers)
        return FileResponse(place, media_type=KINDS[place.suffix], headers=headers)


def _add_finished(app: FastAPI, results: Results) -> None:
    def marked(identity: str, found: dict[str, Any]) -> dict[str, Any]:
        titles = views.titles(results.of(identity))
        return {"exploratory": results.exploratory(identity), "titles": titles, **found}

    @app.get("/api/audits/{identity}/certificate.html")
    def certificate(identity: str) -> Response:
        """One sheet that says what was certified; refused with the reason where nothing was."""
        headers = {"content-security-policy": REPORT_POLICY, **_as_file("certificate.html")}
        return Response(certificate_page(results.of(identity)), media_type="text/html", headers=headers)

    @app.get("/api/audits/{identity}/tables.xlsx")
    def workbook(identity: str) -> Response:
        """Every table with its notes as an Excel workbook, a sheet each; no text is a formula."""
        name = "exploratory-tables.xlsx" if results.exploratory(identity) else "tables.xlsx"
        return Response(workbook_bytes(results.of(identity)), media_type=WORKBOOK, headers=_as_file(name))

    @app.get("/api/audits/{identity}/views")
    def present(identity: str) -> list[str]:
        """The views that have something to show."""
        return views.present(results.of(identity))

    @app.get("/audits/{identity}/surface.json")
    def surface(
        identity: str, loss: Annotated[float, Query(ge=0, le=1, allow_inf_nan=False)] = 0.0
    ) -> dict[str, Any]:
        """How far improve's finding reaches, and the largest gain shown at one loss of accuracy."""
        return marked(identity, views.surface(results.of(identity), loss))

    @app.get("/audits/{identity}.json")
    def whole(identity: str) -> Response:
        """The audit as its results: what the report is written from."""
        results.of(identity)
        place = results.store.audits.path(identity) / "report" / "results.json"
        return FileResponse(place, media_type="application/json")

    @app.get("/audits/{identity}.csv")
    def whole_csv(identity: str) -> Response:
        """Every test of the audit, as a table."""
        return seen_csv(identity, "tests")

    @app.get("/audits/{identity}/{view}.json")
    def seen(identity: str, view: str) -> dict[str, Any]:
        """A view of a finished audit."""
        return marked(identity, views.find_view(view)(results.of(identity)))

    @app.get("/audits/{identity}/{view}.csv")
    def seen_csv(identity: str, view: str) -> Response:
        """Its rows as a table."""
        found = seen(identity, view)
        return _csv(found["rows"], exploratory=found["exploratory"])


def _csv(rows: list[dict[str, Any]], *, exploratory: bool = False) -> Response:
    told = [{**row, "exploratory": True} for row in rows] if exploratory else rows
    return Response(views.as_csv(told), media_type="text/csv")


def _flat(test: dict[str, Any]) -> dict[str, Any]:
    inner = ("old", "new", "gap_change")
    parts = {f"{part}_{name}": value for part in inner for name, value in (test[part] or {}).items()}
    return {**{name: value for name, value in test.items() if name not in inner}, **parts}


def _target(text: str) -> Any:
    name, _, label = text.partition("=")
    return {name: label} if label else text


def _as_file(name: str, how: str = "attachment") -> dict[str, str]:
    return {"content-disposition": f'{how}; filename="{name}"'}


# -- A chart of a report as the page shows it and as it is saved: dark where the page is, and marked as
# exploratory.
TAG = re.compile(r"<[^<>]*>")  # never the text between tags, which is the data's
PAINT = re.compile(r'(?<= )(fill|stroke)="(#[0-9a-f]+)"')
SIZE = re.compile(r' width="([\d.]+)" height="([\d.]+)" viewBox="0 0 [\d.]+ [\d.]+"')
LINE, ROOM = 24, 480  # what the mark takes, in pixels
# texts whose colour a chart leaves open are black in a file
ON_DARK = {**DARK, "#000": DARK["#3c434c"]}


def on_dark(svg: str) -> str:
    """Every colour of the theme in its place's other one, as the report does on a dark page."""

    def painted(tag: re.Match[str]) -> str:
        return PAINT.sub(lambda part: f'{part[1]}="{ON_DARK.get(part[2], part[2])}"', tag[0])

    return TAG.sub(painted, svg)


def marked_exploratory(svg: str) -> str:
    """The chart with a line below it that goes wherever the picture goes."""
    found = SIZE.search(svg)
    if found is None:
        return svg
    width, height = max(float(found[1]), ROOM), float(found[2]) + LINE
    size = f' width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    from fairtrial._results.charts.theme import FONT  # loads altair, which starting does without

    font = FONT.replace("'", "&apos;")
    text = f'<text x="14" y="{height - 10:g}" font-family="{font}" font-size="12" fill="#5b6470">{EXPLORATORY}</text>'
    body = svg[: found.start()] + size + svg[found.end() :]
    return body.rstrip().removesuffix("</svg>") + text + "</svg>\n"
