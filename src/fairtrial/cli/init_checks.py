"""What `fairtrial init` cannot write an audit without, said with the line to add."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairtrial._errors import Fault, Faults, Set, Words
from fairtrial._trial.spec.attributes import comparable, speaks_for_a_group
from fairtrial._trial.spec.guess import Guess, binary_columns, compared_columns, numbers, speaks_for_a_role
from fairtrial._trial.spec.profile import MAX_CATEGORIES, Profile
from fairtrial.cli.init_questions import needs_labels

LISTED = 12  # columns that a refusal proposes


def check(found: Guess, profiles: list[Profile]) -> None:
    """Whether the parts are there and can be what they are said to be."""
    faults = Faults("init")
    taken = {found.decision, found.outcome, found.score} - {None}
    two = binary_columns(profiles, ())
    if not found.groups:
        text = "found no column to compare people by: no name says race, sex or the like"
        able = [name for name in comparable(profiles) if name not in taken]
        able.sort(key=lambda name: name not in two)
        hint = _proposed(able, "of few labels", max(LISTED, sum(name in two for name in able)))
        ages = [name for name in numbers(profiles) if name not in taken and speaks_for_a_group(name)]
        hint += f" A number is compared in quarters: {listed([repr(name) for name in ages])}." if ages else ""
        faults.add(Fault("", text, cure=Words("name one with {}", Set("group")), hint=hint))
    if not taken:
        faults.add(_undecided(found, profiles))
    by_name = {profile.name: profile for profile in profiles}
    for fault in _label_faults(found, by_name):
        faults.add(fault)
    faults.raise_any()


def _undecided(found: Guess, profiles: list[Profile]) -> Fault:
    """No column speaks for a decision, an outcome or a score; or one does, and has too many values."""
    taken = compared_columns(found)
    able = binary_columns(profiles, taken)
    many = next((p for p in profiles if p.name not in taken and speaks_for_a_role(p)), None)
    if many is not None and not able:
        cure = Words(
            "say what it is and which count as 1, such as {} {}",
            Set("decision", many.name), Set("positive", many.labels[-1]),
        )  # fmt: skip
        text = f"found no decision, outcome or score of two values; {many.name!r} has {len(many.labels)}"
        return Fault("", text, cure=cure)
    cure = Words("name one with {}, {} or {}", Set("decision"), Set("outcome"), Set("score"))
    few = [name for name in comparable(profiles) if name not in taken]
    hint = _proposed(able, "of two values", len(able)) or _proposed(few, "of few labels", LISTED)
    real = [repr(name) for name in numbers(profiles) if name not in taken]
    hint += f" An outcome or a score may be a number: {listed(real)}." if real else ""
    return Fault("", "found no decision, outcome or score", cure=cure, hint=hint)


def _proposed(names: list[str], kind: str, most: int) -> str:
    """Columns that may be meant; a person knows which."""
    return f" Columns {kind}: {listed([repr(name) for name in names], most)}." if names else ""


def listed(names: list[str], most: int = LISTED) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _label_faults(found: Guess, by_name: Mapping[str, Profile]) -> Iterator[Fault]:
    """Parts that no audit can read."""
    for role in ("decision", "outcome"):
        profile = by_name.get(str(getattr(found, role)))
        if profile is not None and profile.name in compared_columns(found):
            yield Fault(
                role,
                "is also what people are compared by",
                subject=repr(profile.name),
                cure="name two different columns",
            )
        elif (
            profile is not None
            and role not in found.positive
            and found.total is None
            and not (role == "decision" and found.amount)
        ):
            yield from _value_faults(role, profile)
    for name in found.groups:
        if name in by_name and by_name[name].identifier and name not in found.bins:
            yield Fault(
                "group",
                "has a different label in nearly every row",
                subject=repr(name),
                cure="name a column whose labels many rows share",
            )


def _value_faults(role: str, profile: Profile) -> Iterator[Fault]:
    """A decision has two values, or it is said which count as 1."""
    count, subject = f"has {len(profile.labels):,} different values", repr(profile.name)
    if profile.binary and not profile.zero_one:
        one, other = profile.labels
        cure = Words("say which counts as 1 with {} or {}", Set("positive", one), Set("positive", other))
        yield Fault(
            role, f"is {one} or {other}, and which of them means yes is not said", cure=cure, subject=subject
        )
    elif needs_labels(profile, role):
        cure = Words("say which count as 1 with {}", Set("positive", profile.labels[-1]))
        yield Fault(role, f"{count}: {', '.join(profile.labels[:LISTED])}", cure=cure, subject=subject)
    elif role == "decision" and len(profile.labels) > MAX_CATEGORIES:
        cure = Words("a number that decisions rest on is a {}", Set("score"))
        yield Fault(role, f"{count} where a decision has two", cure=cure, subject=subject)
