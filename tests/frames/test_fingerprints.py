"""The fingerprint of the data: every value counts, the same on every engine, whatever the order of the rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.frames.makers import KINDS, make

from fairtrial import Audit, certify, measure

COLUMNS = {
    "race": ["a", "b", "b", "c", "a", "b"],
    "d": [0, 1, 1, 0, 1, 0],
    "s": [0.1, 0.25, -0.0, 1e-9, 0.7, 0.30000000000000004],
    "flag": [True, False, True, True, False, False],
    "code": ["7", "07", "7.50", "7", "x", "x"],
}
ROLES = {"decision": "d", "score": "s", "groups": ["race", "flag", "code"]}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_on_every_engine(kind, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    found = Audit(make(kind, COLUMNS, tmp_path, request), **ROLES).digest()
    changed = {**COLUMNS, "s": [*COLUMNS["s"][:-1], 0.3]}
    (tmp_path / "other").mkdir()
    assert Audit(make(kind, changed, tmp_path / "other", request), **ROLES).digest() != found
    if kind != "spark":  # the hashes of Spark are its own
        assert found == Audit(pd.DataFrame(COLUMNS), **ROLES).digest()


@pytest.mark.parametrize("column", COLUMNS)
def test_every_value_counts(column: str) -> None:
    first = Audit(pd.DataFrame(COLUMNS), **ROLES).fingerprint(())
    for row in range(6):
        frame = pd.DataFrame(COLUMNS).astype({column: object})
        frame.loc[row, column] = {"d": 1 - COLUMNS["d"][row], "flag": not COLUMNS["flag"][row]}.get(
            column, 0.5
        )
        frame[column] = frame[column].astype(
            object if column in ("race", "code") else type(COLUMNS[column][0])
        )
        found = Audit(frame, **ROLES).fingerprint(())
        assert found.content != first.content, row


def test_the_order_is_known_apart() -> None:
    first = Audit(pd.DataFrame(COLUMNS), **ROLES).fingerprint(())
    turned = Audit(pd.DataFrame(COLUMNS)[::-1], **ROLES).fingerprint(())
    assert turned.content == first.content
    assert turned.order != first.order


def test_it_does_not_depend_on_how_the_rows_are_fetched(monkeypatch) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"g": random.choice(["a", "b"], 1000), "s": random.random(1000)})
    whole = Audit(frame, score="s", groups="g").fingerprint(())
    monkeypatch.setattr("fairtrial._audit.source.BATCH", 7)
    assert Audit(frame, score="s", groups="g").fingerprint(()) == whole


def test_large_whole_numbers_missing_values_and_odd_columns() -> None:
    def digest(**columns) -> str:
        return Audit(pd.DataFrame(columns), groups=list(columns)).digest()

    assert digest(n=[2**60, 1]) != digest(n=[2**60 + 1, 1])
    assert digest(n=[1.0, None]) == digest(n=pd.array([1, None], dtype="Int64"))
    assert digest(n=[1.0, None]) != digest(n=[1.0, 0.0])
    assert digest(n=["a", None]) == digest(n=["a", ""])
    assert digest(n=[[1, 2], [3]]) != digest(n=[[1, 2], [4]])
    assert digest(n=pd.to_datetime(["2020-01-01", "2020-01-02"])) != digest(
        n=pd.to_datetime(["2020-01-01"] * 2)
    )


def test_results_know_the_real_values_that_they_rest_on() -> None:
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"g": np.repeat(["a", "b"], 200), "s": random.random(400), "d": 1})
    frame.loc[:150, "d"] = 0
    other = frame.assign(s=1 - frame["s"])
    for question, metric, same in [
        (measure, "mean_score", False), (certify, "mean_score", False), (measure, "selection_rate", True),
    ]:  # fmt: skip
        digests = {
            question(Audit(data, score="s", decision="d", groups="g"), metric).provenance["data"]
            for data in (frame, other)
        }
        assert (len(digests) == 1) is same, metric
