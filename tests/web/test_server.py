"""The server: from a file to a verdict, what it refuses, and who may come in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import fairtrial
from inside.web import ServerSettings, check_open, create_app
from web_server import TOKEN, finished, made_audit

RICCI: dict[str, Any] = {
    "report": {"title": "Promotion"},
    "data": {"decision": "passed", "groups": ["race"], "favourable": 1},
    "measure": {"metric": "selection_rate"},
}
COMPAS: dict[str, Any] = {
    "data": {"outcome": "two_year_recid", "score": "decile_score", "threshold": 5, "groups": ["race"]},
    "measure": {"metric": "fpr"},
}


def test_from_a_file_to_a_verdict(client: TestClient, settings: ServerSettings) -> None:
    file = client.post("/api/files/dataset", json={"name": "ricci"}).json()
    assert set(file) == {"id", "made", "name"}  # not where it lies
    seen = client.get(f"/api/files/{file['id']}").json()
    assert seen["proposal"]["decision"] == "passed"
    assert {column["name"] for column in seen["columns"]} >= {"race", "passed"}
    identity = client.post("/api/audits", json={"file": file["id"], "content": RICCI}).json()["id"]
    assert client.post(f"/api/audits/{identity}/run").status_code == 409  # not before the plan is fixed
    plan = client.post(f"/api/audits/{identity}/plan").json()
    assert len(plan["plan"]) == 64
    assert client.put(f"/api/audits/{identity}/content", json={"content": RICCI}).status_code == 409
    assert client.post(f"/api/audits/{identity}/run").status_code == 202
    meta = finished(client, identity)
    assert meta["stage"] == "done", meta["error"]
    expected = fairtrial.run({**RICCI, "data": {**RICCI["data"], "dataset": "ricci"}})
    assert meta["verdict"]["text"] == expected.verdict.text
    results = client.get(f"/api/audits/{identity}/report/results.json").json()
    assert plan["plan"] in results["report"]["context"]
    assert "exploratory" not in json.dumps(results).lower()
    page = client.get(f"/api/audits/{identity}/report/report.html")
    assert page.headers["content-security-policy"].startswith("sandbox")
    said = [
        line
        for line in client.get(f"/api/audits/{identity}/events").text.splitlines()
        if line.startswith("data: ")
    ]
    assert json.loads(said[-1][6:])["stage"] == "done"


def test_a_look_before_the_plan_marks_everything_exported(client: TestClient) -> None:
    identity = made_audit(client, RICCI)
    assert client.get(f"/audits/{identity}/explore.json").json()["exploratory"] is True
    client.post(f"/api/audits/{identity}/plan")
    client.post(f"/api/audits/{identity}/run")
    assert finished(client, identity)["exploratory"] is True
    for name in ("results.json", "report.html", "summary.md"):
        assert "xploratory" in client.get(f"/api/audits/{identity}/report/{name}").text


@pytest.mark.parametrize("threshold", [3, 5, 8])
@pytest.mark.parametrize("scale", ["difference", "ratio"])
def test_the_slider_shows_the_numbers_of_the_api(client: TestClient, threshold: int, scale: Any) -> None:
    identity = made_audit(client, COMPAS, "compas")
    tolerance = 0.1 if scale == "difference" else 0.8
    query = {"metric": "fpr", "by": "race", "threshold": threshold, "tolerance": tolerance, "scale": scale}
    seen = client.get(f"/audits/{identity}/explore.json", params=query).json()
    audit = fairtrial.Audit(
        fairtrial.load("compas"),
        outcome="two_year_recid",
        score="decile_score",
        threshold=threshold,
        groups="race",
    )
    rates = {row["group"]: row for row in fairtrial.measure(audit, "fpr", by="race").estimates}
    told = {row["group"]: row for row in seen["measure"]["estimates"]}
    large = [group for group, row in rates.items() if row["n"] >= 1_000]
    assert large
    for group in large:
        for name in ("rate", "rate_low", "rate_high", "difference", "difference_low", "difference_high"):
            assert told[group][name] == pytest.approx(rates[group][name], abs=1e-12)
    judged = fairtrial.certify(audit, "fpr", by="race", tolerance=tolerance, scale=scale)
    assert seen["certify"]["verdict"]["code"] == judged.verdict.code
    assert isinstance(told["Native American"]["rate"], dict)  # 8 people: masked


def test_the_same_view_as_csv(client: TestClient) -> None:
    identity = made_audit(client, COMPAS, "compas")
    text = client.get(f"/audits/{identity}/explore.csv", params={"metric": "fpr", "by": "race"}).text
    assert text.startswith("metric,")
    assert "African-American" in text


def test_the_audit_as_code_is_the_same_audit(client: TestClient, tmp_path: Path) -> None:
    identity = made_audit(client, {**RICCI, "certify": {"metric": "selection_rate", "tolerance": 0.1234567}})
    code = client.get(f"/api/audits/{identity}/code").json()
    (tmp_path / "audit.toml").write_text(code["audit.toml"])
    from_file = fairtrial.run(tmp_path / "audit.toml")
    names: dict[str, Any] = {}
    exec(code["audit.py"].replace(', out="audit-report"', "").rsplit("print", 1)[0], names)
    assert from_file.verdict.text == names["trial"].verdict.text
    assert from_file.results["certify"].provenance["arguments"]["tolerance"] == [-0.1234567, 0.1234567]


def test_faults_are_said_before_anything_runs(client: TestClient) -> None:
    file = client.post("/api/files/dataset", json={"name": "ricci"}).json()["id"]
    content = {**RICCI, "certify": {"metric": "selection_rat", "tolerance": -1}}
    faults = client.post("/api/check", json={"file": file, "content": content}).json()["faults"]
    assert any("selection_rate" in fault for fault in faults)
    audit = client.post("/api/audits", json={"file": file, "content": content}).json()["id"]
    assert client.post(f"/api/audits/{audit}/plan").status_code == 422


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("empty.csv", b"", 422),
        ("binary.csv", bytes(range(256)) * 40, 422),
        ("mixed.csv", "näme,d\nä,1\nöß,0\n".encode() + b"\xe4,1\n", 422),
        (
            "wide.csv",
            (",".join(f"c{i}" for i in range(3_000)) + "\n" + ",".join("1" * 3_000) + "\n").encode(),
            422,
        ),
        ("large.csv", b"a,b\n" + b"1,2\n" * 60_000, 413),
        ("program.exe", b"MZ", 422),
        ("broken.parquet", b"PAR1" + b"x" * 100, 422),
        ("broken.arrow", b"ARROW1" + b"x" * 100, 422),
    ],
)
def test_broken_files_get_one_message_and_leave_nothing(
    client: TestClient, settings: ServerSettings, name: str, body: bytes, status: int
) -> None:
    before = {path.name for path in (settings.home / "files").iterdir()}
    answer = client.post("/api/files", params={"name": name}, content=body)
    assert answer.status_code == status, answer.text
    assert answer.json()["faults"]
    assert str(settings.home) not in answer.text
    assert {path.name for path in (settings.home / "files").iterdir()} == before


def test_a_header_that_names_a_column_twice_is_said_when_it_matters(client: TestClient) -> None:
    body = b"d,d,g\n1,0,x\n0,1,y\n" * 40
    file = client.post("/api/files", params={"name": "twice.csv"}, content=body).json()["id"]
    content = {"data": {"decision": "d", "groups": ["g"]}, "measure": {"metric": "selection_rate"}}
    faults = client.post("/api/check", json={"file": file, "content": content}).json()["faults"]
    assert any("'d' twice" in fault for fault in faults)


def test_files_outside_are_not_read(client: TestClient, settings: ServerSettings) -> None:
    assert client.get("/api/files/local").json() == ["own.csv"]
    assert client.post("/api/files/local", json={"path": "own.csv"}).status_code == 201
    for path in ("../home", "/etc/passwd", "..", "own.csv/../../x.csv"):
        assert client.post("/api/files/local", json={"path": path}).status_code == 422
    identity = made_audit(client, RICCI)
    for path in (
        "../meta.json",
        "%2e%2e/meta.json",
        "..%2fmeta.json",
        "/etc/passwd",
        "tables/../../meta.json",
        "a" * 5_000,
    ):
        assert client.get(f"/api/audits/{identity}/report/{path}").status_code == 404
    content = {**RICCI, "data": {**RICCI["data"], "source": "/etc/passwd"}}
    file = client.post("/api/files/dataset", json={"name": "ricci"}).json()["id"]
    assert (
        client.post("/api/check", json={"file": file, "content": content}).json()["faults"] == []
    )  # not that file


def test_the_queue_has_an_end_and_audits_can_be_cancelled(client: TestClient) -> None:
    long = {
        **COMPAS,
        "scan": {"metric": "fpr", "protected": {"race": "African-American"}, "permutations": 20_000},
    }
    identities = [made_audit(client, long, "compas") for _ in range(4)]
    codes = []
    for identity in identities:
        client.post(f"/api/audits/{identity}/plan")
        codes.append(client.post(f"/api/audits/{identity}/run").status_code)
    assert codes == [202, 202, 202, 422]  # one runs, two wait
    for identity in identities[:3]:
        client.post(f"/api/audits/{identity}/cancel")
    assert [finished(client, identity)["stage"] for identity in identities[:3]] == ["cancelled"] * 3
    assert client.delete(f"/api/audits/{identities[0]}").status_code == 204
    assert client.get(f"/api/audits/{identities[0]}").status_code == 404


REFUSED: list[tuple[dict[str, str], int]] = [
    ({"host": "evil.example:8721"}, 421),
    ({"host": "127.0.0.1:9"}, 421),
    ({"origin": "http://evil.example"}, 403),
    ({"origin": "null"}, 403),
    ({"authorization": ""}, 401),
    ({"authorization": "Bearer wrong"}, 401),
    ({"authorization": "", "cookie": "fairtrial-8721=wrong"}, 401),
]


@pytest.mark.parametrize(("headers", "status"), REFUSED)
@pytest.mark.parametrize("path", ["/", "/api/audits", "/static/app.js", "/audits/0123456789abcdef"])
def test_strangers_are_refused(client: TestClient, headers: dict[str, str], status: int, path: str) -> None:
    assert client.get(path, headers=headers).status_code == status


def test_other_sites_may_not_post(client: TestClient) -> None:
    answer = client.post(
        "/api/files/dataset", json={"name": "ricci"}, headers={"sec-fetch-site": "cross-site"}
    )
    assert answer.status_code == 403


def test_the_token_becomes_a_cookie_and_leaves_the_address(settings: ServerSettings) -> None:
    with TestClient(
        create_app(settings), base_url="http://127.0.0.1:8721", follow_redirects=False
    ) as browser:
        answer = browser.get("/", params={"token": TOKEN, "file": "x"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/?file=x")
        assert "HttpOnly; SameSite=Strict" in answer.headers["set-cookie"]
        assert browser.get("/").status_code == 200
        assert browser.get("/api/audits", params={"token": "x"}).status_code == 200  # by its cookie
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8721") as stranger:
        assert (
            stranger.get("/api/audits", params={"token": TOKEN}).status_code == 401
        )  # only the first page takes it


def test_every_answer_has_the_headers_that_keep_a_page_safe(client: TestClient) -> None:
    for path in ("/", "/api/about", "/static/style.css", "/nothing"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_whoever_listens_beyond_this_machine_says_who_may_come() -> None:
    with pytest.raises(fairtrial.InputError, match="is reached from other machines"):
        check_open("0.0.0.0", None, no_auth=False, plain_http=True)
    check_open("0.0.0.0", None, no_auth=True, plain_http=True)
    check_open("0.0.0.0", "x" * 16, no_auth=False, plain_http=True)
    with pytest.raises(fairtrial.InputError, match="at least 16"):
        check_open("127.0.0.1", "short", no_auth=False)
    with pytest.raises(fairtrial.InputError, match="cannot be together"):
        check_open("127.0.0.1", "x" * 16, no_auth=True)


def test_beyond_this_machine_the_way_is_encrypted_or_said_not_to_be(tmp_path: Path) -> None:
    with pytest.raises(fairtrial.InputError, match="unencrypted.*certificate"):
        check_open("0.0.0.0", "x" * 16, no_auth=False)
    paper = tmp_path / "certificate.pem"
    with pytest.raises(fairtrial.InputError, match="must be a file that exists"):
        check_open("0.0.0.0", "x" * 16, no_auth=False, certificate=str(paper), key=str(paper))
    paper.touch()
    with pytest.raises(fairtrial.InputError, match="belong together"):
        check_open("0.0.0.0", "x" * 16, no_auth=False, certificate=str(paper))
    check_open("0.0.0.0", "x" * 16, no_auth=False, certificate=str(paper), key=str(paper))
    assert ServerSettings(certificate=paper).address.startswith("https://")


def test_the_page_takes_no_text_for_html() -> None:
    static = Path(fairtrial.__file__).parent / "web" / "static"
    for path in static.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert not any(
            word in text
            for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(")
        )
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in text
