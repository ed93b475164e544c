"""One correction over the whole trial, and the verdict that follows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from fairtrial import Audit, Result, flag, measure
from inside.methods import find_method
from inside.results import Primary, Verdict
from inside.trial import Naming, conclude, correct, holm_once, make_ledger, not_asked, single_tests


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answered(Result):
    """A result with given p-values; `kind` says which question it stands for."""

    p_values: tuple[float, ...] = ()

    def primary(self) -> list[Primary]:
        return [
            Primary(
                "false positive rate", f"group {i}", p, effect=0.1 + i, kind="points", against="everyone else"
            )
            for i, p in enumerate(self.p_values)
        ]


def answered(kind: str, *p_values: float, code: str = "none-shown") -> Result:
    result_class = type("Answer", (Answered,), {"kind": kind, "__annotations__": {"kind": ClassVar[str]}})
    result: Result = result_class(
        question="?", null="", verdict=Verdict(code, f"{code}: said"), estimates=(), p_values=p_values
    )
    return result


def verdict_of(*results: Result, unanswered: int = 0) -> Verdict:
    named = [(str(i), result) for i, result in enumerate(results)]
    entries = correct(named, 0.05)
    lines = make_ledger(named, [entry.to_dict() for entry in entries], {}, 0.05)
    return conclude(lines, entries, named, unanswered)


def test_holm_over_all_questions_at_once() -> None:
    random = np.random.default_rng(5)
    parts = [random.uniform(size=7) ** 3, random.uniform(size=4) ** 5]
    entries = correct([("a", answered("measure", *parts[0])), ("b", answered("flag", *parts[1]))], 0.05)
    together = np.concatenate(parts)
    expected = multipletests(together, alpha=0.05, method="holm")[1]
    found = {entry.p_value: entry.adjusted for entry in entries}
    assert [found[p] for p in together] == pytest.approx(list(expected), abs=1e-12)
    assert [entry.p_value for entry in entries] == sorted(together)
    assert all(entry.significant == (entry.adjusted <= 0.05) for entry in entries)


def test_certifications_are_outside_the_family() -> None:
    entries = correct([("a", answered("certify", 1e-9)), ("b", answered("measure", 0.04))], 0.05)
    assert [entry.adjusted for entry in entries] == [0.04]


def test_a_disparity_must_survive_the_correction() -> None:
    assert verdict_of(answered("measure", 0.04)).code == "violated"
    assert verdict_of(answered("measure", 0.04, 0.5)).code == "undetermined"
    text = verdict_of(answered("measure", 0.001, 0.9)).text
    assert "A difference is shown in 1 of 2 comparisons" in text
    assert "the false positive rate of group 0 is 10 points above everyone else" in text


def test_nothing_significant_is_not_fairness() -> None:
    verdict = verdict_of(answered("measure", 0.5), answered("flag", 0.2))
    assert verdict.code == "undetermined"
    assert "not evidence of fairness" in verdict.text


def test_certified_needs_every_certification_and_no_disparity() -> None:
    certified, refused = answered("certify", code="certified"), answered("certify", code="violated")
    assert verdict_of(certified).code == "certified"
    assert verdict_of(certified, answered("measure", 0.5)).code == "certified"
    assert verdict_of(certified, answered("measure", 1e-6)).code == "violated"
    assert verdict_of(certified, answered("certify", code="undetermined")).code == "undetermined"
    assert verdict_of(certified, unanswered=1).code == "undetermined"
    assert verdict_of(refused).code == "violated"
    assert verdict_of(refused, answered("measure", 0.5)).code == "undetermined"
    assert "1 of 1 certification found a violation" in verdict_of(refused, answered("measure", 0.5)).text


def test_drivers_and_alternatives_are_findings_but_no_disparity() -> None:
    verdict = verdict_of(answered("improve", 1e-6), answered("explain", 1e-6))
    assert verdict.code == "undetermined"
    assert "less discriminatory alternative" in verdict.text


def test_unanswered_questions_are_told() -> None:
    assert "2 questions could not be answered" in verdict_of(answered("measure", 0.5), unanswered=2).text
    assert verdict_of(unanswered=1).code == "undetermined"


def test_several_equalities_at_once_are_not_said_as_one_rate() -> None:
    one = Primary("odds", "A", 1e-9, 0.3, 0.2, 0.4, "points", "B", of_many=True)
    other = Primary("fpr", "A", 1e-6, 0.1, 0.05, 0.15, "points", "B")
    verdict = verdict_of(Told(answered("measure"), [one, other]))  # type: ignore[arg-type]
    assert "The clearest: the fpr of A is 10 points above B (5.0 to 15.0)." in verdict.text


class Told:
    """A result that tells these primary p-values."""

    def __init__(self, result: Result, told: list[Primary]) -> None:
        self.result, self.told = result, told

    def primary(self) -> list[Primary]:
        return self.told

    def __getattr__(self, name: str) -> object:
        return getattr(self.result, name)


# verdict codes that a reader must see in red or green; every other one is open
TONES = {
    ("measure", "violated"): "bad",
    ("certify", "violated"): "bad",
    ("certify", "certified"): "good",
    ("flag", "flagged"): "bad",
    ("scan", "found"): "bad",
    ("transport", "violated"): "bad",
    ("explain", "violated"): "bad",
    ("improve", "alternative-exists"): "bad",
    ("transport", "none-shown"): "open",
    ("scan", "not-shown"): "open",
    ("measure", "not-tested"): "open",
    ("certify", "undetermined"): "open",
    ("explain", "no violation shown"): "open",
}


@pytest.mark.parametrize(("name", "code"), TONES)
def test_tones_of_verdicts(name: str, code: str) -> None:
    kind = find_method(name).result
    assert kind(question="?", null="", verdict=Verdict(code, "said"), estimates=()).tone == TONES[name, code]


def test_what_was_not_asked() -> None:
    asked = ["measure", "certify", "flag", "transport", "explain", "improve"]
    assert not_asked(asked) == ["Which unknown subgroups are harmed?", "Does it stay fair?"]
    assert not_asked([*asked, "scan", "watch"]) == []


def test_equal_p_values_of_one_comparison_are_one_test() -> None:
    """Two questions of the same gap and its mirror image: Holm over the distinct tests, checked with statsmodels."""
    p = [0.01, 0.02, 0.03, 0.01, 0.02]
    once = holm_once(p, [0, 1, 2, 0, 3])
    expected = multipletests([0.01, 0.02, 0.03, 0.02], alpha=0.05, method="holm")[1]
    assert once == pytest.approx([*expected[:3], expected[0], expected[3]], abs=1e-12)
    assert holm_once(p, [None] * 5) == pytest.approx(
        list(multipletests(p, alpha=0.05, method="holm")[1]), abs=1e-12
    )


@pytest.mark.parametrize(
    ("p", "numbers", "tests", "adjusted"),
    [
        # the two sides of a question and each direction of another: one test, by its two-sided p-value
        ([0.02, 0.02, 0.01, 1.0], [0, 0, 0, 0], 1, [0.02, 0.02, 0.02, 1.0]),
        # both directions and nothing of the two together: the smaller counts double
        ([0.01, 1.0], [0, 0], 1, [0.02, 1.0]),
        ([1.0, 0.01], [0, 0], 1, [1.0, 0.02]),
        # one direction alone is a test of its own, and so is a test of another hypothesis
        ([0.01], [0], 1, [0.01]),
        ([0.02, 0.5], [0, 0], 2, [0.04, 0.5]),
        ([0.02, 0.01, 0.03, 0.015], [0, 0, 1, 1], 2, [0.04, 0.04, 0.04, 0.04]),
        # what is of no comparison stands alone
        ([0.02, 0.01], [None, None], 2, [0.02, 0.02]),
    ],
)
def test_a_comparison_is_one_test_whatever_side_it_is_asked_from(
    p: list[float], numbers: list[int | None], tests: int, adjusted: list[float]
) -> None:
    assert len(set(single_tests(p, numbers))) == tests
    assert holm_once(p, numbers) == pytest.approx(adjusted, abs=1e-15)


def test_every_question_of_one_gap_is_one_test_of_the_trial() -> None:
    """Measured, flagged from the harmed side and in both directions: the p-value of the comparison alone."""
    data = {"sex": ["f"] * 40 + ["m"] * 40, "hired": [1] * 10 + [0] * 30 + [1] * 20 + [0] * 20}
    audit = Audit(data, decision="hired", groups=["sex"], favourable=1)
    asked = [
        ("measure", measure(audit, "selection_rate")),
        ("harmed", flag(audit, "selection_rate", direction="harmed")),
        ("differs", flag(audit, "selection_rate", direction="differs")),
    ]
    p = float(asked[0][1].estimates[0]["p_value"])
    entries = correct(asked, 0.05, naming=Naming({"sex": ["f", "m"]}))
    assert len(entries) == 6
    assert sum(not entry.twin for entry in entries) == 1
    assert {entry.test_p for entry in entries} == {p}
    assert {entry.adjusted for entry in entries} == {p, 1.0}
