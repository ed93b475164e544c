"""Small groups: golden numbers of the method page, the slow oracle, and flag's own table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairtrial
from fairtrial import Audit, InputError, flag, read_result
from inside.flag import beyond_words, whole_sentence
from inside.inference import (
    BeyondWhat,
    BorrowedPrior,
    SpreadCells,
    at_least,
    beyond_p_values,
    find_spread,
    hommel_number,
    opposite_limits,
    own_error,
    rank_limits,
    rate_interval,
    shrunken_means,
)
from inside.results import scalar
from oracles import small_cells as slow
from validity.small_cells import DESIGNS, draw
from validity.small_cells import SIZES as BOARD
from validity.small_cells import SMALL as FEW

SIZES = np.array([1, 2, 3, 5, 8, 13, 40, 120.0])
POSITIVES = np.array([1, 0, 2, 1, 4, 2, 10, 60.0])
# place: estimate, exact rate, exact gap (methods/small-cells.md, Golden numbers)
LISTED = {
    0: (0.411773, (0.050000, 1.000000), (-0.470167, 0.681675)),
    1: (0.325053, (0.000000, 0.776393), (-0.519901, 0.461538)),
    2: (0.418490, (0.135350, 0.983048), (-0.383129, 0.660886)),
    7: (0.477378, (0.385172, 0.580725), (-0.022840, 0.164087)),
}
COMPAS = {
    "Caucasian, Female, Less than 25": (0.665967, (0.534579, 0.796698), (0.192614, 0.494755), (1, 15)),
    "Hispanic, Male, Less than 25": (0.505741, (0.375371, 0.651692), (0.023142, 0.350780), (1, 23)),
    "Native American, Male, 25 - 45": (0.363721, (0.128756, 0.774678), (-0.220531, 0.478206), (1, 30)),
    "Asian, Female, 25 - 45": (0.227908, (0.000000, 0.950000), (-0.344716, 0.651989), (1, 30)),
    "Other, Female, Greater than 45": (0.081609, (0.000000, 0.235522), (-0.344701, -0.050142), (4, 30)),
}
ATTRIBUTES = ["race", "sex", "age_cat"]


def gaps_to_everyone(n, s, error=0.05):
    """As the page has them, for every cell."""
    low, high = BorrowedPrior(n, s).limits(own_error(error))
    rest_low, rest_high = opposite_limits(n.sum() - n, s.sum() - s, error)
    share = 1 - n / n.sum()
    return share * (low - rest_high), share * (high - rest_low)


def beyond(n, s, side, tolerance=0.05, error=0.05):
    what = BeyondWhat(side, -tolerance, tolerance)
    return beyond_p_values(n, s, (s.sum(), n.sum()), what, error)


@pytest.mark.parametrize("place", LISTED)
def test_golden_numbers_of_the_listed_table(place):
    estimate, rate, gap = LISTED[place]
    prior = BorrowedPrior(SIZES, POSITIVES)
    assert prior.estimates()[place] == pytest.approx(estimate, abs=1e-6)
    assert [side[place] for side in prior.limits(0.05)] == pytest.approx(rate, abs=1e-6)
    assert [side[place] for side in gaps_to_everyone(SIZES, POSITIVES)] == pytest.approx(gap, abs=1e-6)


def test_golden_spread_and_bound_of_the_listed_table():
    """The drawn ones within three standard errors of what so many draws tell."""
    cells = SpreadCells(SIZES, POSITIVES)
    assert cells.squared == pytest.approx(0.013046, abs=1e-6)
    assert cells.p_none() == pytest.approx(0.0130, abs=1e-9)  # NumPy's seed 0, 4,999 draws, as on the page
    low, high = cells.limits(0.05)
    assert low == pytest.approx(0.02768, abs=0.006)
    assert high == pytest.approx(0.183682, abs=0.004)
    everyone = np.ones(SIZES.size, dtype=bool)
    assert at_least(beyond(SIZES, POSITIVES, "above"), everyone, 0.05) == 0


@pytest.fixture(scope="module")
def compas():
    data = fairtrial.load("compas", backend="pandas")
    return Audit(data, outcome="two_year_recid", score="decile_score", threshold=5, groups=ATTRIBUTES)


@pytest.fixture(scope="module")
def against_everyone(compas):
    return flag(compas, "fpr", depth=3, target="overall", tolerance=0.05, direction="above", minimum=100)


def crossed(result):
    """The rows of all three attributes, by their values."""
    return {
        ", ".join(value for _, value in place): row
        for row, place in zip(result.estimates, result.details["places"], strict=True)
        if len(place) == 3 and scalar(row["n"])
    }


@pytest.mark.parametrize("group", COMPAS)
def test_golden_numbers_of_compas(against_everyone, group):
    """Every group under 100 is described here, against everyone as on the page."""
    estimate, rate, gap, ranks = COMPAS[group]
    row = crossed(against_everyone)[group]
    assert row["borrowed"] == pytest.approx(estimate, abs=1e-6)
    assert row["borrowed_difference"] == pytest.approx(estimate - 1282 / 3963, abs=1e-6)
    assert (row["rate_low"], row["rate_high"]) == pytest.approx(rate, abs=1e-6)
    assert (row["difference_low"], row["difference_high"]) == pytest.approx(gap, abs=1e-6)
    assert (row["rank_best"], row["rank_worst"]) == ranks
    assert row["state"] == "too few"


def test_golden_numbers_beyond_and_spread_of_compas(compas):
    result = flag(compas, "fpr", depth=3, tolerance=0.05, direction="above")
    rows = crossed(result)
    few = [row["group"] for row in rows.values() if row["n"] < 30]
    top = sorted(rows.values(), key=lambda row: -row["borrowed"])[:5]
    assert result.at_least() == result.at_least([row["group"] for row in top]) == 4
    assert result.at_least(few) == 0
    assert flag(compas, "fpr", depth=3, tolerance=0.05, direction="outside").at_least() == 8
    told = next(one for one in result.details["small"]["tables"] if one["by"] == ATTRIBUTES)
    assert (told["cells"], told["beyond"], told["small"]["beyond"]) == (30, 4, 0)
    assert told["spread"]["value"] == pytest.approx(0.163700, abs=1e-6)
    assert [told["spread"][end] for end in ("low", "high")] == pytest.approx([0.150469, 0.176216], abs=0.001)
    small = told["small"]["spread"]
    assert (small["cells"], small["n"]) == (9, 109)
    assert small["value"] == pytest.approx(0.113357, abs=1e-6)
    assert small["low"] == pytest.approx(0.021654, abs=0.008)
    assert small["high"] == pytest.approx(0.205832, abs=0.004)
    assert small["p_none"] == pytest.approx(0.0132, abs=1e-9)
    assert small["p_tolerated"] == pytest.approx(0.0626, abs=0.011)


# -- Against the oracle, which is written from the page alone.


def drawn_cells(seed, cells=5, most=25):
    generator = np.random.default_rng(seed)
    n = generator.integers(1, most, cells)
    s = generator.binomial(n, generator.uniform(0.05, 0.9, cells))
    return n, s


@pytest.mark.parametrize("seed", range(4))
def test_estimates_and_intervals_are_the_oracles(seed):
    n, s = drawn_cells(seed)
    place = seed % n.size
    prior = BorrowedPrior(n.astype(float), s.astype(float))
    assert prior.estimates()[place] == pytest.approx(slow.estimate(n, s, place), abs=1e-9)
    for alpha in (0.05, 0.01):
        ours = [side[place] for side in prior.limits(alpha)]
        assert ours == pytest.approx(slow.exact_interval(n, s, place, alpha), abs=1e-8)
    ours = [side[place] for side in gaps_to_everyone(n.astype(float), s.astype(float))]
    assert ours == pytest.approx(slow.exact_gap(n, s, place, 0.05), abs=1e-8)


def test_a_large_cell_has_clopper_pearson():
    n, s = np.array([300, 10, 4]), np.array([80, 3, 2])
    low, high = BorrowedPrior(n.astype(float), s.astype(float)).limits(0.05)
    assert (low[0], high[0]) == pytest.approx(slow.clopper_pearson(80, 300, 0.05), abs=1e-9)


@pytest.mark.parametrize("side", ["above", "below", "outside"])
@pytest.mark.parametrize("seed", range(6))
def test_number_beyond_is_closed_testing_itself(side, seed):
    """Every subset of up to ten cells, one by one."""
    generator = np.random.default_rng(seed)
    n = generator.integers(5, 80, 9)
    s = generator.binomial(n, generator.choice([0.05, 0.3, 0.8], 9))
    p = beyond(n.astype(float), s.astype(float), side)
    assert p == pytest.approx(slow.p_values(n, s, 0.05, side, 0.05), abs=1e-9)
    for chosen in (range(9), np.argsort(p)[:3].tolist(), [0, 4, 7], [int(p.argmax())]):
        among = np.isin(np.arange(9), list(chosen))
        assert at_least(p, among, 0.05) == slow.beyond(p, list(chosen), 0.05)


def test_hommel_number_is_found_by_every_size():
    generator = np.random.default_rng(3)
    for _ in range(50):
        p = generator.uniform(0, 1, 12) ** generator.integers(1, 6)
        ordered = np.sort(p)
        kept = [j for j in range(1, 13) if not (ordered[12 - j :] * j <= 0.045 * np.arange(1, j + 1)).any()]
        assert hommel_number(p, 0.045) == max(kept, default=0)


def test_ranks_are_the_oracles():
    n, s = drawn_cells(9, 12, 200)
    best, worst = rank_limits(n.astype(float), s.astype(float), 0.95)
    assert (best.tolist(), worst.tolist()) == slow.ranks(n, s, 0.95)


def test_spread_is_the_oracles_and_its_draws_too():
    n, s = drawn_cells(5, 14, 60)
    cells = SpreadCells(n.astype(float), s.astype(float))
    assert cells.squared == pytest.approx(slow.spread_squared(n, s), abs=1e-12)
    drawn = slow.draws_of_spread(n, s, 0.12, 4000, np.random.default_rng(1))
    ours = cells.drawn(0.12)
    error = np.hypot(drawn.std() / np.sqrt(drawn.size), ours.std() / np.sqrt(ours.size))
    assert abs(ours.mean() - drawn.mean()) < 4 * error
    assert ours.mean() == pytest.approx(0.12**2, abs=4 * error)  # unbiased for the spread that was set


def test_no_spread_can_be_kept():
    """Where the cells differ less than chance makes them differ, no interval is printed, never 'none to none'."""
    n, s = np.full(30, 20.0), np.full(30, 10.0)
    found = find_spread(n, s)
    assert found is not None
    assert (found.low, found.high, found.value) == (None, None, 0.0)
    assert find_spread(n[:4], s[:4]) is None


def test_shrunken_means_lie_between_the_means_and_their_centre():
    generator = np.random.default_rng(2)
    sizes = np.array([2, 5, 9, 40, 3])
    rows = [generator.normal(i, 1.0, n) for i, n in enumerate(sizes)]
    means, m2 = np.array([r.mean() for r in rows]), np.array([((r - r.mean()) ** 2).sum() for r in rows])
    found = shrunken_means(sizes.astype(float), means, m2)
    # method of moments by hand
    within = m2.sum() / (sizes - 1).sum()
    share = sizes / sizes.sum()
    between = share @ (means - share @ means) ** 2 - ((1 - share) * within).sum() / sizes.sum()
    weight = 1 / (between + within / sizes)
    centre = (weight * means).sum() / weight.sum()
    assert found == pytest.approx(centre + between / (between + within / sizes) * (means - centre))


# -- flag: targets, scales, directions, refusals by name, what is saved.


@pytest.fixture(scope="module")
def people():
    generator = np.random.default_rng(11)
    group = generator.choice(list("ABCDEFGH"), 700, p=[0.5, 0.3, 0.1, 0.05, 0.02, 0.01, 0.01, 0.01])
    side = generator.choice(["l", "r"], 700)
    rate = np.where(group == "B", 0.75, 0.3)
    return pd.DataFrame(
        {
            "g": group, "side": side, "d": (generator.random(700) < rate).astype(int),
            "w": generator.uniform(0.5, 2, 700), "amount": generator.lognormal(0, 1, 700),
        }
    )  # fmt: skip


def small_rows(result):
    return [row for row in result.estimates if row["state"] == "too few"]


@pytest.mark.parametrize("scale", ["difference", "ratio"])
@pytest.mark.parametrize("target", ["rest", "overall", 0.35, {"g": "A"}])
def test_intervals_follow_the_target_and_the_scale(people, target, scale):
    result = flag(Audit(people, decision="d", groups="g"), "selection_rate", target=target, scale=scale)
    rows = small_rows(result)
    assert rows
    for row in rows:
        against = row["target_rate"]
        assert row["difference"] == pytest.approx(row["rate"] - against)
        assert row["difference_low"] <= row["difference"] + 1e-12
        assert row["difference"] <= row["difference_high"] + 1e-12
        assert row["borrowed_difference"] == pytest.approx(row["borrowed"] - against)
        if scale == "ratio":
            assert row["ratio_low"] <= row["rate"] / against + 1e-12 <= row["ratio_high"] + 2e-12
    if target == 0.35:
        assert (rows[0]["difference_low"], rows[0]["difference_high"]) == pytest.approx(
            (rows[0]["rate_low"] - 0.35, rows[0]["rate_high"] - 0.35)
        )


def test_against_the_rest_the_limits_are_those_against_everyone_stretched(people):
    audit = Audit(people, decision="d", groups="g")
    rest, overall = (small_rows(flag(audit, "selection_rate", target=one)) for one in ("rest", "overall"))
    for one, other in zip(rest, overall, strict=True):
        share = 1 - one["n"] / len(people)
        for name in ("difference", "difference_low", "difference_high"):
            assert one[name] * share == pytest.approx(other[name], abs=1e-12)


@pytest.mark.parametrize(
    ("roles", "options", "why"),
    [
        ({"weight": "w"}, {}, "weights and repeated people"),
        ({}, {"within": "side"}, "people alike"),
    ],
)
def test_what_was_not_measured_is_refused_by_name(people, roles, options, why):
    result = flag(Audit(people, decision="d", groups="g", **roles), "selection_rate", **options)
    note = next(note for note in result.notes if note.code == "small-not-described")
    assert why in note
    assert all(row.get("rate_low") is None for row in result.estimates)
    with pytest.raises(InputError, match=why):
        result.at_least()


def test_small_groups_can_be_listed_only(people):
    result = flag(Audit(people, decision="d", groups="g"), "selection_rate", small="list")
    assert "small" not in result.details
    assert all(scalar(row["difference"]) is None for row in small_rows(result))
    with pytest.raises(InputError, match="small='describe'"):
        result.at_least()


def test_means_of_small_groups_have_the_ordinary_intervals(people):
    metric = "base_rate"
    audit = Audit(people, outcome="amount", groups="g")
    result = flag(audit, metric)
    rows = small_rows(result)
    assert rows
    assert all(isinstance(row["borrowed"], float) for row in rows)
    large = flag(audit, metric, minimum=1, small="list")
    same = {row["group"]: row for row in large.estimates}
    for row in rows:
        other = same[row["group"]]
        if scalar(other["difference_low"]) is not None and scalar(row["difference_low"]) is not None:
            assert row["difference_low"] == pytest.approx(other["difference_low"])
    with pytest.raises(InputError, match="for rates, not for means"):
        result.at_least()


def test_groups_of_several_depths_are_counted_on_one_side_only(people):
    audit = Audit(people, decision="d", groups=["g", "side"])
    above = flag(audit, "selection_rate", depth=2, tolerance=0.02, direction="above")
    everyone = [row["group"] for row in above.estimates]
    number = above.at_least(everyone)
    assert number >= 3  # B, and both of its halves
    assert above.at_least(["g: B"]) == 1
    outside = flag(audit, "selection_rate", depth=2, tolerance=0.02, direction="outside")
    with pytest.raises(InputError, match="one side only"):
        outside.at_least(everyone)
    with pytest.raises(InputError, match="as the table names them"):
        above.at_least(["g: Z"])


def test_groups_of_one_attribute_that_share_people_are_not_described(people):
    groups = [{"g": ["A", "F"]}, {"g": ["F", "G"]}, {"g": "B"}]
    result = flag(Audit(people, decision="d", groups=["g"]), "selection_rate", by=groups)
    assert all(row.get("borrowed") is None for row in result.estimates)


def test_nothing_is_told_where_no_group_is_small(people):
    result = flag(Audit(people, decision="d", groups="side"), "selection_rate")
    assert result.details["small"]["tables"] == []
    assert all("borrowed" not in row for row in result.estimates)
    assert whole_sentence(result.details) == ""
    assert result.at_least() in (0, 1)


def test_a_saved_result_still_counts(compas):
    result = flag(compas, "fpr", by=["race", "sex"], tolerance=0.05, direction="above")
    again = read_result(result.to_dict())
    assert again == result
    assert again.at_least() == result.at_least() == 1


def test_the_table_of_small_groups(compas):
    result = flag(compas, "fpr", depth=3, tolerance=0.05, direction="above")
    (table,) = result.further_tables()
    small = {row["group"] for row in small_rows(result)}
    assert small <= {row["group"] for row in table.estimates}
    assert len(result.pictures()) == 3
    listed = [row for row in crossed(result).values() if row.get("furthest_low") is not None]
    assert len(listed) == 5
    for row in listed:  # the list's own level is stricter than one group's
        low, high = slow.clopper_pearson(round(row["rate"] * row["n"]), row["n"], 0.05)
        assert row["furthest_high"] - row["furthest_low"] > high - low


def test_sentences(compas):
    result = flag(compas, "fpr", depth=3, tolerance=0.05, direction="above")
    told = result.reading()
    assert any(
        text.startswith(
            "At least 4 of 30 groups by race, sex and age_cat are more than 5.0 points above everyone"
        )
        for text in told
    )
    assert any(
        "True rates of the 9 groups of 2–29 people" in text and "More than 5.0 points is not shown." in text
        for text in told
    )
    whole = whole_sentence(result.details)
    assert whole.startswith("The 11 groups of fewer than 30 people spread by about 11.3 points (")
    table = result.details["small"]["tables"][-1]
    more = {**table, "small": {**table["small"], "beyond": 2}}
    details = {**result.details, "small": {**result.details["small"], "tables": [more]}}
    assert whole_sentence(details) == (
        "Of the 11 groups of fewer than 30 people, at least 2 are more than 5.0 points above everyone."
    )


@pytest.mark.parametrize(
    ("side", "tolerance", "ratio", "words"),
    [
        ("above", (-0.05, 0.05), False, "more than 5.0 points above everyone"),
        ("below", (-0.05, 0.05), False, "more than 5.0 points below everyone"),
        ("outside", (-0.05, 0.05), False, "more than 5.0 points from everyone"),
        (
            "outside",
            (-0.1, 0.02),
            False,
            "more than 10.0 points below or more than 2.0 points above everyone",
        ),
        ("outside", (0.0, 0.0), False, "different from everyone"),
        ("above", (0.0, 0.0), False, "above everyone"),
        ("outside", (None, 0.05), False, "more than 5.0 points above everyone"),
        ("outside", (0.8, 1.25), True, "below 0.8 or above 1.25 times everyone's"),
        ("below", (0.8, None), True, "below 0.8 times everyone's"),
    ],
)
def test_what_is_beyond_in_words(side, tolerance, ratio, words):
    assert beyond_words(side, tolerance, ratio) == words


def test_what_the_page_says_of_borrowing_is_measured():
    """Error beside the raw rate's, and length beside Clopper and Pearson's, medians of the board's designs."""
    errors, lengths = [], []
    for rates in DESIGNS.values():
        generator, raw, own, short, long = np.random.default_rng(0), 0.0, 0.0, 0.0, 0.0
        for _ in range(20):
            s = draw(rates, generator)
            prior = BorrowedPrior(BOARD, s)
            raw, own = raw + ((s / BOARD - rates) ** 2).sum(), own + ((prior.estimates() - rates) ** 2).sum()
            low, high = prior.limits(0.05, FEW)
            exact = rate_interval(s[FEW], BOARD[FEW], 0.95, "exact")
            short, long = short + (high - low)[FEW].mean(), long + (exact[1] - exact[0]).mean()
        errors.append((own / raw) ** 0.5)
        lengths.append(short / long)
    page = (Path(__file__).parents[2] / "docs" / "small-groups.md").read_text(encoding="utf-8")
    assert f"{np.median(errors):.2f}".removeprefix("0") + " of the raw rate's" in page
    assert f"{100 * (1 - np.median(lengths)):.0f}% of their length" in page
