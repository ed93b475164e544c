"""What is understood of a file beyond its roles: spellings of one group, repeated people, what explains, what leaks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from inside.trial import alike_labels, cards, guess, profile_file
from office.makers import text_of, written


def column(labels: Sequence[str], folder: Path, name: str = "g") -> dict[str, list[str]]:
    rows = [(name, "n"), *((label, place) for place, label in enumerate(labels * 3))]
    profiles = profile_file(str(written(folder, text_of(rows).encode())))
    return alike_labels(next(profile for profile in profiles if profile.name == name))


@pytest.mark.parametrize(
    ("labels", "merged"),
    [
        ([" m", "M", "M", "Male", "F", "Female"], {"M": [" m", "Male"], "Female": ["F"]}),
        (["w", "weiblich", "m", "männlich", "divers"], {"weiblich": ["w"], "männlich": ["m"]}),
        (["Black", "black ", "BLACK", "White"], {"Black": ["BLACK", "black "]}),
        (["México", "Mexico", "Perú"], {"México": ["Mexico"]}),
        (["African-American", "African American", "Asian"], {"African-American": ["African American"]}),
        (["Frau", "frau ", "Fr.", "Herr", "Herr", "Hr"], {"Frau": ["Fr.", "frau "], "Herr": ["Hr"]}),
        (["ja", "J", "nein", "n"], {"ja": ["J"], "nein": ["n"]}),
        (["1", "01", "2"], {}),
        (["A", "B", "C"], {}),
        (["M", "F", "manager"], {}),
        (["<5", ">5"], {}),
        (["A+", "A-", "B"], {}),
    ],
)
def test_spellings_of_one_group(labels: list[str], merged: dict[str, list[str]], tmp_path: Path) -> None:
    assert column(labels, tmp_path) == merged


def items(rows: Sequence[Sequence[object]], folder: Path) -> dict[str, object]:
    profiles = profile_file(str(written(folder, text_of(rows).encode())))
    found = guess(profiles)
    return {"found": found} | {item.key: item for card in cards(found, profiles) for item in card.items}


def test_the_cards_hold_what_few_files_need(tmp_path: Path) -> None:
    rows: list[Sequence[object]] = [("applicant", "sex", "job", "approved", "score", "band", "chosen")]
    for place in range(240):
        score = (place * 37) % 100
        hired = int(score > 40)
        sex, band = (" f", "F", "m")[place % 3], "low" if score < 50 else "high"
        rows.append((f"a{place % 150}", sex, "xyz"[place % 3], hired, score, band, "ny"[hired]))
    told = items(rows, tmp_path)
    assert told["merge sex"].choices[0].writes == {"data": {"merge": {"sex": {"F": [" f"]}}}}
    assert told["unit"].choices[0].writes == {"data": {"unit": "applicant"}}
    assert [choice.value for choice in told["within"].choices] == ["job"]
    assert not told["merge sex"].sure
    assert not told["unit"].sure
    assert not {"band", "chosen", "score"} & set(told["found"].features)
    assert (
        "'chosen' says again what 'approved' says: it is not proposed as a feature." in told["found"].warnings
    )
