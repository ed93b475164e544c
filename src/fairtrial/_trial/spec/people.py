"""Signs that a row of a file is not one person of its own, or that its first line does not name the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairtrial._trial.spec import name_words as words
from fairtrial._trial.spec.guess import Guess, compared_columns
from fairtrial._trial.spec.profile import Profile
from fairtrial._trial.spec.speech import value_text

COUNTS = ("=freq", "=frequency", "=count", "=counts", "n")
WEIGHTS = (
    "=weight",
    "=weights",
    "=wt",
    "=fnlwgt",
    "sample_weight",
    "sampling_weight",
    "survey_weight",
    "=pweight",
)
PEOPLE = ("id", "=caseid", "=subject", "=person", "=patient", "=participant", "=respondent")
FEW_ROWS = 20  # of one person; an identifier that more rows share names a place rather than people


def not_one_person(found: Guess, profiles: Sequence[Profile]) -> list[str]:
    """What an audit would get wrong, and the line that puts it right."""
    taken = {found.decision, found.outcome, found.score, *compared_columns(found)}
    return [text for profile in profiles if profile.name not in taken for text in _signs(profile)]


def _signs(profile: Profile) -> Iterator[str]:
    name, shown = profile.name, repr(profile.name)
    several = profile.numeric and profile.high > 1
    if several and words.rank(name, COUNTS) is not None and all(label.isdigit() for label in profile.labels):
        yield (
            f"{shown} may say how many people a row stands for, and each row is taken as one person. If it does, "
            f"write a row for each (pandas: frame.loc[frame.index.repeat(frame[{shown}])])."
        )
    elif several and words.rank(name, WEIGHTS) is not None and not profile.category:
        line = f"weight = {value_text(name)}"
        yield f"{shown} may be a survey weight, and people count alike. If it is, add {line} under [data]."
    elif words.rank(name, PEOPLE) is not None and _repeats(profile):
        yield (
            f"{shown} has {len(profile.labels):,} values in {profile.rows - profile.missing:,} rows looked at. If it "
            f"names people, add unit = {value_text(name)} under [data]: rows of one person are not independent."
        )


def _repeats(profile: Profile) -> bool:
    """Whether several rows, but not many, share a value."""
    rows = profile.rows - profile.missing
    return rows / FEW_ROWS < len(profile.labels) < rows


def no_names(profiles: Sequence[Profile]) -> str | None:
    """Names that are numbers, where the first line is likely one of the rows."""
    found = [repr(profile.name) for profile in profiles if _is_number(profile.name)]
    if not found:
        return None
    listed = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
    return f"the first line names columns {listed}. If it holds a row instead of names, put a line of names above it."


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
