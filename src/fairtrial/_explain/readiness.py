"""Whether what the caller brought can be asked as it is, or has to be fitted here."""

from __future__ import annotations

from typing import Any


def is_ready(model: Any) -> bool:
    """Whether the caller brought a system that needs no fitting."""
    if model is None or isinstance(model, str | type):
        return False
    return is_fitted(model) if hasattr(model, "get_params") else callable(getattr(model, "predict", model))


def is_fitted(model: Any) -> bool:
    """Whether the caller brought a fitted model."""
    if model is None or isinstance(model, str):
        return False
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True
