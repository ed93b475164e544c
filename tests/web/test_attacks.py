"""What a page, a file or a program on this machine could try, and is refused."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from inside.web import MEGABYTE, MOST_AT_ONCE, ServerSettings, create_app
from web_server import TOKEN, made_audit, written

RICCI: dict[str, Any] = {
    "data": {"decision": "passed", "groups": ["race"]},
    "measure": {"metric": "selection_rate"},
}


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that nobody may read through the server."""
    place = tmp_path_factory.mktemp("elsewhere") / "secret.csv"
    place.write_text("passed,race,secret\n1,a,xyzzy\n0,b,xyzzy\n" * 50)
    return place


@pytest.mark.parametrize(
    "section",
    [
        {"watch": {"state": "SECRET", "metric": "selection_rate", "period": "race"}},
        {"watch": {"state": "../../x", "metric": "selection_rate", "period": "race"}},
        {"watch": {"state": "own", "metric": "selection_rate", "period": "race", "alert_file": "SECRET"}},
    ],
)
def test_options_name_no_file_of_the_machine(
    client: TestClient, secret: Path, section: dict[str, Any]
) -> None:
    before = secret.read_bytes(), written(secret.parent)
    content = _named({**RICCI, **section}, secret)
    file = client.post("/api/files/dataset", json={"name": "ricci"}).json()["id"]
    answer = client.post("/api/check", json={"file": file, "content": content})
    assert answer.status_code == 422, answer.text
    assert "xyzzy" not in answer.text
    identity = made_audit(client, content)
    assert client.post(f"/api/audits/{identity}/plan").status_code == 422
    assert client.post(f"/api/audits/{identity}/run").status_code == 409
    assert (secret.read_bytes(), written(secret.parent)) == before


def _named(content: Any, secret: Path) -> Any:
    if isinstance(content, dict):
        return {name: _named(value, secret) for name, value in content.items()}
    if isinstance(content, list):
        return [_named(value, secret) for value in content]
    return str(secret) if content == "SECRET" else content


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path, secret: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link.csv").symlink_to(secret)
    settings = ServerSettings(token=TOKEN, home=tmp_path / "home", folder=tmp_path / "folder")
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8721") as client:
        client.headers["authorization"] = f"Bearer {TOKEN}"
        for path in ("link.csv", str(secret), "../folder/../../x.csv", "a\0b.csv"):
            answer = client.post("/api/files/local", json={"path": path})
            assert answer.status_code == 422, path
            assert "xyzzy" not in answer.text


def zipped(size: int) -> bytes:
    """An Excel file whose sheet unpacks to so many bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * size)
    return out.getvalue()


BOMBS = {
    "rows.csv.gz": lambda: gzip.compress(b"a,b\n" + b"1,2\n" * MEGABYTE),
    "line.csv.gz": lambda: gzip.compress(b"a" * 3 * MEGABYTE),
    "cut.csv.gz": lambda: gzip.compress(b"a,b\n1,2\n")[:-6],
    "sheet.xlsx": lambda: zipped(4 * MEGABYTE),
    "quote.csv": lambda: b'a,b\n"' + b"x" * 190_000,
}


@pytest.mark.parametrize("name", list(BOMBS))
def test_files_that_unpack_to_too_much_are_refused_and_leave_nothing(
    client: TestClient, settings: ServerSettings, name: str
) -> None:
    before = written(settings.home / "files")
    answer = client.post("/api/files", params={"name": name}, content=BOMBS[name]())
    assert answer.status_code == 422, answer.text
    assert answer.json()["faults"][0]
    assert written(settings.home / "files") == before
    assert client.get("/api/audits").status_code == 200


def test_an_upload_without_a_length_ends_at_the_limit(client: TestClient, settings: ServerSettings) -> None:
    before = written(settings.home / "files")

    def endless() -> Any:
        yield b"a,b\n"
        for _ in range(1_000):
            yield b"1,2\n" * 1_000

    assert client.post("/api/files", params={"name": "x.csv"}, content=endless()).status_code == 413
    assert written(settings.home / "files") == before


def test_content_that_cannot_be_kept_is_refused(client: TestClient) -> None:
    file = client.post("/api/files/dataset", json={"name": "ricci"}).json()["id"]
    headers = {"content-type": "application/json"}
    for text in (
        '{"data": []}',
        '{"report": 3}',
        '{"data": {"groups": "\\ud800"}}',
        '{"x": NaN}',
        '{"x": 1e999}',
    ):
        body = f'{{"file": "{file}", "content": {text}}}'
        for path in ("/api/check", "/api/audits"):
            assert client.post(path, content=body, headers=headers).status_code == 422, text
    deep = f'{{"file": "{file}", "content": {{"x": {"[" * 100_000}{"]" * 100_000}}}}}'
    assert client.post("/api/check", content=deep, headers=headers).status_code in (400, 422)


def test_a_browser_is_told_on_a_page_and_a_program_in_plain_text(settings: ServerSettings) -> None:
    guard = create_app(settings)
    with TestClient(guard, base_url="http://127.0.0.1:8721") as client:
        person, known = {"accept": "text/html,*/*"}, {"authorization": f"Bearer {TOKEN}"}
        cases = [(401, "/", {}), (404, "/no/such/page", known), (503, "/", known)]
        for status, path, headers in cases:
            guard.open = MOST_AT_ONCE if status == 503 else 0
            page, plain = client.get(path, headers=headers | person), client.get(path, headers=headers)
            assert page.status_code == plain.status_code == status
            assert page.headers["content-type"].startswith("text/html")
            assert "default-src 'none'" in page.headers["content-security-policy"]
            assert "<" not in plain.text
        guard.open = 0
        assert client.get("/", headers=known).status_code == 200
        assert guard.open == 0
