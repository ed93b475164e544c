"""scale="ratio" in certify and flag: four fifths as a test, one-sided, weighted, undefined, and its words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fairtrial import Audit, InputError, certify, flag, measure, plan, read_result, run, tabulate
from inside.cli import program
from inside.direct_calls import ratio_interval
from inside.gaps import certified
from inside.ground import NotApplicable
from inside.inference import CountedGaps, KnownRateGaps, PartLaw, TwoRates
from inside.results import reason, scalar

A = {"g": "a"}


def audit_of(**roles):
    def make(**groups):
        rows = [(name, value) for name, (k, n) in groups.items() for value in [1] * k + [0] * (n - k)]
        frame = pd.DataFrame(rows, columns=["g", "d"])
        frame["w"] = 1.0 + 0.5 * (np.arange(len(frame)) % 3)
        return Audit(frame, decision="d", groups="g", **roles)

    return make


table = audit_of()


def row(result, group="b"):
    return next(line for line in result.estimates if line["group"].endswith(group))


def test_four_fifths_is_certified_violated_or_undetermined():
    for counts, expected in (
        ((4_700, 10_000), "certified"),
        ((3_000, 10_000), "violated"),
        ((40, 100), "undetermined"),
    ):
        audit = table(a=(5_000 * counts[1] // 10_000, counts[1]), b=counts)
        result = certify(audit, "selection_rate", target=A, scale="ratio", tolerance=0.8)
        assert result.verdict.code == expected
        assert "ratio of 0.8 to 1.25" in result.question
        found = row(result)
        low, high = ratio_interval(*counts, 5_000 * counts[1] // 10_000, counts[1])
        assert found["ratio"] == pytest.approx(counts[0] / (5_000 * counts[1] // 10_000))
        assert (found["ratio_low"], found["ratio_high"]) == pytest.approx((float(low), float(high)), rel=1e-9)
        beside = row(certify(audit, "selection_rate", target=A))
        for name in ("difference", "difference_low", "difference_high"):
            assert found[name] == pytest.approx(beside[name], rel=1e-12), (
                "the difference stands beside the ratio"
            )
        assert read_result(result.to_dict()).to_dict() == result.to_dict()


def test_one_sided():
    audit = table(a=(4_000, 10_000), b=(6_000, 10_000))
    both = certify(audit, "selection_rate", target=A, scale="ratio", tolerance=0.8)
    below = certify(audit, "selection_rate", target=A, scale="ratio", tolerance=0.8, direction="below")
    above = certify(audit, "selection_rate", target=A, scale="ratio", tolerance=0.8, direction="above")
    assert [result.verdict.code for result in (both, below, above)] == ["violated", "certified", "violated"]
    assert "a ratio of at least 0.8" in below.verdict.text
    assert below.details["tolerance"] == [0.8, None]
    difference = certify(audit, "selection_rate", target=A, tolerance=0.05, direction="below")
    assert difference.verdict.code == "certified"


def test_ratio_to_everyone_has_the_shares_uncertainty():
    found = row(
        certify(table(a=(48, 60), b=(27, 90)), "selection_rate", target="overall", scale="ratio"), "a"
    )
    assert found["ratio_low"] == pytest.approx(1.389498, abs=5e-7)
    assert found["ratio_high"] > 1.862427, "the score's own limit, which the skewness bound moves outwards"
    law = PartLaw(TwoRates(*(np.array([v]) for v in (48.0, 60.0, 27.0, 90.0))), "ratio")
    assert found["p_value"] == pytest.approx(2 * law.tails(np.ones(1))[0][0], rel=1e-9)


def test_a_target_without_events_is_a_reason():
    result = certify(
        table(a=(0, 90), b=(12, 80), c=(9, 70)), "selection_rate", target=A, scale="ratio", tolerance=0.8
    )
    found = row(result)
    assert scalar(found["ratio"]) is None
    assert "rate is zero" in str(reason(found["ratio"]))
    assert found["state"] == "undetermined"
    assert found["p_value"] == 1.0


def test_flag_and_certify_agree():
    audit = table(a=(300, 600), b=(180, 600), c=(290, 600))
    certified = certify(audit, "selection_rate", target=A, scale="ratio", tolerance=0.8)
    for direction, name in (
        ("outside", "outside 0.8 to 1.25 times that of"),
        ("below", "less than 0.8 times that of"),
    ):
        flagged = flag(
            audit, "selection_rate", target=A, scale="ratio", tolerance=0.8, direction=direction, depth=1
        )
        assert name in flagged.question
        assert [line["group"][-1] for line in flagged.estimates if line["flagged"]] == ["b"]
        for group in ("b", "c"):
            one, other = row(certified, group), row(flagged, group)
            for column in ("ratio", "ratio_low", "ratio_high", "difference", "difference_low"):
                assert one[column] == pytest.approx(other[column], rel=1e-12)
            if direction == "outside":
                assert one["p_value"] == pytest.approx(other["p_value"], rel=1e-12)
    assert "times that of" in flagged.verdict.text
    assert flagged.primary()[0].kind == "ratio"


def test_a_ratio_of_one_and_measure():
    audit = table(a=(300, 600), b=(180, 600))
    tested, shown = (
        row(certify(audit, "selection_rate", target=A, scale="ratio")),
        row(measure(audit, target=A)),
    )
    for name in ("ratio", "ratio_low", "ratio_high"):
        assert tested[name] == pytest.approx(shown[name], rel=1e-9)


def test_weighted_ratios():
    audit = audit_of(weight="w")(a=(300, 600), b=(180, 600))
    result = certify(audit, "selection_rate", target=A, scale="ratio", tolerance=0.8)
    assert result.verdict.code == "violated"
    shown = row(measure(audit, target=A))
    assert row(result)["ratio_low"] == pytest.approx(shown["ratio_low"], rel=1e-9)


@pytest.mark.parametrize("tolerance", [0, 1.3, -0.2, [1.1, 1.3], [0.8, 0.9], [0.5, 1, 2]])
def test_bad_tolerances(tolerance):
    audit = table(a=(300, 600), b=(180, 600))
    with pytest.raises(InputError, match="'tolerance' of a ratio must be"):
        certify(audit, "selection_rate", target=A, scale="ratio", tolerance=tolerance)


MEANT = r"is a ratio itself, such as 0.8 for four fifths: 0.05 would tolerate any ratio from 0.05 to 20. Write 0.95"


@pytest.mark.parametrize("ask", [certify, flag, measure])
def test_a_difference_is_no_tolerance_of_a_ratio(ask):
    audit = table(a=(300, 600), b=(180, 600))
    with pytest.raises(InputError, match=MEANT):
        ask(audit, "selection_rate", target=A, scale="ratio", tolerance=0.05)
    result = ask(audit, "selection_rate", target=A, scale="ratio", tolerance=[0.05, 20])
    assert row(result)["ratio"] == pytest.approx(0.6)
    assert ask(audit, "selection_rate", target=A, scale="ratio", tolerance=0.5).estimates


def test_a_difference_is_no_tolerance_of_a_ratio_in_plan_and_table():
    with pytest.raises(InputError, match=MEANT):
        plan("selection_rate", rate=0.5, disparity=0.6, scale="ratio", tolerance=0.05)
    audit = table(a=(300, 600), b=(180, 600))
    records = [{"group": {"g": "b"}, "target": A, "scale": "ratio", "threshold": 0.05}]
    with pytest.raises(InputError, match=f"threshold of a ratio {MEANT}"):
        tabulate(audit, "bias-record", records=records)


def test_a_difference_is_no_tolerance_of_a_ratio_in_file_and_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(name, value) for name in "ab" for value in [1, 0] * 60]
    pd.DataFrame(rows, columns=["g", "d"]).to_csv("people.csv", index=False)
    options = ["--decision", "d", "--by", "g", "--metric", "selection_rate", "--scale", "ratio"]
    arguments = ["certify", "people.csv", *options, "--target", "g=a", "--tolerance", "0.05"]
    told = CliRunner().invoke(program, arguments)
    assert told.exit_code != 0
    assert "--tolerance of a ratio is a ratio itself, such as 0.8" in str(told.exception)
    spec = (
        '[data]\nsource = "people.csv"\ndecision = "d"\ngroups = ["g"]\n'
        '[[certify]]\nmetric = "selection_rate"\ntarget = {g = "a"}\nscale = "ratio"\ntolerance = 0.05\n'
    )
    (tmp_path / "audit.toml").write_text(spec)
    assert "is a ratio itself, such as 0.8" in run("audit.toml").answers[0].error


def test_means_against_everyone_are_refused():
    frame = pd.DataFrame({"g": ["a", "b"] * 60, "loss": np.linspace(1, 2, 120)})
    with pytest.raises(NotApplicable, match="'ratio' of means is not inferred against everyone"):
        certify(Audit(frame, groups="g"), {"name": "loss", "value": "loss"}, scale="ratio", target="overall")


def test_views():
    audit = table(a=(300, 600), b=(180, 600))
    for result in (
        certify(audit, "selection_rate", target=A, scale="ratio", tolerance=0.8, direction="below"),
        flag(audit, "selection_rate", target=A, scale="ratio", tolerance=0.8, direction="below"),
    ):
        assert "0.6" in str(result)
        assert result.pictures()


def test_one_sided_tolerances_reach_a_whole_trial():
    rows = [(name, value) for name, k in (("a", 300), ("b", 180)) for value in [1] * k + [0] * (600 - k)]
    spec = {
        "data": {"source": "x.csv", "decision": "d", "groups": ["g"]},
        "certify": {
            "metric": "selection_rate",
            "scale": "ratio",
            "tolerance": 0.8,
            "direction": "below",
            "target": A,
        },
    }
    trial = run(spec, data=pd.DataFrame(rows, columns=["g", "d"]))
    assert trial.results["certify"].details["tolerance"] == [0.8, None]
    assert trial.results["certify"].verdict.code == "violated"


@pytest.mark.parametrize("target", [0.5, {"g": "b"}], ids=str)
def test_members_needed_of_a_ratio_reach_their_power(target):
    """Drawn audits of the promised size through certify's own test: four fifths of a known rate, and of a group."""
    counts = {"a": (20, 40), "b": (1000, 2000)}
    frame = pd.DataFrame(
        [(g, d) for g, (k, n) in counts.items() for d in [1] * k + [0] * (n - k)], columns=["g", "d"]
    )
    audit = Audit(frame, decision="d", groups="g")
    row = certify(audit, "selection_rate", by="g", target=target, scale="ratio", tolerance=0.8).estimates[0]
    needed, random, repeats = row["members_needed"], np.random.default_rng(7), 3000
    assert row["detectable"] is None
    assert row["rows_needed"] >= needed
    k = random.binomial(needed, 0.5, repeats).astype(float)
    n = np.full(repeats, float(needed))
    if isinstance(target, float):
        gaps = KnownRateGaps(n, k, np.full(repeats, 0.5), scale="ratio")
    else:
        gaps = CountedGaps(
            k, n, random.binomial(2000, 0.5, repeats).astype(float), np.full(repeats, 2000.0), "ratio"
        )
    assert 0.77 <= certified(gaps, (0.8, 1.25), 0.9).mean() <= 0.87


@pytest.mark.parametrize("more", [{"target": "overall"}, {"direction": "below"}], ids=str)
def test_no_members_are_promised_to_everyone_or_for_one_side(more):
    audit = Audit(
        pd.DataFrame({"g": list("ab") * 60, "d": [0, 1, 1, 0, 1, 1] * 20}), decision="d", groups="g"
    )
    result = certify(audit, "selection_rate", scale="ratio", tolerance=0.8, **more)
    assert all(row["members_needed"] is None for row in result.estimates)
