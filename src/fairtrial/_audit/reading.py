"""The keys of a query's answer as arrays; what the values of the data have against being read so is a fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial._audit.cells import Coded, Floats, Hashes, Ints
from fairtrial._audit.roles import OTHER, Roles, label_number
from fairtrial._audit.schema import cut_into_bins
from fairtrial._errors import Fault, Faults, Set, Words
from fairtrial._labels import INFINITE, MISSING, canonical, is_missing

MAX_LEVELS = 1000
SCORE_BIN = "role.score_bin"  # where the score's bins are kept, apart from any column of that name
NOT_FINITE = "has infinite values; remove or cap them"
TOO_LARGE = "has infinite values, or some too large to square; remove or cap them"
# Beyond these the powers that intervals need leave the range of numbers.
SMALLEST, LARGEST = 1e-60, 1e60


def read_ints(column: Any) -> Ints:
    """Counts, zero where there is none."""
    values: NDArray[Any] = np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False))
    return values.astype(np.int64)


def read_hashes(column: Any) -> Hashes:
    """Sums of hashes, of any size, as their last 64 bits."""
    return np.array([int(value or 0) % 2**64 for value in column.to_pylist()], dtype=np.uint64)


def read_floats(column: Any) -> Floats:
    """Numbers, NaN where there is none."""
    import pyarrow as pa

    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def read_numbers(
    roles: Roles, name: str, column: Any, n: Ints, faults: Faults, partial: bool = False
) -> Floats:
    """A role as a number of every line; `partial` lines may lack it."""
    numbers = read_floats(column)
    missing = int(n[np.isnan(numbers)].sum())
    if missing and not partial:
        faults.add(roles.missing_fault(missing, name))
    if np.isinf(numbers).any():
        faults.add(roles.fault([name], f"has {int(n[np.isinf(numbers)].sum())} infinite values"))
    return numbers


def size_faults(
    roles: Roles, names: Iterable[str], low: Floats, high: Floats, made: bool = False
) -> Iterator[Fault]:
    """What is wrong with the size of real values, of which each line has the smallest and the largest.

    They may be `made` of the roles that are named: then an infinite one need not stand in the data.
    """
    sizes = np.abs(np.concatenate([low, high]))
    largest = float(sizes[~np.isnan(sizes)].max(initial=0.0))
    if np.isinf(largest):
        yield roles.fault(names, TOO_LARGE if made else NOT_FINITE)
    elif largest > LARGEST or 0 < largest < SMALLEST:
        required = f"must have its largest value between {SMALLEST:g} and {LARGEST:g}, got {largest:.4g}"
        yield roles.fault(names, required, "count in other units")


def read_role(roles: Roles, name: str, column: Any, n: Ints, faults: Faults, partial: bool = False) -> Floats:
    """A binary role's key as 0 and 1; anything else is a fault or makes the outcome real-valued."""
    if str(column.type).startswith("dictionary"):
        column = column.dictionary_decode()
    if str(column.type).endswith("string"):
        values = roles.text_role(name, column, faults)
        told = (
            {canonical(value) for value in column.unique().to_pylist()} if name in roles.positive else set()
        )
    else:
        numbers = np.asarray(column.to_numpy(zero_copy_only=False), dtype=float)
        values, told = _number_role(roles, name, numbers)
    missing = int(n[np.isnan(values)].sum())
    if missing and not partial:
        faults.add(roles.missing_fault(missing, name))
    fault = _role_fault(roles, name, values, n, told)
    if fault is not None:
        faults.add(fault)
    elif name == "outcome":
        roles.found_real_outcome = bool((values == OTHER).any())
    if name == "decision":
        decided = np.unique(values[~np.isnan(values)])
        if decided.size == 1 and decided[0] in (0.0, 1.0):
            roles.constant_decision = int(decided[0])
    return values


def _number_role(roles: Roles, name: str, values: Floats) -> tuple[Floats, set[str]]:
    """A role's numbers as 0, 1 and OTHER, and which labels that count as 1 were among them."""
    if name == "decision" and roles.decision is None:
        return values, set()
    labels = roles.counted(name)
    if labels and roles.kind(str(getattr(roles, name))) == "float":  # the query tells which label it is
        told = {label for place, label in enumerate(labels, start=1) if (values == place).any()}
        return np.where(np.isnan(values), np.nan, values > 0), told
    if labels:
        told = {label for label in labels if (values == label_number(label)).any()}
        counted = np.isin(values, [label_number(label) for label in labels])
        return np.where(np.isnan(values), np.nan, counted), told
    return np.where(np.isnan(values) | (values == 0) | (values == 1), values, OTHER), set()


