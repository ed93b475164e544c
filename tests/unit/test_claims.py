"""Claims are what rows and states say, as data: who, against whom, on which side, by how much, how judged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairtrial as ft
from fairtrial import read_result
from inside.results import Claim, mask_result, target_words
from inside.trial import corrected_claims


@pytest.fixture(scope="module")
def audit() -> ft.Audit:
    """Selected: 40% of women, 60% of men, whatever their race; few people of race c."""
    random = np.random.default_rng(5)
    n = 4000
    sex = np.repeat(["F", "M"], n // 2)
    race = random.choice(["a", "b"], n).astype(object)
    race[:8] = "c"
    picked = np.concatenate([np.arange(n // 2) < 800, np.arange(n // 2) < 1200]).astype(int)
    random.shuffle(picked[: n // 2])
    random.shuffle(picked[n // 2 :])
    return ft.Audit(
        pd.DataFrame({"sex": sex, "race": race, "d": picked}), decision="d", groups=["sex", "race"]
    )


def by_who(claims: list[Claim]) -> dict[str, Claim]:
    return {claim.who: claim for claim in claims}


def test_measure(audit: ft.Audit) -> None:
    claims = by_who(ft.measure(audit, "selection_rate").claims())
    assert set(claims) == {"sex: F", "sex: M", "race: a", "race: b"}  # nothing is claimed of the eight people
    assert claims["sex: F"] == Claim(
        "measure", "selection_rate", "sex: F", "everyone else", "below", pytest.approx(-0.2), "difference", None, 0.95,
        "found",
    )  # fmt: skip
    assert claims["sex: M"].direction == "above"
    assert claims["race: a"].verdict == "undetermined"


def test_certify_names_the_reference_with_its_attribute(audit: ft.Audit) -> None:
    claims = by_who(
        ft.certify(audit, "selection_rate", by="sex", target={"sex": "M"}, tolerance=0.3).claims()
    )
    assert list(claims) == ["sex: F"]
    claim = claims["sex: F"]
    assert (claim.against, claim.direction, claim.verdict) == ("sex: M", "within", "certified")
    assert claim.tolerance == (-0.3, 0.3)


def test_flag_and_intersections(audit: ft.Audit) -> None:
    claims = by_who(ft.flag(audit, "selection_rate", depth=2).claims())
    assert claims["sex: F, race: a"].verdict == "found"
    assert claims["sex: F, race: a"].direction == "below"


def test_claims_are_saved_and_read_again(audit: ft.Audit) -> None:
    result = ft.flag(audit, "selection_rate")
    content = result.to_dict()
    assert content["claims"] == [claim.to_dict() for claim in result.claims()]
    assert read_result(content).claims() == result.claims()


def test_what_is_masked_is_not_claimed(audit: ft.Audit) -> None:
    result = ft.measure(audit, "selection_rate", minimum=1)
    assert "race: c" in by_who(result.claims())
    assert "race: c" not in {claim["who"] for claim in mask_result(result, 10)["claims"]}


def test_a_trial_claims_what_the_correction_bears_out(audit: ft.Audit) -> None:
    random = np.random.default_rng(2)
    frame = pd.DataFrame(
        {"g": np.repeat(["x", "y"], 500), "d": np.repeat([1, 0, 1, 0], [232, 268, 275, 225])}
    )
    frame["noise"] = random.choice(list("abcdefgh"), 1000)
    path = {"decision": "d", "groups": ["g", "noise"]}
    alone = ft.measure(ft.Audit(frame, **path), "selection_rate", by="g")
    assert {claim.verdict for claim in alone.claims()} == {"found"}
    spec = {"data": {"source": "rows.csv", **path}, "measure": {"metric": "selection_rate", "by": "g"},
            "flag": {"metric": "selection_rate", "by": "noise"}}  # fmt: skip
    trial = ft.run(spec, data=frame)
    assert {claim.verdict for claim in trial.claims()} == {"undetermined"}
    assert {claim.verdict for claim in trial.results["measure"].claims()} == {"found"}


def test_targets_in_words() -> None:
    assert target_words({"estimate": 0.25, "influence": "x"}) == "0.25 (estimated)"
    assert target_words("overall") == "overall"


def test_a_finding_that_remains_bears_out_no_other_metric_of_the_same_group() -> None:
    rows = []
    for group, chosen, right in (("a", 320, 6), ("b", 80, 5)):
        decisions = [int(i < chosen) for i in range(400)]
        rows += [(group, d, d if i % 10 < right else 1 - d) for i, d in enumerate(decisions)]
    audit = ft.Audit(pd.DataFrame(rows, columns=["g", "d", "y"]), decision="d", outcome="y", groups="g")
    result = ft.measure(audit, ["selection_rate", "accuracy"])
    assert {claim.verdict for claim in result.claims()} == {"found"}
    remain = {("measure", "selection rate", "a"), ("measure", "selection rate", "b")}
    told = {claim.metric: claim.verdict for claim in corrected_claims("measure", result, remain)}
    assert told == {"selection_rate": "found", "accuracy": "undetermined"}
