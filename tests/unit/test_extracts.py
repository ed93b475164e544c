"""HMDA and ACS extracts, on files of the same shape."""

from __future__ import annotations

from pathlib import Path

import pytest

import fairtrial
from fairtrial.datasets import load_acs, load_hmda

HMDA = """activity_year,action_taken,derived_ethnicity,derived_race,derived_sex,applicant_age,\
loan_amount,income,interest_rate,rate_spread,property_value
2022,1,Not Hispanic or Latino,White,Male,35-44,205000.0,81,4.5,0.3,255000
2022,3,Hispanic or Latino,White,Female,25-34,105000.0,NA,NA,NA,Exempt
2022,4,Not Hispanic or Latino,Asian,Male,45-54,305000.0,120,NA,NA,405000
2022,2,Not Hispanic or Latino,Black or African American,Joint,>74,155000.0,64,5.125,NA,195000
2022,6,Not Hispanic or Latino,White,Male,8888,95000.0,40,3.9,0.1,NA
"""
ACS = """SERIALNO,AGEP,SEX,RAC1P,PINCP,WKHP,SCHL,OCCP,COW,PWGTP,ADJINC
1,40,1,1,60000,40,21,4700,1,12,1010145
2,15,2,2,5000,10,12,,,3,1010145
3,33,2,9,49500,38,16,2310,3,20,1020000
4,51,2,6,,,18,,,7,1010145
5,28,1,2,30000,0,16,4020,1,5,1010145
6,61,2,1,45000,20,22,0710,6,31,1010145
"""


def test_applications_that_were_decided(tmp_path: Path) -> None:
    (tmp_path / "hmda.csv").write_text(HMDA)
    table = load_hmda(tmp_path / "hmda.csv")
    assert table["approved"].to_pylist() == ["yes", "no", "yes"]
    assert table["derived_sex"].to_pylist() == ["Male", "Female", "Joint"]
    assert table["income"].to_pylist() == [81.0, None, 64.0]
    assert table["property_value"].to_pylist() == [255000.0, None, 195000.0]
    audit = fairtrial.Audit(table, decision="approved", positive="yes", groups="derived_sex")
    assert fairtrial.measure(audit, minimum=1).estimates[0]["n"] == 1


def test_working_adults_with_their_weight(tmp_path: Path) -> None:
    (tmp_path / "psam_p01.csv").write_text(ACS)
    table = load_acs(tmp_path / "psam_p01.csv")
    assert table["race"].to_pylist() == ["White", "Two or more races", "White"]
    assert table["income"].to_pylist() == pytest.approx([60000 * 1.010145, 50490.0, 45000 * 1.010145])
    assert table["high_income"].to_pylist() == ["yes", "yes", "no"]
    assert table["weight"].to_pylist() == [12.0, 20.0, 31.0]
    assert table["occupation"].to_pylist() == ["4700", "2310", "0710"]
    assert load_acs(tmp_path / "psam_p01.csv", income_over=55_000)["high_income"].to_pylist() == [
        "yes",
        "no",
        "no",
    ]


def test_what_is_no_such_extract_is_said(tmp_path: Path) -> None:
    with pytest.raises(fairtrial.InputError, match="must be a CSV file that exists"):
        load_hmda(tmp_path / "none.csv")
    (tmp_path / "acs.csv").write_text(ACS)
    with pytest.raises(fairtrial.InputError, match="'acs.csv' lacks the columns action_taken"):
        load_hmda(tmp_path / "acs.csv")
    (tmp_path / "odd.csv").write_text(ACS.replace("60000", "sixty"))
    with pytest.raises(fairtrial.InputError, match="'odd.csv' cannot be read: .*sixty"):
        load_acs(tmp_path / "odd.csv")
