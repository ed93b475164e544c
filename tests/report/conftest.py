"""One trial of every question on COMPAS, written once for all tests of the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fairtrial
from inside.trial import load_results

BLACK, WHITE = {"race": "African-American"}, {"race": "Caucasian"}


@pytest.fixture(scope="session")
def whole_spec(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Every method once, with settings that are quick rather than powerful."""
    from sklearn.linear_model import LogisticRegression

    features = ["age_cat", "sex", "priors_count", "c_charge_degree"]
    return {
        "data": {
            "dataset": "compas", "outcome": "two_year_recid", "score": "decile_score", "threshold": 5,
            "groups": ["race", "sex"], "features": features, "bins": {"priors_count": [1, 4, 10]},
        },
        "report": {"title": "Every question", "decision": "Whether it may be used.", "context": "A test."},
        "measure": [{"metric": ["fpr", "ppv"], "by": ["race"], "target": WHITE}, {"metric": ["calibration"]}],
        "tabulate": [{"table": "local-law-144"}, {"table": "bias-record"}],
        "certify": {"metric": "fpr", "by": ["sex"], "tolerance": 0.05},
        "flag": {"metric": "fpr", "direction": "above", "depth": 2},
        "scan": [{"metric": "fpr", "protected": BLACK, "features": features, "permutations": 99},
                 {"metric": "fpr", "protected": ["sex"], "features": ["age_cat", "c_charge_degree"],
                  "permutations": 99}],
        "transport": {"metric": "equalized_odds", "by": [BLACK, WHITE]},
        "explain": {"metric": "fpr", "by": [BLACK, WHITE], "target": WHITE, "model": "logistic"},
        "improve": {"metric": "fpr", "by": [BLACK, WHITE], "candidates": [LogisticRegression()], "splits": 3,
                    "bootstrap": 500},
        "watch": {"state": str(tmp_path_factory.mktemp("watch") / "state.jsonl"), "metric": "fpr", "by": ["race"],
                  "period": "age", "tolerance": 0.2, "stream": {"window": 20}, "reference": ["20", "30"]},
    }  # fmt: skip


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, whole_spec: dict[str, Any]) -> Path:
    """The folder a whole trial wrote."""
    out = tmp_path_factory.mktemp("whole")
    trial = fairtrial.run(whole_spec, out=out)
    assert trial.complete, [answer.error for answer in trial.answers]
    return out


@pytest.fixture(scope="session")
def content(folder: Path) -> dict[str, Any]:
    return load_results(folder)


class Visit:
    """A page opened in Chromium, with all it complained about and all it asked the network for."""

    def __init__(self, browser: Any, path: Path, width: int, scheme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.warnings: list[str] = []
        self.page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        self.page.on(
            "console", lambda message: message.type == "warning" and self.warnings.append(message.text)
        )
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.absolute().as_uri(), timeout=120_000)
        self.page.wait_for_function(
            "() => document.documentElement.dataset.charts === 'drawn'", timeout=120_000
        )

    @property
    def outside(self) -> list[str]:
        """Requests that are not for the file itself or for something inside it."""
        return [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))]


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    visits: list[Visit] = []

    def open_page(path: Path, width: int = 1440, scheme: str = "light") -> Visit:
        visits.append(Visit(browser, path, width, scheme))
        return visits[-1]

    yield open_page
    for opened in visits:
        opened.context.close()
