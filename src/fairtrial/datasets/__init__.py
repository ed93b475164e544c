"""Small real datasets to audit, bundled with the package; README.md beside this file has their provenance."""

from __future__ import annotations

from importlib.resources import as_file, files
from importlib.util import find_spec
from typing import Any, Literal, get_args

from fairtrial._errors import MissingExtra, check_choice
from fairtrial.datasets.extracts import load_acs, load_hmda

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
