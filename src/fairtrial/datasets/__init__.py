"""Small real datasets to audit, bundled with the package; README.md beside this file has their provenance."""

from __future__ import annotations

import os
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

from fairtrial._errors import Fault, InputError, MissingExtra, check_choice

__all__ = ["DATASETS", "list_datasets", "load", "load_acs", "load_hmda"]

Backend = Literal["pandas", "polars", "pyarrow"]

DATASETS: dict[str, str] = {
    "compas": "7,214 people scored by the COMPAS recidivism tool in Broward County, Florida, 2013-2014",
    "adult": "48,842 people of the 1994 US census, and whether each earns more than 50,000 dollars",
    "ricci": "118 firefighters who sat the New Haven promotion examination behind Ricci v. DeStefano",
    "german": "1,000 borrowers of a German bank in the 1970s, and whether each was a good credit risk",
    "loans": "6,000 made-up applicants for a loan; whether it was paid back is known for the approved alone",
    "care": "8,000 made-up patients, of whom a score of cost enrols some in a programme for the ill",
}


def list_datasets() -> dict[str, str]:
    """The bundled datasets: what `load` knows by name, and what each is.

    Returns
    -------
    dict
        A sentence per name.

    Examples
    --------
    >>> list(list_datasets())
    ['compas', 'adult', 'ricci', 'german', 'loans', 'care']
    """
    return dict(DATASETS)


def load(name: str, *, backend: Backend | None = None) -> Any:
    """Load a bundled dataset as a dataframe.

    Parameters
    ----------
    name : {'compas', 'adult', 'ricci', 'german', 'loans', 'care'}
        Which dataset.
    backend : {'pandas', 'polars', 'pyarrow'}, optional
        The kind of frame; pandas when it is installed, otherwise PyArrow, which always is.

    Returns
    -------
    object
        A frame of the asked kind.

    Examples
    --------
    >>> table = load("compas", backend="pyarrow")
    >>> table.num_rows
    7214
    >>> table.column_names[:4]
    ['sex', 'age', 'age_cat', 'race']
    """
    check_choice("load", "name", name, DATASETS)
    if backend is None:
        backend = "pandas" if find_spec("pandas") else "pyarrow"
    check_choice("load", "backend", backend, get_args(Backend))
    if find_spec(backend) is None:
        raise MissingExtra(
            f"load: backend={backend!r} needs the package {backend!r}, which is not installed. "
            "Install it, or use backend='pyarrow'."
        )
    with as_file(files(__package__).joinpath(f"{name}.parquet")) as path:
        return _read(str(path), backend)


def _read(path: str, backend: Backend) -> Any:
    if backend == "polars":
        import polars

        return polars.read_parquet(path)
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    return table.to_pandas() if backend == "pandas" else table


# -- Extracts that people download themselves, read from a path into a table with roles: HMDA and ACS.
HMDA = """
select
    case when action_taken in ('1', '2') then 'yes' else 'no' end as approved,
    derived_ethnicity, derived_race, derived_sex, applicant_age,
    loan_amount::double as loan_amount, income::double as income, interest_rate::double as interest_rate,
    rate_spread::double as rate_spread, property_value::double as property_value
from extract where action_taken in ('1', '2', '3')
"""
ACS = """
select
    case when income > $over then 'yes' else 'no' end as high_income, income,
    case SEX when '1' then 'Male' when '2' then 'Female' end as sex,
    case RAC1P::integer
        when 1 then 'White' when 2 then 'Black' when 3 then 'American Indian' when 4 then 'Alaska Native'
        when 5 then 'American Indian or Alaska Native' when 6 then 'Asian'
        when 7 then 'Native Hawaiian or Pacific Islander' when 8 then 'Some other race' when 9 then 'Two or more races'
    end as race,
    AGEP::integer as age, WKHP::double as hours_per_week, SCHL as schooling, OCCP as occupation,
    COW as class_of_worker, PWGTP::double as weight
from (select *, PINCP::double * coalesce(ADJINC::double / 1e6, 1) as income from extract)
where AGEP::integer > 16 and PINCP::double > 100 and WKHP::double > 0 and PWGTP::double >= 1
"""
HMDA_COLUMNS = (
    "action_taken", "derived_ethnicity", "derived_race", "derived_sex", "applicant_age", "loan_amount", "income",
    "interest_rate", "rate_spread", "property_value",
)  # fmt: skip
ACS_COLUMNS = ("AGEP", "SEX", "RAC1P", "PINCP", "WKHP", "SCHL", "OCCP", "COW", "PWGTP", "ADJINC")


def load_hmda(path: str | os.PathLike[str]) -> Any:
    """Applications for home loans that were decided, from a CSV extract of the HMDA data (2018 and later).

    Parameters
    ----------
    path : str or path
        A CSV file as the agencies' data browser gives it.

    Returns
    -------
    pyarrow.Table
        One row per application that was approved (originated, or not accepted by the applicant) or denied: `approved`
        (yes, no), the derived ethnicity, race and sex, the age, and the loan's numbers, "NA" and "Exempt" as missing.
        Withdrawn and incomplete applications, purchased loans and pre-approvals are left out: nobody decided on them.
    """
    return _read_extract("load_hmda", path, HMDA_COLUMNS, HMDA, {})


def load_acs(path: str | os.PathLike[str], *, income_over: float = 50_000.0) -> Any:
    """Working adults of the American Community Survey, from a CSV file of its public use microdata (persons).

    Parameters
    ----------
    path : str or path
        A CSV file psam_p….csv of the census bureau.
    income_over : float
        What `high_income` asks of the income, in dollars after the file's own adjustment (ADJINC).

    Returns
    -------
    pyarrow.Table
        People of 17 and over with an income above 100 dollars and an hour of work a week at least (the rows of
        ACSIncome; Ding, Hardt, Miller and Schmidt, 2021): `high_income` (yes, no), `income`, `sex`, `race`, `age`,
        `hours_per_week`, `schooling`, `occupation`, `class_of_worker`, and the survey's `weight`.
    """
    return _read_extract("load_acs", path, ACS_COLUMNS, ACS, {"over": float(income_over)})


def _read_extract(
    who: str, path: str | os.PathLike[str], names: tuple[str, ...], query: str, values: dict[str, float]
) -> Any:
    """The answer of the query to the extract's columns, which are read as texts."""
    import duckdb

    if not Path(path).is_file():
        raise InputError(who, Fault("path", "must be a CSV file that exists", got=str(path)))
    subject = repr(Path(path).name)
    with duckdb.connect() as connection:
        try:
            file = connection.read_csv(
                str(path), header=True, all_varchar=True, na_values=["NA", "Exempt", ""]
            )
            lacking = [name for name in names if name not in file.columns]
            if lacking:
                required = f"lacks the columns {', '.join(lacking)}, which such an extract has"
                raise InputError(
                    who,
                    Fault(
                        "path",
                        required,
                        subject=subject,
                        cure="Give the file as it is downloaded from its source",
                    ),
                )
            file.create_view("extract")
            return connection.sql(query, params=values or None).to_arrow_table()
        except duckdb.Error as error:
            required = f"cannot be read: {str(error).splitlines()[0]}"
            raise InputError(
                who,
                Fault(
                    "path",
                    required,
                    subject=subject,
                    cure="give the file as it is downloaded from its source",
                ),
            ) from None
