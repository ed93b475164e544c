"""The server against requests of every kind, made by Schemathesis from the server's own description of itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as hypothesis_settings
from starlette.testclient import TestClient

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # the tests' own server
from web_server import TOKEN, client, made_audit, settings

__all__ = ["client", "settings"]

RICCI: dict[str, Any] = {
    "data": {"decision": "passed", "groups": ["race"]},
    "measure": {"metric": "selection_rate"},
}


def test_whatever_is_sent_the_server_does_not_fail(client: TestClient) -> None:
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    schema.config.base_url = "http://127.0.0.1:8721"
    identity = made_audit(client, RICCI)
    asked = 0
    for found in schema.get_all_operations():
        operation = found.ok()

        @seed(24)
        @hypothesis_settings(
            max_examples=8, deadline=None, database=None, phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=operation.as_strategy())
        def sent(case: Any) -> None:
            nonlocal asked
            for own in (False, True):  # an audit that is not there, and one that is
                if own and "identity" in case.path_parameters:
                    case.path_parameters["identity"] = identity
                words = case.as_transport_kwargs(base_url="http://127.0.0.1:8721")
                words.pop("cookies", None)
                headers = {
                    **dict(words.pop("headers", {})),
                    "authorization": f"Bearer {TOKEN}",
                    "host": "127.0.0.1:8721",
                }
                answer = client.request(headers=headers, **words)
                asked += 1
                assert answer.status_code < 500 or answer.status_code == 501, (
                    case.method,
                    answer.url,
                    answer.text,
                )

        if "/events" not in operation.path and operation.method != "delete":
            sent()
    assert asked > 100
