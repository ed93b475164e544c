"""Whatever value an argument gets, and whatever text a label is: a fault that can be read, or the right counts."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairtrial as ft
from inside.ground import Argument, canonical
from inside.methods import declared_methods
from properties.odd_inputs import MANY

ARGUMENTS = [
    pytest.param(argument, id=f"{name} {argument.name}")
    for name, found in declared_methods().items()
    for argument in found.arguments
]
SIMPLE = (
    st.none() | st.booleans() | st.integers() | st.integers(2**60, 2**1100) | st.floats() | st.text(max_size=9)
    | st.binary(max_size=3) | st.complex_numbers() | st.decimals() | st.dates()
)  # fmt: skip
VALUES = st.recursive(
    SIMPLE,
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inside, max_size=3)
        | st.tuples(inside)
        | st.frozensets(st.text(max_size=2), max_size=2)
    ),
    max_leaves=5,
)


@pytest.mark.parametrize("argument", ARGUMENTS)
@settings(max_examples=300 if MANY else 6, derandomize=True, deadline=None, database=None)
@given(value=VALUES)
def test_any_value_is_taken_or_refused_with_one_line(argument: Argument, value: object) -> None:
    fault = argument.fault(argument.plain(value))
    if fault is not None:
        text = str(fault)
        assert text.startswith(f"'{argument.name}' must ")
        assert len(text.splitlines()) == 1
        assert len(text) < 1000


LABELS = st.lists(st.text(max_size=6), min_size=1, max_size=40)


@settings(max_examples=1000 if MANY else 25, derandomize=True, deadline=None, database=None)
@given(labels=LABELS)
@pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")
def test_any_label_is_counted(labels: list[str]) -> None:
    frame = {"g": labels, "d": [place % 2 for place in range(len(labels))]}
    audit = ft.Audit(frame, decision="d", groups="g", missing="category")
    try:
        rows = ft.measure(audit, "selection_rate", minimum=1).to_dict()["estimates"]
    except ft.InputError:
        return
    expected = Counter(canonical(label) for label in labels)
    assert sorted(row["n"] for row in rows) == sorted(expected.values())
