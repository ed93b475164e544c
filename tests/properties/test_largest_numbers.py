"""Numbers at the ends of what a computer holds: the right answer or one clear fault, never an overflow."""

import warnings

import pytest

import fairtrial
from inside.ground import declared_arguments_of as arguments_of
from properties.odd_arguments import CALLS, _call

NUMBERS = (1e308, -1e308, 1e-308, {"A": 1e308, "B": -1e308})
PLACES = [
    (name, argument.name)
    for name in CALLS
    for argument in arguments_of(getattr(fairtrial, name).__wrapped__)
    if float in argument.kinds
]


@pytest.mark.parametrize(("name", "argument"), PLACES)
def test_every_real_argument_at_its_ends(name, argument, tmp_path):
    said = []
    for number in NUMBERS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fairtrial.FairtrialWarning)
            try:
                _call(name, argument, number, tmp_path)
            except fairtrial.InputError as fault:
                said.append(str(fault))
    assert all(argument in fault for fault in said)


@pytest.mark.parametrize(
    ("name", "argument", "number", "said"),
    [
        ("scan", "penalty", 1e308, "'penalty' must be a number between 0 and 1,000,000,000, got 1e+308"),
        ("improve", "margin", -1e308, "'margin' must be a number between -1,000,000,000 and 1,000,000,000"),
        ("improve", "margin", {"A": 1e308}, "'margin' must hold in each place a number between"),
        ("transport", "tolerance", [0.1, -1], "'tolerance' must hold in each place a number of at least 0"),
    ],
)
def test_bounds_hold_for_a_number_and_inside_tables_and_lists(name, argument, number, said, tmp_path):
    with pytest.raises(fairtrial.InputError, match="must") as caught:
        _call(name, argument, number, tmp_path)
    assert said in str(caught.value)


def test_a_known_rate_of_next_to_nothing():
    """Both forms of the joint test: disjoint groups, and groups that overlap."""
    from properties.odd_arguments import ROLES, people

    for by in ("g", ["g", "h"]):
        joint = fairtrial.certify(
            fairtrial.Audit(people(), **ROLES), "fpr", by=by, target=1e-308, tolerance=0.01
        ).details["joint"]
        assert 1e100 < joint["statistic"] < float("inf")
        assert joint["p_value"] < 1e-3
