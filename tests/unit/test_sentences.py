"""Every sentence template of gaps, verdicts and claims with extreme values, each written out and read as English.

A template that is not here is not finished: the last test lists the functions of the words' file.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.english import reads

import fairtrial as ft
from fairtrial import METRICS
from inside.data import LeftOut
from inside.flag import flag_answer as flag_words
from inside.gaps import SelectiveLabels, left_out_text, words
from inside.results import format_value, interval_text, place_words, target_words

INF, NAN = float("inf"), float("nan")


# -- numbers and their units ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0, "points", "0.0"), (-0.0, "points", "0.0"), (-1e-9, "points", "0.0"), (1.0, "points", "100.0"),
        (-1.0, "points", "-100.0"), (0.05, "points", "5.0"), (0.0, "number", "0"), (-0.0, "number", "0"),
        (1.0, "number", "1"), (1234567.8, "number", "1,234,568"), (1e-7, "number", "1e-07"), (0.8, "ratio", "0.80"),
        (-0.0, "ratio", "0.00"), (1e6, "ratio", "1000000.00"),
    ],
)  # fmt: skip
def test_numbers(value: float, unit: words.Unit, text: str) -> None:
    assert words.number_words(value, unit) == text


def test_units() -> None:
    assert [words.unit_of(True), words.unit_of(False), words.unit_of(True, "ratio")] == [
        "points",
        "number",
        "ratio",
    ]


@pytest.mark.parametrize(
    ("band", "binary", "text"),
    [
        ((-0.05, 0.05), True, "5.0 points"), ((-0.0, 0.0), True, "0.0 points"), ((0.0, 0.0), False, "0"),
        ((-1.0, 0.05), True, "[-100.0 points, 5.0 points]"), ((-0.0, 0.1), True, "[0.0 points, 10.0 points]"),
        ((-2.0, 2.0), False, "2"), ((-5000.0, 5000.0), False, "5,000"),
    ],
)  # fmt: skip
def test_tolerances(band: tuple[float, float], binary: bool, text: str) -> None:
    assert reads(words.band_words(band, binary)) == text


def test_disparities() -> None:
    assert reads(words.disparity_words(-0.0, True)) == "0.0 points"
    assert reads(words.disparity_words(1.0, True)) == "100.0 points"
    assert reads(words.disparity_words(1e9, False)) == "1,000,000,000"


def test_groups_by_name() -> None:
    assert words.groups_words(["a"]) == "a"
    assert words.groups_words(["a", "b"]) == "a and b"
    assert words.groups_words(["a", "b", "c"]) == "a, b and c"
    assert words.groups_words([str(i) for i in range(1000)]) == "0, 1, 2, 3 and 996 more"


# -- where a rate lies ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("gap", "unit", "text"),
    [
        (0.2139, "points", "21.4 points above B"), (-0.2139, "points", "21.4 points below B"),
        (0.0, "points", "the same as that of B"), (-0.0, "points", "the same as that of B"),
        (1e-6, "points", "hardly different from that of B"), (1.0, "points", "100.0 points above B"),
        (-1.0, "points", "100.0 points below B"), (2.5, "number", "2.5 above B"),
        (-1e9, "number", "1,000,000,000 below B"),
        (0.0, "number", "the same as that of B"), (0.4, "ratio", "0.40 times that of B"),
        (1.0, "ratio", "1.00 times that of B"), (0.0, "ratio", "0.00 times that of B"),
    ],
)  # fmt: skip
def test_places(gap: float, unit: words.Unit, text: str) -> None:
    assert reads(words.place_words(gap, "B", unit)) == text


@pytest.mark.parametrize(
    ("numbers", "unit", "effect", "text"),
    [
        ((0.214, 0.182, 0.245), "points", "", "rate of A is 21.4 points above B, 95% interval 18.2 to 24.5"),
        (
            (-0.2, -0.231, -0.17),
            "points",
            "harmed",
            "rate of A is 20.0 points below B (harmed), 95% interval 17.0 to 23.1",
        ),
        ((-0.2, -0.4, -0.0), "points", "", "rate of A is 20.0 points below B, 95% interval 0.0 to 40.0"),
        ((0.0, -0.01, 0.01), "points", "", "rate of A is the same as that of B, 95% interval -1.0 to 1.0"),
        ((3.0, -INF, INF), "number", "", "rate of A is 3 above B, 95% interval no limit to no limit"),
        (
            (3.0, NAN, 4.0),
            "number",
            "favoured",
            "rate of A is 3 above B (favoured), 95% interval no limit to 4",
        ),
        (
            (0.4, 0.2, 0.8),
            "ratio",
            "harmed",
            "rate of A is 0.40 times that of B (harmed), 95% interval 0.20 to 0.80",
        ),
    ],
)
def test_sentences(numbers: tuple[float, float, float], unit: words.Unit, effect: str, text: str) -> None:
    assert reads(words.sentence("rate", "A", "B", *numbers, 0.95, unit, effect)) == text


# -- flag's questions and nulls ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("direction", "band", "text"),
    [
        ("above", (0.0, 0.0), "above that of"), ("below", (-0.0, 0.0), "below that of"),
        ("above", (-0.05, 0.05), "more than 5.0 points above"), ("below", (-0.05, 0.05), "more than 5.0 points below"),
        ("below", (0.02, 0.05), "less than 2.0 points above"), ("above", (-0.05, -0.02), "less than 2.0 points below"),
        ("outside", (0.0, 0.0), "different from that of"),
        ("outside", (-1.0, 0.05), "outside [-100.0 points, 5.0 points] of"),
        ("outside", (-0.05, 0.05), "more than 5.0 points from"), ("differs", (0.0, 0.0), "different from that of"),
        ("differs", (0.05, 0.05), "other than 5.0 points above"),
        ("differs", (-0.05, -0.05), "other than 5.0 points below"),
    ],
)  # fmt: skip
def test_flags(direction: str, band: tuple[float, float], text: str) -> None:
    assert reads(flag_words._beyond(direction, band, True)) == text
    frame = pd.DataFrame({"g": ["a", "b"] * 40, "d": [0, 1, 1, 1] * 20})
    given: float | list[float] = band[1] if direction == "differs" else [band[0], band[1]]
    result = ft.flag(
        ft.Audit(frame, decision="d", groups="g"), "selection_rate", direction=direction, tolerance=given
    )
    reads(result.question)
    reads(result.null)


# -- what was left out, whose outcome is known ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("left_out", "text"),
    [
        (LeftOut(100, 0, 100, ("the outcome",)),
         "accuracy: 100 of 100 rows (100.0%) left out, 100 without the outcome"),
        (LeftOut(10**9, 12, 10**6, ("the decision", "the outcome")),
         "accuracy: 1,000,012 of 1,000,000,000 rows (0.1%) left out, 12 without a group and 1,000,000 without the "
         "decision or the outcome"),
        (LeftOut(100, 1, 0), "accuracy: fewer than 10 rows left out, fewer than 10 without a group"),
    ],
)  # fmt: skip
def test_left_out(left_out: LeftOut, text: str) -> None:
    assert reads(left_out_text(METRICS["accuracy"], left_out)) == text


def test_selective_labels() -> None:
    told = "the outcome is known for 100% of the people decided 1 and 0% of those decided 0"
    assert reads(SelectiveLabels((0.0, 1.0)).words) == told
    assert "0.0123% of those decided 0" in reads(SelectiveLabels((0.000123, 0.5)).words)


# -- claims and cells -------------------------------------------------------------------------------------------------
def test_claims() -> None:
    assert place_words([["race", "Black"]]) == "race: Black"
    assert [target_words(0.0), target_words(1), target_words("rest")] == ["0", "1", "everyone else"]
    assert target_words({"a": ["x", "y"], "b": "z"}) == "a: x or y, b: z"


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (0.0, "rate", "0.0%"), (1.0, "rate", "100.0%"), (-0.0, "points", "0.0"), (-0.00001, "points", "0.0"),
        (0.0, "p", "<0.001"), (1.0, "p", "1.000"), (10**9, "people", "1,000,000,000"), (-0.0, "number", "0"),
        (None, "rate", "–"), (-0.0, "ratio", "0"),
    ],
)  # fmt: skip
def test_cells(value: float | None, kind: str, text: str) -> None:
    assert format_value(value, kind) == text  # type: ignore[arg-type]


def test_intervals() -> None:
    assert interval_text(-0.0, 1.0, "points") == "0.0 to +100.0"
    assert interval_text(None, None, "rate") == "–"


# -- whole verdicts of extreme audits ---------------------------------------------------------------------------------
def people(selected: list[int], sizes: list[int]) -> pd.DataFrame:
    names = np.repeat([f"G{i}" for i in range(len(sizes))], sizes)
    decided = np.concatenate([np.arange(size) < k for k, size in zip(selected, sizes, strict=True)])
    return pd.DataFrame({"g": names, "d": decided.astype(int), "v": decided * 1e9})


EXTREMES = {
    "nobody selected": ([0, 0], [60, 60]),
    "everybody selected": ([60, 60], [60, 60]),
    "all and none": ([60, 0], [60, 60]),
    "one person": ([1, 30], [1, 60]),
    "equal": ([30, 30], [60, 60]),
    "eight groups": ([3 * i for i in range(8)], [60] * 8),
}


@pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")
@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("favourable", [None, 0, 1])
def test_whole_results_read_as_english(name: str, favourable: int | None) -> None:
    audit = ft.Audit(people(*EXTREMES[name]), decision="d", groups="g", favourable=favourable)
    results = [ft.measure(audit, ["selection_rate"], minimum=1)]
    results += [
        ft.flag(audit, "selection_rate", tolerance=tolerance, minimum=1) for tolerance in (None, 0.05)
    ]
    results += [
        ft.certify(audit, "selection_rate", tolerance=tolerance, minimum=1) for tolerance in (None, 0.05, 0.4)
    ]
    for result in results:
        for text in (
            result.question,
            result.null,
            result.verdict.text,
            *result.reading(),
            *(n.text for n in result.notes),
        ):
            reads(text)


@pytest.mark.filterwarnings("ignore::fairtrial.FairtrialWarning")
def test_trials_read_as_english() -> None:
    for name, (selected, sizes) in EXTREMES.items():
        spec = {"preset": "employment", "data": {"decision": "d", "groups": ["g"], "favourable": 1},
                "certify": {"metric": "selection_rate", "tolerance": 0.05}}  # fmt: skip
        trial = ft.run(spec, data=people(selected, sizes))
        for text in (trial.verdict.text, *trial.notes, *trial.left_out):
            reads(text), name


@pytest.mark.parametrize("unit", ["points", "ratio"])
@pytest.mark.parametrize("ends", [(-1.0, -0.2), (-0.00001, 0.3), (0.2, 0.9), (0.0, 0.0)])
def test_ranges(unit: str, ends: tuple[float, float]) -> None:
    assert reads(words.range_words(*ends, "B", unit))
    for limits in (ends, (-np.inf, np.inf)):
        assert reads(
            words.range_sentence("rate", "A", "B", ends, limits, 0.95, unit, "", "whatever they are")
        )


@pytest.mark.parametrize("kind", ["odds of being in the group", "share of what is left unexplained"])
@pytest.mark.parametrize("value", [0.0004, 0.31, 1.0, 1.84, 12345.6])
def test_what_would_overturn_a_gap(kind: str, value: float) -> None:
    row = {"group": "F", "metric": "fpr", "overturned_by": value, "overturned_in": kind}
    told = words.unmeasured_sentences([row] * 5, {"label": "false positive rate"})
    assert len(told) == 4
    assert all(reads(sentence) for sentence in told)


def test_every_template_is_listed_here() -> None:
    here = {
        "unit_of",
        "number_words",
        "measured",
        "disparity_words",
        "band_words",
        "groups_words",
        "place_words",
        "range_words",
        "range_sentence",
        "sentence",
        "unmeasured_sentences",
    }
    own = {
        name
        for name, value in vars(words).items()
        if callable(value) and getattr(value, "__module__", "") == words.__name__
    }
    assert {name for name in own if not name.startswith("_")} == here


def test_one_group_is_no_groups() -> None:
    frame = pd.DataFrame({"g": ["G0"] * 60 + ["G1"] * 60, "d": [1] * 3 + [0] * 117})
    audit = ft.Audit(frame, decision="d", groups=["g"])
    result = ft.certify(audit, "selection_rate", target={"g": "G1"}, tolerance=0.05)
    assert "for 0 of 1 group and violated for none" in reads(result.verdict.text)
