"""Properties that every method has, one table: _method.py says how each is called and where one cannot hold."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairtrial import Result, read_result
from inside.methods import declared_methods
from inside.results import scalar
from properties.methods import CASES, WITHOUT_DATA, people

pytestmark = pytest.mark.slow
PROPERTIES = ["row order", "relabelling", "new order of labels", "duplication", "types of labels", "swap", "p-values",
              "round trip", "weights"]  # fmt: skip
RUNS: dict[tuple[str, str], Result] = {}


def run(method: str, frame: pd.DataFrame, name: str = "") -> Result:
    """The method's result; the plain one is computed once."""
    if (method, name) in RUNS:
        return RUNS[method, name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = CASES[method].run(frame)
    if name:
        RUNS[method, name] = result
    return result


def plain(method: str) -> Result:
    return run(method, people(), "plain")


def lines(
    result: Result, names: dict[str, str] | None = None, leave: tuple[str, ...] = ()
) -> dict[Any, dict[str, Any]]:
    """Numbers of each line by its texts, in which labels are replaced by their new names."""
    found: dict[Any, dict[str, Any]] = {}
    for row in result.to_dict()["estimates"]:
        texts, numbers = [], {}
        for column in result.columns:
            value = scalar(row.get(column.name))
            if column.name in leave:
                continue
            if isinstance(value, str):
                for old, new in (names or {}).items():
                    value = value.replace(old, new)
                texts.append((column.name, value))
            else:
                numbers[column.name] = value
        key = tuple(texts)
        while key in found:  # lines that differ in numbers only keep their order
            key = (*key, ("again", ""))
        found[key] = numbers
    return found


def assert_same(
    first: dict[Any, dict[str, Any]], second: dict[Any, dict[str, Any]], tolerance: float = 1e-7
) -> None:
    assert set(first) == set(second)
    for key, numbers in first.items():
        for name, value in numbers.items():
            other = second[key][name]
            if value is None or isinstance(value, bool):
                assert other is value, (key, name)
            else:
                assert other == pytest.approx(value, rel=tolerance, abs=tolerance), (key, name)


def test_no_method_was_forgotten():
    assert {name.split(" ")[0] for name in CASES} | WITHOUT_DATA == {
        one.kind for found in declared_methods().values() for one in (found.result, *found.also)
    }
    for case in CASES.values():
        assert set(case.not_for) <= set(PROPERTIES)


def methods(name: str) -> Any:
    """The methods that have the property: a table with exceptions, not skipped tests."""
    chosen = [method for method, case in CASES.items() if name not in case.not_for]
    return pytest.mark.parametrize("method", chosen)


@methods("row order")
def test_the_order_of_rows_does_not_matter(method):
    shuffled = people().sample(frac=1, random_state=5)
    assert_same(lines(plain(method)), lines(run(method, shuffled)))


@methods("relabelling")
def test_new_names_for_groups_change_only_the_names(method):
    names = {"Alpha": "Anna", "Beta": "Bert", "Gamma": "Gina"}
    renamed = people().assign(g=lambda frame: frame["g"].map(names))
    assert_same(lines(plain(method), names), lines(run(method, renamed)), 1e-9)


@methods("new order of labels")
def test_groups_may_come_in_another_order(method):
    """The first becomes the last; the second, which is the reference here, stays where it is."""
    names = {"Alpha": "Zeta", "Beta": "Mu", "Gamma": "Chi"}
    renamed = people().assign(g=lambda frame: frame["g"].map(names))
    leave = (*CASES[method].drawn, "rank")
    assert_same(lines(plain(method), names, leave), lines(run(method, renamed), None, leave), 1e-6)


@methods("duplication")
def test_every_row_twice_changes_only_the_certainty(method):
    twice = pd.concat([people(), people()], ignore_index=True)
    case = CASES[method]
    texts = ("metric", "group", "protected", "subgroup", "comparison")
    keys = [column.name for column in plain(method).columns if column.name in texts]

    def by_key(result):
        return {tuple(row[key] for key in keys): row for row in result.to_dict()["estimates"]}

    once, double = by_key(plain(method)), by_key(run(method, twice))
    assert set(once) == set(double)
    for key, row in once.items():
        other = double[key]
        assert other["n"] == 2 * row["n"]
        for name in case.points:
            if scalar(row.get(name)) is not None:
                assert scalar(other.get(name)) == pytest.approx(scalar(row.get(name)), abs=1e-9), (key, name)
        p, p_double = scalar(row.get("p_value")), scalar(other.get("p_value"))
        if p is not None and "p_value" not in case.drawn:
            assert p_double <= p + 1e-12, (key, "p_value")
        for name in [column.name for column in plain(method).columns if column.name.endswith("_low")]:
            high = name.removesuffix("low") + "high"
            if None not in (scalar(row.get(name)), scalar(row.get(high))):
                width, narrower = (scalar(r[high]) - scalar(r[name]) for r in (row, other))
                assert narrower < width, (key, name)


@methods("types of labels")
@pytest.mark.parametrize("kind", ["text", "boolean", "float"])
def test_text_and_numbers_are_the_same_labels(method, kind):
    numbered = people().assign(g=lambda frame: frame["g"].map({"Alpha": 1, "Beta": 2, "Gamma": 3}))
    cast = {
        "text": lambda column: column.astype(str), "boolean": lambda column: column.astype(bool),
        "float": lambda column: column.astype(float),
    }[kind]  # fmt: skip
    changed = numbered.assign(y=cast(numbered["y"]), d=cast(numbered["d"]))
    if kind != "boolean":
        changed["g"] = cast(numbered["g"])
    if method in ("compare", "improve"):
        changed["d2"] = cast(numbered["d2"]) if kind != "text" or method == "compare" else numbered["d2"]
    assert_same(lines(run(method, numbered, "numbered")), lines(run(method, changed)), 1e-9)


@methods("swap")
def test_swapping_two_groups_flips_the_sign(method):
    pair = people(("Alpha", "Beta"))
    swapped = pair.assign(g=pair["g"].map({"Alpha": "Beta", "Beta": "Alpha"}))
    gap = CASES[method].gap

    def gaps(result):
        rows = [row for row in result.to_dict()["estimates"] if row.get("part", "gap") == "gap"]
        return [row[gap] for row in rows if scalar(row[gap]) is not None]

    first, second = gaps(run(method, pair)), gaps(run(method, swapped))
    assert first
    assert np.abs(first).max() > 0.01
    assert second == pytest.approx([-value for value in first], abs=1e-9)


@methods("p-values")
def test_p_values_are_above_zero_and_at_most_one(method):
    result = plain(method)
    names = [column.name for column in result.columns if column.kind == "p"]
    found = [scalar(row.get(name)) for row in result.to_dict()["estimates"] for name in names]
    found += [item.p_value for item in result.primary()]
    known = [value for value in found if value is not None]
    assert known
    assert all(0 < value <= 1 for value in known)


@methods("p-values")
def test_the_strongest_evidence_is_still_above_zero(method):
    """Everyone of one group is selected and nobody of the others: p-values beyond the smallest float."""
    frame = pd.concat([people()] * 8, ignore_index=True)
    chosen = (frame["g"] == "Alpha").astype(int)
    frame = frame.assign(d=chosen, s=0.05 + 0.9 * chosen)
    result = run(method, frame)
    names = [column.name for column in result.columns if column.kind == "p"]
    found = [scalar(row.get(name)) for row in result.to_dict()["estimates"] for name in names]
    found += [item.p_value for item in result.primary()]
    assert all(0 < value <= 1 for value in found if value is not None)


@methods("round trip")
def test_results_go_through_json(method):
    result = plain(method)
    again = read_result(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
    assert again.to_dict() == result.to_dict()
    assert again.summary() == result.summary()
    assert again.reading() == result.reading()
    assert again.plot().to_dict() == result.plot().to_dict()
    names = [column.name for column in result.columns]
    assert all(set(row) <= set(names) for row in result.to_dict()["estimates"]), (
        "no column that is not declared; those of another scale are there when it is asked for"
    )
    assert list(again.to_frame(backend="pyarrow", all=True).column_names) == names


@methods("weights")
def test_weights_and_units_are_honoured_or_refused(method):
    """Never passed over: measure, certify and flag honour weights, the others refuse them by name."""
    from fairtrial import Audit
    from inside.ground import NotApplicable

    original = Audit.__init__

    def weighted(self, data, **arguments):
        original(self, data, **arguments, weight="w")

    frame = people()
    frame["w"] = np.linspace(0.5, 1.5, len(frame))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Audit, "__init__", weighted)
        if method in ("measure", "certify", "flag"):
            assert any(note.code == "effective-counts" for note in run(method, frame).notes)
        else:
            with pytest.raises(NotApplicable, match="'weight' is not honoured by"):
                run(method, frame)


ROLES = {"weight": "w", "unit": "u", "pair": "u", "unlabelled": "bounds"}


REFUSED = [
    (method, role)
    for method, found in declared_methods().items()
    for role in ROLES
    if found.takes_audit and role not in found.evidence
]


@pytest.mark.parametrize(("method", "role"), REFUSED)
def test_what_a_method_does_not_honour_it_refuses_with_the_reason(method, role):
    from fairtrial import Audit
    from inside.ground import NotApplicable

    original = Audit.__init__

    def carrying(self, data, **arguments):
        original(self, data, **arguments, **{role: ROLES[role]})

    frame = people().assign(w=1.5, u=range(len(people())))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Audit, "__init__", carrying)
        with pytest.raises(
            NotApplicable, match=f"'{role}' is not honoured by {method}, because .*; measure does"
        ):
            run(method, frame)
