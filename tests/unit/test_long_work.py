"""Work that takes very long says so before it begins, and how to do with less."""

import warnings

import numpy as np
import pandas as pd
import pytest

from fairtrial import Audit, FairtrialWarning, certify, flag, measure
from fairtrial import _work as work
from inside.gaps import comparing


@pytest.fixture
def people():
    random, rows = np.random.default_rng(3), 400
    return pd.DataFrame({
        "g": random.choice(["a", "b"], rows), "h": random.choice(["x", "y", "z"], rows),
        "s": random.exponential(size=rows), "d": random.integers(0, 2, rows),
    })  # fmt: skip


@pytest.mark.parametrize("method", [flag, certify, measure])
def test_means_of_many_groups_by_rows_are_announced(method, people, monkeypatch):
    audit = Audit(people, score="s", groups=["g", "h"])
    monkeypatch.setattr(comparing, "SECONDS_PER_GAP", 240.0)
    with pytest.warns(FairtrialWarning, match=r"means of 5 groups .* 400 rows .* about 20 minutes\. Fewer"):
        method(audit, "mean_score", depth=1)
    told = []
    with work.session(progress=lambda progress: told.append(progress.name)):
        method(audit, "mean_score", depth=1)
    assert any("about 20 minutes" in text for text in told)


def test_what_is_quick_says_nothing(people, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error", FairtrialWarning)
        flag(Audit(people, score="s", groups=["g", "h"]), "mean_score")
        monkeypatch.setattr(comparing, "SECONDS_PER_GAP", 240.0)
        flag(Audit(people, decision="d", groups=["g", "h"]), "selection_rate")
        certify(Audit(people, score="s", groups="g"), "mean_score", target=1.0)


@pytest.mark.parametrize(
    ("groups", "rows", "said"), [(30_528, 1_000_000, "4.0 hours"), (7_740, 300_000, "20 minutes")]
)
def test_how_long_is_told(groups, rows, said):
    with pytest.warns(FairtrialWarning, match=f"at least about {said}"):
        comparing._tell_long_work(groups, rows)
