"""Tables of counts and of totals: who they count, what they are refused for, and what they say of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairtrial as ft
from fairtrial import Audit, InputError
from frames.makers import KINDS, make

# Admitted and rejected, men then women: Bickel, Hammel and O'Connell (1975), as in R's UCBAdmissions.
BERKELEY = {
    "A": ((512, 313), (89, 19)), "B": ((353, 207), (17, 8)), "C": ((120, 205), (202, 391)),
    "D": ((138, 279), (131, 244)), "E": ((53, 138), (94, 299)), "F": ((22, 351), (24, 317)),
}  # fmt: skip


def berkeley() -> pd.DataFrame:
    lines = [
        (admit, gender, department, number)
        for department, genders in BERKELEY.items()
        for gender, numbers in zip(("Male", "Female"), genders, strict=True)
        for admit, number in zip(("Admitted", "Rejected"), numbers, strict=True)
    ]
    return pd.DataFrame(lines, columns=["Admit", "Gender", "Dept", "Freq"])


def counted(**more: Any) -> Audit:
    return Audit(
        berkeley(),
        **{"decision": "Admit", "positive": "Admitted", "groups": "Gender", "count": "Freq", **more},
    )


def totals(**more: Any) -> pd.DataFrame:
    table = berkeley().pivot(index=["Gender", "Dept"], columns="Admit", values="Freq").reset_index()
    return table.assign(Applicants=table["Admitted"] + table["Rejected"], **more)


def rates(audit: Audit) -> dict[str, tuple[int, float]]:
    found = ft.measure(audit, "selection_rate", minimum=1).to_dict()["estimates"]
    return {row["group"]: (row["n"], row["rate"]) for row in found}


MEN, WOMEN = (2691, 1198 / 2691), (1835, 557 / 1835)


def test_24_rows_are_4526_people() -> None:
    assert rates(counted()) == {"Male": MEN, "Female": WOMEN}
    assert counted().count_rows() == 4526
    note = "'Freq' says how many people each row stands for: 4,526 people in 24 rows."
    assert any(text.startswith(note) for text in counted().notes())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_data_counts(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    data = make(kind, berkeley().to_dict("list"), tmp_path, request)
    audit = Audit(data, decision="Admit", positive="Admitted", groups="Gender", count="Freq")
    assert rates(audit) == {"Male": MEN, "Female": WOMEN}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_data_may_hold_totals(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    data = make(kind, totals().to_dict("list"), tmp_path, request)
    assert rates(Audit(data, decision="Admitted", total="Applicants", groups="Gender")) == {
        "Male": MEN,
        "Female": WOMEN,
    }


def test_equal_people_have_one_fingerprint() -> None:
    table = berkeley()
    people = table.loc[table.index.repeat(table["Freq"])].drop(columns="Freq")
    one_by_one = Audit(people, decision="Admit", positive="Admitted", groups="Gender")
    assert counted().digest() == one_by_one.digest()
    halves = pd.concat(
        [table.assign(Freq=table["Freq"] // 2), table.assign(Freq=table["Freq"] - table["Freq"] // 2)]
    )
    split = Audit(halves, decision="Admit", positive="Admitted", groups="Gender", count="Freq")
    assert split.digest() == counted().digest()
    table.loc[0, "Freq"] += 1
    other = Audit(table, decision="Admit", positive="Admitted", groups="Gender", count="Freq")
    assert other.digest() != counted().digest()


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (-5, "1 row does not, such as -5"),
        (2.5, "such as 2.5"),
        (np.nan, "such as a missing one"),
        (np.inf, "such as inf"),
    ],
)
@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "duckdb", "csv"])
def test_what_is_no_number_of_people_is_refused(
    number: float, shown: str, missing: str, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    table = berkeley().astype({"Freq": float})
    table.loc[3, "Freq"] = number
    data = make(kind, table.to_dict("list"), tmp_path, request)
    audit = Audit(data, decision="Admit", positive="Admitted", groups="Gender", count="Freq", missing=missing)
    with pytest.raises(InputError) as caught:
        ft.measure(audit, "selection_rate")
    text = str(caught.value)
    assert "count 'Freq' must hold whole numbers of people, 0 or more" in text
    assert shown in text


def test_texts_are_no_counts() -> None:
    table = berkeley().assign(Freq=[f"{number} people" for number in berkeley()["Freq"]])
    with pytest.raises(InputError, match=r"count 'Freq' must hold whole numbers .* got '512 people'"):
        rates(Audit(table, decision="Admit", positive="Admitted", groups="Gender", count="Freq"))


def test_rows_that_count_nobody_are_not_there() -> None:
    table = pd.concat([berkeley(), pd.DataFrame([("Maybe", "Other", "A", 0)], columns=list(berkeley()))])
    audit = Audit(table, decision="Admit", positive="Admitted", groups="Gender", count="Freq")
    assert audit.levels("Gender") == ("Female", "Male")
    with pytest.raises(InputError, match="has no rows"):
        rates(
            Audit(table.assign(Freq=0), decision="Admit", positive="Admitted", groups="Gender", count="Freq")
        )


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"groups": ["Gender", "Freq"]}, "'count' names 'Freq', which is also a group or a feature"),
        ({"features": ["Dept", "Freq"]}, "'count' names 'Freq', which is also a group or a feature"),
        ({"weight": "Freq"}, "'count' names 'Freq', which is also weight"),
        ({"pair": "Dept"}, "count 'Freq' is not for pairs"),
        ({"total": "Freq"}, "both say how many people a row stands for"),
        ({"count": "Frequency"}, "'count' names the unknown column 'Frequency'"),
        ({"count": None, "total": "Freq"}, "the decision counts people"),
    ],
)
def test_roles_that_cannot_be_joined_are_refused(more: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError) as caught:
        counted(**more)
    assert text in str(caught.value)


# -- totals
@pytest.mark.parametrize(
    ("name", "share", "read"),
    [
        ("Admitted", lambda t: t["Admitted"], "numbers of people"),
        ("rate", lambda t: (t["Admitted"] / t["Applicants"]).round(3), "shares of it"),
        ("admission rate", lambda t: t["Admitted"] / t["Applicants"], "shares of it"),
        ("percent", lambda t: (100 * t["Admitted"] / t["Applicants"]).round(2), "percent of it"),
        ("x", lambda t: (100 * t["Admitted"] / t["Applicants"]).map("{:.1f}%".format), "percent of it"),
        ("y", lambda t: (100 * t["Admitted"] / t["Applicants"]).map("{:.1f} %".format), "percent of it"),
        ("Admitted", lambda t: t["Admitted"].astype(str), "numbers of people"),
    ],
)
def test_totals_are_read_as_people(name: str, share: Any, read: str) -> None:
    audit = Audit(totals(**{name: share(totals())}), decision=name, total="Applicants", groups="Gender")
    assert rates(audit) == {"Male": MEN, "Female": WOMEN}
    assert any(
        f"4,526 people in 12 rows; decision {name!r} is read as {read}" in text for text in audit.notes()
    )
    assert (
        ft.measure(audit, "selection_rate", within="Dept").to_dict()["estimates"][0]["difference"] is not None
    )


def test_a_quarter_of_120_is_30() -> None:
    for share in (0.25, "25%", 30):
        table = {"g": ["a", "b"], "Applicants": [120, 80], "Hired": [share, share]}
        audit = Audit(table, decision="Hired", total="Applicants", groups="g")
        assert rates(audit)["a"] == (120, 0.25)


@pytest.mark.parametrize(
    ("chosen", "total", "text"),
    [
        ([130, 10], [120, 80], "must be between 0 and the total; it is 130 of 120 people"),
        ([-1, 10], [120, 80], "it is -1 of 120 people"),
        ([0.251, 0.3], [12, 10], "0.251 of 12 people is no whole number"),
        (["25%", "30%"], [12000, 10], "25% of 12,000 people may be 2,940 to 3,060"),
        (["some", "30%"], [120, 10], "must hold numbers of people, or shares of the total, got 'some'"),
        ([120.5, 10], [130, 80], "must be between 0 and the total"),
        ([0.25, 0.5], [120.5, 80], "total 'Applicants' must hold whole numbers of people"),
    ],
)
def test_totals_that_do_not_come_out_are_refused(chosen: list[Any], total: list[Any], text: str) -> None:
    with pytest.raises(InputError) as caught:
        Audit(
            {"g": ["a", "b"], "Hired": chosen, "Applicants": total},
            decision="Hired",
            total="Applicants",
            groups="g",
        )
    assert text in str(caught.value)


def test_people_without_a_decision_stay_together() -> None:
    table = {"g": ["a", "b", "c"], "Hired": [30, None, None], "Applicants": [120, 80, 0]}
    with pytest.raises(InputError, match="missing in 80 rows"):
        rates(Audit(table, decision="Hired", total="Applicants", groups="g"))
    audit = Audit(table, decision="Hired", total="Applicants", groups="g", missing="drop")
    assert rates(audit) == {"a": (120, 0.25), "b": (0, rates(audit)["b"][1])}


def test_outcomes_may_have_totals_too() -> None:
    table = {"g": ["a", "b"], "Reoffended": [30, 20], "Released": [120, 80]}
    audit = Audit(table, outcome="Reoffended", total="Released", groups="g")
    found = ft.measure(audit, "base_rate").to_dict()["estimates"]
    assert [(row["n"], row["rate"]) for row in found] == [(120, 0.25), (80, 0.25)]


def test_totals_need_one_column_that_counts() -> None:
    with pytest.raises(InputError, match="needs one column that counts some of the people"):
        Audit({"g": ["a"], "n": [3]}, total="n", groups="g")


def test_arrays_may_come_with_counts() -> None:
    audit = Audit.from_arrays(y_pred=[1, 0, 1, 0], groups=list("aabb"), count=[30, 90, 20, 60])
    assert rates(audit) == {"a": (120, 0.25), "b": (80, 0.25)}


def test_weights_that_look_like_counts_are_asked_about() -> None:
    audit = counted(count=None, weight="Freq")
    question = (
        "Weight 'Freq' holds whole numbers from 8 to 512. If each row stands for that many people, make it the count "
        "instead: then 4,526 people are compared, not 24 rows."
    )
    assert question in audit.notes()
    assert not any("Weight" in text for text in counted().notes())
    survey = Audit(
        berkeley().assign(Freq=1.5), decision="Admit", positive="Admitted", groups="Gender", weight="Freq"
    )
    assert not any("Weight" in text for text in survey.notes())
