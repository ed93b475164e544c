"""Who is compared with whom."""

from __future__ import annotations

import pandas as pd
import pytest

from fairtrial import Audit, InputError, certify, flag, measure, scan, transport
from inside.data import check_target, find_groups
from inside.metrics import Group, find_target


@pytest.fixture(scope="module")
def audit():
    rows = [(race, sex, i % 2) for race in "ABC" for sex in "FM" for i in range(40) if race + sex != "CM"]
    return Audit(pd.DataFrame(rows, columns=["race", "sex", "d"]), decision="d", groups=["race", "sex"])


def labels(groups):
    return [group.label for group in groups]


def test_groups_of_attributes(audit):
    assert labels(find_groups("x", audit)) == ["A", "B", "C", "F", "M"]
    assert labels(find_groups("x", audit, "sex")) == ["F", "M"]
    assert labels(find_groups("x", audit, ["sex", "race"])) == ["F", "M", "A", "B", "C"]
    assert labels(find_groups("x", audit, depth=2)) == [
        "A", "B", "C", "F", "M", "A, F", "A, M", "B, F", "B, M", "C, F", "C, M",
    ]  # fmt: skip
    assert find_groups("x", audit, depth=9) == find_groups("x", audit, depth=2)


def test_groups_as_dicts(audit):
    by = [{"race": ["B", "A"]}, {"race": "A", "sex": "M"}, "sex"]
    assert labels(find_groups("x", audit, by)) == ["F", "M", "A or B", "A, M"]
    assert find_groups("x", audit, {"race": "A"})[0].to_dict() == {"race": "A"}
    assert Group.of({"race": ["B", "A"]}).to_dict() == {"race": ["A", "B"]}
    assert Group.of({"n": [1, 1.0, "1", None]}).to_dict() == {"n": ["(missing)", "1"]}


def test_empty_groups(audit):
    """Intersections without people are left out; a group that was named is listed with the reason."""
    assert "C, M" not in [row["group"] for row in measure(audit, depth=2).estimates]
    row = measure(audit, by=[{"race": "C", "sex": "M"}]).estimates[0]
    assert row["n"] == 0
    assert (row["state"], row["state_reason"]) == ("nobody", "nobody is in this group")


@pytest.mark.parametrize(
    ("by", "text"),
    [
        ("rase", "'by' names the unknown column 'rase'. Did you mean 'race'?"),
        ([], "'by' is missing"),
        (3, "'by' must be a column, a group like {'race': 'A'}, or a list of these, got 3"),
        ([{}], "'by' must be a column"),
        ([{"race": "D"}], "'by' names race = 'D', which is not in the data. Levels: 'A', 'B', 'C'."),
        ([{"race": []}], "'by' names no value of 'race'"),
        ([{"rase": "A"}], "'by' names the unknown column 'rase'"),
    ],
)
def test_faults_of_by(audit, by, text):
    with pytest.raises(InputError) as caught:
        find_groups("flag", audit, by)
    assert str(caught.value).startswith("flag: ")
    assert text in str(caught.value)


@pytest.mark.parametrize("depth", [0, -1, 1.5, True, "2"])
def test_depth_is_a_whole_number(audit, depth):
    with pytest.raises(InputError, match="'depth' must be a whole number of at least 1"):
        find_groups("flag", audit, depth=depth)


@pytest.mark.parametrize(
    ("target", "kind", "label", "content"),
    [
        ("rest", "rest", "everyone else", "rest"),
        ("overall", "overall", "overall", "overall"),
        (0.25, "number", "0.25", 0.25),
        (1, "number", "1", 1.0),
        ({"race": "A"}, "reference", "A", {"race": "A"}),
        ({"race": ["B", "A"], "sex": "M"}, "reference", "A or B, M", {"race": ["A", "B"], "sex": "M"}),
    ],
)
def test_targets(target, kind, label, content):
    found = find_target("x", target)
    assert (found.kind, found.label, found.to_dict()) == (kind, label, content)
    assert find_target("x", found) is found
    assert find_target("x", found.to_dict()) == found


@pytest.mark.parametrize("target", ["rset", None, True, {}, float("nan"), float("inf"), ["rest"]])
def test_faults_of_targets(target):
    with pytest.raises(InputError, match="'target' must be a number, 'overall', 'rest' or a group"):
        find_target("x", target)


def test_a_reference_that_is_not_there(audit):
    with pytest.raises(InputError, match="'target' names race = 'D', which is not in the data"):
        check_target("x", audit, find_target("x", {"race": "D"}))


def test_a_continuous_column_is_not_taken_for_groups():
    """Hundreds of different numbers need bins; codes with enough people each are groups."""
    rows = 6000
    data = pd.DataFrame(
        {"income": [20_000 + 100 * (i % 400) for i in range(rows)], "d": [i % 2 for i in range(rows)]}
    )
    data["clinic"] = [i % 150 for i in range(rows)]
    data["text"] = data["income"].astype(str) + " a year"
    audit = Audit(data, decision="d", outcome="d", score="clinic")
    expected = (
        "'by' names 'income', which holds 400 different numbers, most of them of fewer than 30 people: "
        "cut it with bins={'income': 4} in the Audit (quarters) or edges of your own"
    )
    selected = {"metric": "selection_rate"}
    methods = ((measure, {}), (certify, selected), (flag, selected),
               (transport, {"metric": "statistical_parity"}))  # fmt: skip
    for method, asked in methods:
        with pytest.raises(InputError) as caught:
            method(audit, by="income", **asked)
        assert str(caught.value) == f"{method.__name__}: {expected}"
    with pytest.raises(InputError, match="scan: 'protected' names 'income', which holds 400"):
        scan(audit, "selection_rate", protected="income")
    assert len(measure(Audit(data, decision="d", bins={"income": 4}), by="income").estimates) == 4
    assert len(measure(audit, by="clinic").estimates) == 150
    assert len(measure(audit, by="text").estimates) == 400
