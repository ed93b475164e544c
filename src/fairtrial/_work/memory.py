"""What a call needs of memory is estimated before it starts; more than there is, is a fault and no crash."""

from __future__ import annotations

import os
from pathlib import Path

from fairtrial._errors import Fault, InputError

VARIABLE = "FAIRTRIAL_MEMORY_GB"
SHARE = 0.9  # of what is free: an estimate is none to the byte
GIGABYTE = 1e9


def check_memory(who: str, needed: float, what: str) -> None:
    """Refuse work that would need more memory than there is."""
    free = free_memory()
    if free is None or needed <= free:
        return
    cure = f"take a sample of the rows or fewer columns; the environment's {VARIABLE} sets another limit"
    required = f"would need about {_shown(needed)} of memory for {what}, and {_shown(free)} may be used"
    raise InputError(who, Fault("", f"this {required}", cure=cure))


def free_memory() -> float | None:
    """Bytes that a call may use: what the environment says, else a share of what is free; None where nobody knows."""
    said = os.environ.get(VARIABLE, "")
    if said:
        try:
            return float(said) * GIGABYTE
        except ValueError:
            raise InputError(VARIABLE, Fault("", "must be a number of gigabytes", got=said)) from None
    found = [amount for amount in (_of_machine(), _of_container(), _of_process()) if amount is not None]
    return SHARE * min(found) if found else None


def _of_machine() -> float | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _of_container() -> float | None:
    """What a control group leaves."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit, used = (
            int((folder / name).read_text(encoding="ascii")) for name in ("memory.max", "memory.current")
        )
    except (OSError, ValueError):  # "max": no limit
        return None
    return float(max(limit - used, 0))


def _of_process() -> float | None:
    """What `ulimit -v` and `ulimit -d` leave."""
    try:
        import resource

        pages = [int(part) for part in Path("/proc/self/statm").read_text(encoding="ascii").split()]
    except (ImportError, OSError):
        return None
    left = []
    for kind, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
        limit = resource.getrlimit(kind)[0]
        if limit != resource.RLIM_INFINITY:
            left.append(float(max(limit - used * resource.getpagesize(), 0)))
    return min(left, default=None)


LEAST = {"RLIMIT_DATA": 4e8, "RLIMIT_AS": 2e9}  # what the programs that do the work take themselves


def check_limits(who: str) -> None:
    """Refuse to start where the process's own limits are too small: linear algebra loops without end there."""
    try:
        import resource
    except ImportError:
        return
    for name, least in LEAST.items():
        limit = resource.getrlimit(getattr(resource, name))[0]
        if limit != resource.RLIM_INFINITY and limit < least:
            way = "ulimit -d" if name == "RLIMIT_DATA" else "ulimit -v"
            required = f"may use {_shown(limit)} of memory here ({way}), and needs at least {_shown(least)}"
            raise InputError(who, Fault("", f"this {required}", cure="Raise that limit"))


def limit_memory(size: int) -> None:
    """Let this process and its children write to so many bytes each; 0 is no limit.

    Not of addresses: what draws charts reserves terabytes of them that it never writes to, and would die.
    """
    import resource

    if size:
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def _shown(amount: float) -> str:
    return f"{amount / GIGABYTE:,.1f} GB" if amount >= 1e8 else f"{amount / 1e6:,.1f} MB"