def _role_fault(roles: Roles, name: str, values: Floats, n: Ints, told: set[str]) -> Fault | None:
    if name in roles.positive:
        absent = [label for label in roles.counted(name) if label not in told]
        if not absent:
            return None
        listed = " and ".join(repr(label) for label in absent)
        do = f"label {listed} does" if len(absent) == 1 else f"labels {listed} do"
        return Fault(
            "positive",
            f"{do} not occur in {roles.subject(name)}",
            cure="name labels that do, spelt as in the data",
        )
    if name != "decision" or not (values == OTHER).any():
        return None
    if roles.decision is None:
        return roles.fault(["score"], f"has {int(n[values == OTHER].sum()):,} infinite values")
    cure = Words("say which counts with {}, or make it a score with a threshold", Set("positive", of="Audit"))
    return roles.fault(["decision"], "holds numbers other than 0 and 1", cure)


def read_labels(
    roles: Roles, name: str, column: Any, n: Ints, faults: Faults, partial: bool = False
) -> Coded:
    """Raw labels as canonical text, sorted; missing and colliding labels are faults."""
    encoded = column.dictionary_encode()
    try:
        raw = encoded.dictionary.to_pylist()
    except UnicodeDecodeError:
        cure = "read it in the encoding that it was written in"
        faults.add(_label_fault(roles, name, "holds text that is not UTF-8", cure))
        faults.raise_any()
        raise
    positions = np.asarray(encoded.indices.fill_null(len(raw)), dtype=np.int64)
    texts = [*map(canonical, raw), MISSING]
    _check_collisions(roles, name, raw, texts, faults)
    if name in roles.joined:
        texts = [roles.joined[name].get(text, text) for text in texts]
    used = roles.in_order(name, {texts[i] for i in np.unique(positions)})
    roles.note_alike(name, used)
    code_of = {label: i for i, label in enumerate(used)}
    lookup = np.array([code_of.get(text, -1) for text in texts], dtype=np.int32)
    codes = lookup[positions]
    missing = int(n[codes == code_of[MISSING]].sum()) if MISSING in code_of else 0
    if missing and not partial and (roles.missing != "category" or name == SCORE_BIN):
        faults.add(roles.missing_fault(missing, "score" if name == SCORE_BIN else f"column {name}"))
    if len(used) > MAX_LEVELS:
        faults.add(_levels_fault(roles, name, len(used)))
    return Coded(codes, tuple(used))


def _levels_fault(roles: Roles, name: str, levels: int) -> Fault:
    cure: str | Words = cut_into_bins(name)
    if roles.kind(name) not in ("int", "float"):
        cure = "join them into fewer; a column of names, dates or identifiers is no group"
    return _label_fault(roles, name, f"has {levels:,} levels, more than {MAX_LEVELS:,}", cure)


def read_persons(role: str, name: str, column: Any, faults: Faults) -> Coded:
    """Persons as integers; their names are not kept."""
    encoded = column.dictionary_encode()
    codes = np.asarray(encoded.indices.fill_null(-1), dtype=np.int32)
    nobody = [i for i, person in enumerate(encoded.dictionary.to_pylist()) if is_missing(person)]
    missing = int(np.isin(codes, [-1, *nobody]).sum())
    if missing:
        required = f"is missing in {missing:,} rows"
        subject = f"{name!r} ({role})"
        faults.add(Fault(role, required, subject=subject, cure="every row needs its person"))
    return Coded(codes, ())


def _check_collisions(roles: Roles, name: str, raw: list[Any], texts: list[str], faults: Faults) -> None:
    seen: dict[str, Any] = {}
    for value, text in sorted(zip(raw, texts, strict=False), key=lambda pair: str(pair[0])):
        if is_missing(value):
            continue
        if text == MISSING:
            required = f"has the label {MISSING!r}, which stands for missing values here; rename it"
            faults.add(_label_fault(roles, name, required))
        elif value in (INFINITE, float("inf"), float("-inf")):
            faults.add(_label_fault(roles, name, NOT_FINITE))
        elif text in seen and seen[text] != value and not _are_zero(seen[text], value):
            required = f"has the labels {seen[text]!r} and {value!r}, which are one label here; make them one"
            faults.add(_label_fault(roles, name, required))
        seen[text] = value


def _are_zero(one: Any, other: Any) -> bool:
    """Zero with and without its sign is one label, as a text as well."""
    return canonical(one) == "0" and str(one).lstrip("-") == str(other).lstrip("-")


def _label_fault(roles: Roles, name: str, required: str, cure: str | Words = "") -> Fault:
    return roles.fault([f"column {name}"], required, cure)
