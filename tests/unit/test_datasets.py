"""The bundled datasets are what their provenance page says they are."""

from __future__ import annotations

from importlib.resources import files

import pytest

import fairtrial
from fairtrial import InputError
from fairtrial.datasets import DATASETS

EXPECTED = {
    "compas": (
        7214,
        "sex age age_cat race juv_fel_count juv_misd_count juv_other_count priors_count "
        "days_b_screening_arrest c_charge_degree is_recid decile_score score_text two_year_recid",
    ),
    "adult": (
        48842,
        "age workclass fnlwgt education education_num marital_status occupation relationship race sex "
        "capital_gain capital_loss hours_per_week native_country income split",
    ),
    "ricci": (118, "position oral written race combined passed"),
    "german": (
        1000,
        "status duration credit_history purpose credit_amount savings present_employment installment_rate status_sex "
        "other_debtors present_residence_since property age installment_plans housing number_of_existing_credits job "
        "number_of_people_liable_for telephone foreign_worker credit",
    ),
    "loans": (6000, "ethnicity age income debt_ratio score approved repaid"),
    "care": (8000, "race sex age conditions cost risk_score enrolled conditions_next_year cost_next_year"),
}
IDENTIFYING = {"name", "first", "last", "dob", "id", "c_case_number", "r_case_number", "vr_case_number"}


@pytest.mark.parametrize("name", DATASETS)
def test_rows_and_columns(name: str) -> None:
    rows, columns = EXPECTED[name]
    table = fairtrial.load(name, backend="pyarrow")
    assert table.num_rows == rows
    assert table.column_names == columns.split()
    assert not IDENTIFYING & set(table.column_names)


@pytest.mark.parametrize("name", DATASETS)
def test_every_column_is_in_the_dictionary(name: str) -> None:
    page = files("fairtrial.datasets").joinpath("README.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
    for column in fairtrial.load(name, backend="pyarrow").column_names:
        assert f"`{column}`" in section, column


@pytest.mark.parametrize("name", DATASETS)
def test_backends_hold_the_same_values(name: str) -> None:
    arrow = fairtrial.load(name, backend="pyarrow")
    assert fairtrial.load(name, backend="polars").to_arrow().to_pylist() == arrow.to_pylist()
    assert fairtrial.load(name).equals(fairtrial.load(name, backend="pandas"))
    assert fairtrial.load(name).equals(arrow.to_pandas())


def test_the_list_names_every_bundled_file() -> None:
    bundled = {path.name for path in files("fairtrial.datasets").iterdir() if path.name.endswith(".parquet")}
    assert {f"{name}.parquet" for name in fairtrial.list_datasets()} == bundled


def test_made_up_data_have_the_truth_that_their_page_tells() -> None:
    loans = fairtrial.load("loans", backend="pandas")
    assert (loans["repaid"].isna() == (loans["approved"] == "no")).all()
    approved = loans[loans["approved"] == "yes"].assign(good=lambda people: people["repaid"] == "yes")
    repaid = approved.groupby("ethnicity")["good"].mean()
    assert repaid["minority"] > repaid["majority"]  # more is asked of them
    care = fairtrial.load("care", backend="pandas")
    alike = care[care["risk_score"].between(0.4, 0.6)].groupby("race")["conditions_next_year"].mean()
    assert alike["Black"] > 1.2 * alike["White"]  # at the same score they are more ill


def test_small_enough_to_bundle() -> None:
    folder = files("fairtrial.datasets")
    assert sum(len(folder.joinpath(f"{name}.parquet").read_bytes()) for name in DATASETS) < 1_500_000


def test_compas_has_the_published_false_positive_rates() -> None:
    # Larson, Mattu, Kirchner and Angwin, "How We Analyzed the COMPAS Recidivism Algorithm" (2016), the
    # table of error rates by race: 44.85% and 23.45%.
    people = fairtrial.load("compas")
    innocent = people[people["two_year_recid"] == 0]
    rates = (innocent["decile_score"] >= 5).groupby(innocent["race"]).agg(["mean", "size"])
    assert rates.loc["African-American", "size"] == 1795
    assert rates.loc["African-American", "mean"] == pytest.approx(0.4485, abs=5e-5)
    assert rates.loc["Caucasian", "mean"] == pytest.approx(0.2345, abs=5e-5)
    # The selection of the same analysis: 6,172 people screened within 30 days of their arrest.
    assert people["days_b_screening_arrest"].between(-30, 30).sum() == 6172


def test_adult_has_the_documented_missing_values() -> None:
    # The donors' documentation: 45,222 rows without unknown values, 23.93% above 50K, split 32,561 / 16,281.
    people = fairtrial.load("adult")
    assert len(people.dropna()) == 45222
    assert (people["income"] == ">50K").mean() == pytest.approx(0.2393, abs=5e-5)
    assert set(people["income"]) == {"<=50K", ">50K"}
    assert people["split"].value_counts().to_dict() == {"train": 32561, "test": 16281}
    assert not (people == "?").any().any()


def test_ricci_combines_its_two_parts() -> None:
    people = fairtrial.load("ricci")
    combined = 0.6 * people["written"] + 0.4 * people["oral"]
    assert combined.to_numpy() == pytest.approx(people["combined"].to_numpy(), abs=1e-9)
    assert people["passed"].to_list() == (people["combined"] >= 70).astype(int).to_list()
    assert people["race"].value_counts().to_dict() == {"W": 68, "B": 27, "H": 23}


def test_unknown_names_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"^load: 'name' must be one of .*, got 'compass'. Did you mean 'compas'\?$"
    ):
        fairtrial.load("compass")
    with pytest.raises(InputError, match="^load: 'backend' must be one of"):
        fairtrial.load("compas", backend="spark")  # type: ignore[arg-type]
