"""One clear message: who, which argument, what is required, what came."""

from __future__ import annotations

import pytest

from fairtrial.errors import (
    Cancelled,
    FairtrialError,
    Faults,
    InputError,
    MissingExtra,
    NotApplicable,
    check_between,
    check_choice,
    did_you_mean,
)


def test_one_fault_is_one_line():
    error = InputError("flag", "'by' is missing")
    assert str(error) == "flag: 'by' is missing"
    assert [str(fault) for fault in error.faults] == ["'by' is missing"]
    assert isinstance(error, ValueError)


def test_faults_are_collected_once_each():
    faults = Faults("flag")
    faults.raise_any()
    faults.add("one")
    faults.add("one")
    faults.extend(InputError("other", ["two", "one"]))
    with pytest.raises(InputError, match="flag: 2 faults:\n  - one\n  - two"):
        faults.raise_any()


def test_suggestions():
    assert did_you_mean("fprr", ["fpr", "tpr"]) == " Did you mean 'fpr'?"
    assert did_you_mean("xyz", ["fpr", "tpr"]) == ""
    assert did_you_mean(3, [0, 1]) == "", "column names of a frame may be numbers"
    with pytest.raises(InputError, match=r"scan: 'mode' must be one of \['a', 'b'\], got None"):
        check_choice("scan", "mode", None, ["a", "b"])


@pytest.mark.parametrize("value", [0, 1, True, "0.5", float("nan"), None])
def test_numbers_between(value):
    with pytest.raises(InputError, match="'level' must be a number between 0 and 1, got"):
        check_between("x", "level", value, 0, 1)
    check_between("x", "level", 0.5, 0, 1)


def test_kinds_of_errors():
    for kind in (InputError, NotApplicable, MissingExtra, Cancelled):
        assert issubclass(kind, FairtrialError)
    assert issubclass(NotApplicable, InputError)
    assert issubclass(MissingExtra, ImportError)
