"""One canonical text per label."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from inside.ground import MISSING, canonical, is_missing


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, "1"), (1.0, "1"), ("1", "1"), ("1.0", "1"), ("1.00", "1"), (np.int32(1), "1"), (np.float32(1), "1"),
        (Decimal("1.00"), "1"), (True, "true"), (np.True_, "true"), ("True", "true"), ("TRUE", "TRUE"),
        (False, "false"), ("01", "01"), ("01.0", "01.0"), ("-1.0", "-1"), (-0.0, "0"), (0.1, "0.1"), (1e300, "1e+300"),
        ("1-5-10", "1-5-10"), (" a ", " a "), ("nan", "nan"), (10**20, "1" + "0" * 20),
    ],
)  # fmt: skip
def test_canonical(value, expected):
    assert canonical(value) == expected


@pytest.mark.parametrize(
    "value", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), ""]
)
def test_missing(value):
    assert is_missing(value)
    assert canonical(value) == MISSING


@pytest.mark.parametrize("value", [0, False, "None", " ", "nan", float("inf")])
def test_not_missing(value):
    assert not is_missing(value)
