"""A call that would need more memory than there is, is refused before it starts."""

from __future__ import annotations

import resource
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fairtrial import Audit, InputError, explain, measure, papers, scan, transport, watch
from inside.ground import memory

N = 2000
RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "g": RANDOM.choice(["a", "b"], N),
        "y": RANDOM.integers(0, 2, N),
        "s": RANDOM.random(N),
        "age": RANDOM.random(N),
    }
)
AUDIT = Audit(FRAME, outcome="y", score="s", threshold=0.5, groups="g", features=["age", "s"])


def test_what_needs_rows_is_refused_and_what_needs_counts_is_not(monkeypatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "0.0001")
    for call in (
        lambda: explain(AUDIT, "tpr", by="g", model="tree"),
        lambda: transport(AUDIT, "tpr", by="g"),
        AUDIT.design,
    ):
        with pytest.raises(
            InputError, match="would need about .* MB of memory for 2,000 rows, and 0.1 MB may be used"
        ):
            call()
    assert measure(AUDIT, "tpr", by="g").estimates


def test_a_matrix_of_coalitions_is_refused(monkeypatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "0.0008")
    wide = FRAME.assign(**{f"x{i}": RANDOM.random(N) for i in range(5)})
    features = ["age", *(f"x{i}" for i in range(5))]
    audit = Audit(wide, outcome="y", groups="g")
    with pytest.raises(InputError, match="600 rows × 64 coalitions|2,000 rows"):
        explain(audit, "tpr", by="g", model="tree", features=features)


def test_the_limit_is_read(monkeypatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "much")
    with pytest.raises(InputError, match="must be a number of gigabytes, got 'much'"):
        memory.free_memory()
    monkeypatch.delenv(memory.VARIABLE)
    found = memory.free_memory()
    assert found is None or found > 1e6


def test_the_limit_of_the_process_counts() -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    code = "from fairtrial._work.memory import free_memory; print(free_memory())"
    done = subprocess.run(
        [sys.executable, "-c", code], preexec_fn=limit, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 1 << 30


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scan(AUDIT, "tpr", protected={"g": "a"}, features=["age"], top=10**9), "'top' must be .* 1,000"),
        (lambda: explain(AUDIT, "tpr", by="g", jobs=10**9), "'jobs' must be .* 1,024"),
        (lambda: explain(AUDIT, "tpr", by="g", seed=-1), "'seed' must be a whole number of at least 0"),
        (lambda: explain(AUDIT, "tpr", by="g", seed=float("nan")), "'seed' must be a whole number of at least 0"),
        (lambda: measure(AUDIT, "tpr", minimum=float("nan")), "'minimum' must be a whole number of at least 1"),
        (lambda: scan(AUDIT, "tpr", protected={"g": "a"}, features=1e308), "'features' must be a name or a list"),
        (lambda: scan(AUDIT, "tpr", protected={"g": "a"}, progress=3), "'progress' must be a function"),
    ],
)  # fmt: skip
def test_arguments_without_measure(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("unlabelled", np.array([0.1, 0.2]), "'unlabelled' must be"),
        ("unlabelled", pd.NA, "'unlabelled' must be"),
        ("favourable", np.array([0.1, 0.2]), "'favourable' must be one label"),
        ("features", [None], "'features' must list names of columns"),
        ("groups", [["g"]], "'groups' must list names of columns"),
    ],
)
def test_arguments_of_the_audit_of_another_shape(argument: str, value: object, message: str) -> None:
    given = {"outcome": "y", "score": "s", "threshold": 0.5, "groups": "g", argument: value}
    with pytest.raises(InputError, match=message):
        Audit(FRAME, **given)


@pytest.mark.parametrize("name", ["\0", "x" * 5000])
def test_names_that_no_file_can_have(name: str) -> None:
    with pytest.raises(InputError, match="'state' cannot be opened"):
        watch(name, AUDIT, "tpr", period="age", target={"g": "a"}, tolerance=0.1)


def test_nobody_to_fit_on() -> None:
    with pytest.raises(InputError, match="'train_share' must leave somebody of 2,000 to fit on"):
        papers.improvability.improve(AUDIT, by="g", candidates="frontier", train_share=1e-300)
