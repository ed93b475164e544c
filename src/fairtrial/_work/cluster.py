"""Long loops on a Dask cluster, through joblib's own backend: this machine's processes, or a scheduler's address."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from joblib._dask import DaskDistributedBackend

from fairtrial._errors import Fault, InputError
from fairtrial._work.extras import installing, packages

HERE = "dask"
STARTS = 20  # on a busy machine, five were killed one after the other


@contextlib.contextmanager
def cluster(who: str, parallel: str | None, jobs: int) -> Iterator[int]:
    """Within it every parallel loop runs on the cluster; gives how many batches are worked on at once.

    `parallel` is None (this process's own workers), 'dask' (a cluster made here, of `jobs` processes) or the address
    of a scheduler, such as tcp://10.0.0.5:8786, whose threads are all used.
    """
    if parallel is None:
        yield jobs
        return
    if importlib.util.find_spec("distributed") is None:
        raise InputError(who, Fault("parallel", "needs Dask", cure=installing(packages("dask"))))
    from distributed import Client
    from joblib import parallel_config

    with contextlib.ExitStack() as opened:
        if parallel == HERE:
            made = _made_here(jobs)
            opened.callback(_close, made)
            parallel = str(made.scheduler_address)
        client = _client(who, Client, parallel)
        opened.callback(_close, client)
        opened.enter_context(parallel_config(backend=TellingBackend(client=client)))
        yield max(jobs, sum(client.nthreads().values()))


def _close(opened: Any) -> None:
    """The work is done: a worker that does not end in time must cost no answer."""
    with contextlib.suppress(Exception):
        opened.close()


def _made_here(jobs: int) -> Any:
    """A cluster of this machine's processes; one of them that is killed while it starts ends the first tries only."""
    from distributed import LocalCluster

    for left in reversed(range(STARTS)):
        try:
            return LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=None)
        except Exception:  # which one depends on how far the process was
            if not left:
                raise
    raise AssertionError("a cluster was made or its fault was raised")


def _client(who: str, make: Any, address: str) -> Any:
    try:
        return make(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        required = f"names no scheduler that answers: {type(error).__name__}"
        cure = "Start one with 'dask scheduler', or use 'dask' for a cluster on this machine"
        raise InputError(who, Fault("parallel", required, got=address, cure=cure)) from None


# -- joblib's Dask backend, which also tells when Dask gives a batch up.
# Dask gives up a batch that several workers died of. joblib's backend then keeps the error to itself, and
# its loop waits for that batch for ever.
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
