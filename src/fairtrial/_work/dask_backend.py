"""joblib's Dask backend, which also tells when Dask gives a batch up.

Dask gives up a batch that several workers died of. joblib's backend then keeps the error to itself, and its loop waits
for that batch for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from joblib._dask import DaskDistributedBackend


class TellingBackend(DaskDistributedBackend):  # type: ignore[misc]
    """The loop that waits for a batch hears of its end, whatever it is."""

    def submit(self, func: Any, callback: Callable[[Any], None] | None = None) -> Any:
        """Start a batch; what a batch itself raises comes as its result and is told by joblib."""
        future = super().submit(func, callback)
        if callback is not None:
            future.add_done_callback(partial(_tell, callback))
        return future


def _tell(callback: Callable[[Any], None], future: Any) -> None:
    error = None if future.cancelled() else future.exception()
    if error is not None:
        callback(error)
