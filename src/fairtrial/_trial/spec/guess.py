"""Which column plays which part: guesses from names and values, for a person to check."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from fairtrial._trial.spec import name_words as words
from fairtrial._trial.spec.attributes import (
    columns_inside,
    left_out_of,
    named_attributes,
)
from fairtrial._trial.spec.leaks import leaking
from fairtrial._trial.spec.name_words import good_for_a_person, meaning_yes, positive_label, readable
from fairtrial._trial.spec.one_hot import Family, families
from fairtrial._trial.spec.profile import MAX_CATEGORIES, ROWS, Profile
from fairtrial._trial.spec.table_of_counts import count_column, counted_part
from fairtrial._trial.spec.tables import PRESETS

MOST_ALIKE = 12  # labels of what may explain a gap: with more, few people are alike
PEOPLE_ALIKE = 30  # rows for each of its labels
MANY = 10  # more numbers than this are no labels
PARTS = 4  # a number that people are compared by is cut into quarters
NEEDS_OUTCOME = ("risk-score", "healthcare")


@dataclass(slots=True)
class Guess:
    """A proposal: roles, preset, and why each is uncertain."""

    preset: str
    outcome: str | None = None
    decision: str | None = None
    score: str | None = None
    threshold: float | str | None = None
    amount: bool = False  # whether the decision is one, such as pay
    attributes: list[str] = field(
        default_factory=list
    )  # as they are named; what they are to an audit follows:
    groups: list[str] = field(default_factory=list)
    define: dict[str, dict[str, int]] = field(default_factory=dict)
    bins: dict[str, int] = field(default_factory=dict)
    features: list[str] = field(default_factory=list)
    merge: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # labels that mean the same
    unit: str | None = None  # who is repeated
    within: list[str] = field(default_factory=list)  # what may explain a difference
    unasked: str | None = None  # a score that the decision makes needless
    positive: dict[str, str | list[str]] = field(default_factory=dict)
    missing: str = "error"
    favourable: int | str | None = None
    count: str | None = None  # how many people a row stands for,
    total: str | None = None  # or of how many the decision or outcome counts some
    score_favours: str | None = None
    words: dict[str, object] = field(default_factory=dict)  # the keys of [words]
    remarks: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def guess(profiles: Sequence[Profile], preset: str | None = None) -> Guess:
    """The most likely parts of the columns; what no name speaks for is left open."""
    grouped = families(profiles)
    found = Guess(preset=preset or _preset(profiles, grouped))
    compare_by(found, named_attributes(profiles, grouped), profiles)
    found.count = count_column(profiles, compared_columns(found))
    counted = _guess_total(found, profiles)
    _guess_roles(found, [(n, p) for n, p in _spoken(profiles, grouped) if p.name not in counted])
    if found.decision is None and found.score is None and found.outcome is None:
        found.decision = pay_column(profiles, compared_columns(found) | counted)
    _settle(found, profiles)
    return found


def _guess_total(found: Guess, profiles: Sequence[Profile]) -> set[str]:
    """The columns of counts: of everybody, and of those with the decision or else the outcome."""
    for role in ("decision", "outcome") if found.count is not None else ():
        part = counted_part(str(found.count), profiles, role)
        if part is not None:
            setattr(found, role, part)
            found.count, found.total = None, found.count
            break
    return {name for name in (found.count, found.total, found.decision, found.outcome) if name}


def _guess_roles(found: Guess, named: Sequence[tuple[str, Profile]]) -> None:
    """Decision, score and outcome by their names, each another column."""
    taken = compared_columns(found)
    fits: dict[str, Callable[[Profile], bool]] = {
        "decision": lambda profile: profile.binary,
        "score": _is_score,
        "outcome": lambda profile: (
            (profile.binary or (found.preset == "healthcare" and _needs(profile)))
            and not profile.identifier
            and not _background(profile)
        ),
    }
    for role, fit in fits.items():
        if found.total is not None and (role == "score" or getattr(found, role) is not None):
            continue  # of totals nothing else is known of single people
        best = _best([(name, p) for name, p in named if p.name not in taken and fit(p)], role)
        setattr(found, role, best)
        taken |= {best} if best else set()


def _needs(profile: Profile) -> bool:
    """Need is often a number."""
    return profile.numeric and words.role_rank(profile.name, "need") is not None


def _background(profile: Profile) -> bool:
    """An income of high or low says where people come from; one of >50K is what a model is to predict."""
    amount = profile.binary and not profile.zero_one and words.role_rank(profile.name, "amount") is not None
    return amount and not any(sign.isdigit() for label in profile.labels for sign in label)


def compared_columns(found: Guess) -> set[str]:
    """The columns that people are compared by, those behind a definition among them."""
    plain = {name for name in found.groups if name not in found.define}
    return plain.union(*found.define.values())


def pay_column(profiles: Sequence[Profile], taken: Collection[str]) -> str | None:
    """The column of what people are paid, which is a decision where nothing else is one."""
    listed = words.words_for("roles", "pay")
    ranked = [
        (place, index, profile.name)
        for index, profile in enumerate(profiles)
        if profile.name not in taken and is_amount(profile)
        if (place := words.rank(profile.name, listed)) is not None
    ]
    return min(ranked)[-1] if ranked else None


def is_amount(profile: Profile) -> bool:
    """Whether a column holds amounts: many numbers, none below 0."""
    return profile.numeric and len(profile.labels) > MANY and 0 <= profile.low < profile.high


def make_answerable(found: Guess) -> None:
    """A guessed preset must find what it needs: what is written has to run as it stands."""
    if found.decision is None and found.score is not None and found.threshold is None:
        found.threshold = "median"
        found.remarks["threshold"] = "a guess: the decision is a score above the sample's median"
    if found.decision is None and found.threshold in (None, "median"):
        found.favourable = None  # whether more of a score is good for a person is not to be guessed
    found.preset = fitting_preset(found)


def fitting_preset(found: Guess) -> str:
    """The guessed field where its questions can be asked; that of health asks about an outcome that is a need."""
    if found.amount:
        return "general"  # the only one that asks about numbers
    needless = found.preset == "healthcare" and words.role_rank(str(found.outcome), "need") is None
    return "general" if needless or found.preset not in answerable_presets(found) else found.preset


def answerable_presets(found: Guess) -> list[str]:
    """The kinds of audit that find what they need."""
    decided = found.decision is not None or found.score is not None
    able = [name for name in PRESETS if name == "general" or decided]
    return [name for name in able if found.outcome is not None or name not in NEEDS_OUTCOME]


def compare_by(found: Guess, named: Sequence[str], profiles: Sequence[Profile]) -> None:
    """People are compared by these: columns, numbers in quarters, or attributes written as columns of 0 and 1."""
    by_name = {profile.name: profile for profile in profiles}
    written = {family.name: family for family in families(profiles)}
    found.attributes = list(dict.fromkeys(named))
    found.groups, found.define, found.bins = [], {}, {}
    for name in found.attributes:
        if name not in by_name and name in written:
            defined = written[name].definitions()
            found.define |= defined
            found.groups += defined
            continue
        found.groups.append(name)
        if name in by_name and by_name[name].numeric and not by_name[name].category:
            found.bins[name] = PARTS


def binary_columns(profiles: Sequence[Profile], taken: Collection[str]) -> list[str]:
    """Columns that could hold a decision or an outcome."""
    inside = columns_inside(families(profiles))
    return [p.name for p in profiles if p.binary and p.name not in inside and p.name not in taken]


def numbers(profiles: Sequence[Profile]) -> list[str]:
    """Columns that could hold a real outcome, a score, or a number to cut into quarters."""
    return [p.name for p in profiles if p.numeric and not p.category and not p.identifier and p.low < p.high]


def speaks_for_a_role(profile: Profile) -> bool:
    """Whether a column of several labels is named as a decision or an outcome is; a count of many values is neither."""
    named = any(words.role_rank(profile.name, role) is not None for role in ("decision", "outcome"))
    most = MANY if profile.numeric else MAX_CATEGORIES
    return named and 2 < len(profile.labels) <= most


def settle(found: Guess, profiles: Sequence[Profile]) -> None:
    """What follows from parts that somebody named."""
    found.positive, found.features, found.missing, found.threshold = {}, [], "error", None
    _settle(found, profiles)


def settle_parts(found: Guess, by_name: Mapping[str, Profile]) -> None:
    """What follows from another decision, outcome or score: a cut-off, labels, what is good."""
    found.positive, found.threshold = {}, None
    _settle_roles(found, by_name)
    settle_favourable(found)


def _settle(found: Guess, profiles: Sequence[Profile]) -> None:
    """What follows from the parts: a decision from the score, labels, missing values, features."""
    by_name = {profile.name: profile for profile in profiles}
    _settle_roles(found, by_name)
    find_missing(found, by_name)
    settle_favourable(found)
    find_features(found, profiles)


def _settle_roles(found: Guess, by_name: Mapping[str, Profile]) -> None:
    _settle_decision(found, by_name)
    found.amount = found.total is None and found.decision is not None and is_amount(by_name[found.decision])
    for role in ("decision", "outcome"):
        profile = by_name.get(str(getattr(found, role)))
        labelled = profile is not None and not profile.zero_one and found.total is None
        label = positive_label(profile) if profile is not None and labelled else None
        if label is not None:
            found.positive[role] = label
            found.remarks["positive"] = "the labels that count as 1: check them"


def find_features(found: Guess, profiles: Sequence[Profile]) -> None:
    """The features are what is left once everything else has its part."""
    _settle_counts(found, profiles)
    taken = {*_role_columns(found), *compared_columns(found), found.count, found.total, found.unasked}
    written = [set(family.columns.values()) for family in families(profiles)]
    taken = taken.union(*(family for family in written if family & taken))
    parts = [profile for profile in profiles if profile.name in (*_role_columns(found), found.unasked)]
    told = {name: part for name, part in leaking(parts, profiles) if name not in taken}
    taken |= told.keys()
    found.warnings += [
        f"{name!r} says again what {part!r} says: it is not proposed as a feature."
        for name, part in told.items()
    ]
    found.features = [
        profile.name for profile in profiles if profile.name not in taken and _is_feature(profile)
    ]


def explaining(found: Guess, profiles: Sequence[Profile]) -> list[str]:
    """The first feature that may explain a gap: few labels, each of many rows."""
    people = _people(found, profiles)
    able = [p.name for p in profiles if p.name in found.features and _makes_alike(p, people)]
    return [name for name in able if words.role_rank(name, "factor") is not None][:1]


def _people(found: Guess, profiles: Sequence[Profile]) -> float:
    """How many people the rows looked at are."""
    counted = next((p for p in profiles if p.name in (found.count, found.total)), None)
    if counted is None:
        return float(profiles[0].rows)
    return sum(float(label) * rows for label, rows in zip(counted.labels, counted.counts, strict=True))


def _makes_alike(profile: Profile, people: float) -> bool:
    few = profile.category and len(profile.labels) <= MOST_ALIKE
    return few and people >= PEOPLE_ALIKE * len(profile.labels)


def _settle_counts(found: Guess, profiles: Sequence[Profile]) -> None:
    """Counts are no other part; a total goes with a column that counts some of its people."""
    taken = {*_role_columns(found), *compared_columns(found)}
    found.count = None if found.count in taken else found.count
    if found.total is not None:
        told = {counted_part(found.total, profiles, role) for role in ("decision", "outcome")}
        fits = found.total not in taken and bool(told & {found.decision, found.outcome} - {None})
        found.total = found.total if fits else None


def _role_columns(found: Guess) -> list[str]:
    return [name for name in (found.decision, found.outcome, found.score) if name]


def find_missing(found: Guess, by_name: Mapping[str, Profile]) -> None:
    """What is done with rows that lack a value of a part."""
    found.missing, found.warnings = "error", []
    roles = [by_name[name] for name in _role_columns(found)]
    lacking = [f"{profile.name!r} is missing in {_share(profile)}" for profile in roles if profile.missing]
    compared = [by_name[name] for name in compared_columns(found) if name in by_name]
    if lacking:
        found.missing = "drop"
        found.warnings.append(
            f'{"; ".join(lacking)}: such rows are left out of every answer that needs the value (missing = "drop").'
        )
    elif found.preset == "employment" or any(profile.missing for profile in compared):
        found.missing = "category"


def settle_favourable(found: Guess) -> None:
    """Whether decision 1 is good for a person, where the names say it; it is asked for where they do not."""
    found.remarks.pop("favourable", None)
    if found.amount:
        found.favourable = words.good_amount(str(found.decision))
        told = {"high": "more pay is good for a person", "low": "a lower one is good for a person"}
        found.remarks |= {"favourable": told[found.favourable]} if found.favourable is not None else {}
        return
    counted = found.positive.get("decision", "")
    labels = [counted] if isinstance(counted, str) else counted
    decided = found.decision is not None or found.threshold is not None
    said = {good_for_a_person(str(found.decision or found.score), label) for label in labels if decided}
    found.favourable = said.pop() if len(said) == 1 else None
    if found.favourable is not None:
        found.remarks["favourable"] = (
            "a guess: the decision that is good for a person; findings say who is harmed"
        )


def _share(profile: Profile) -> str:
    about = "about " if profile.rows >= ROWS else ""  # the others were not looked at
    return f"{about}{100 * profile.missing / max(profile.rows, 1):.3g}% of the rows"


def _settle_decision(found: Guess, by_name: Mapping[str, Profile]) -> None:
    """Where no column of decisions was found, the score stands for them."""
    if found.decision is None and found.score is not None:
        found.threshold, found.remarks["threshold"] = _threshold(found.preset, by_name[found.score])
    if found.decision is not None and found.score is not None and found.preset == "employment":
        found.score, found.unasked = None, found.score  # the decision says all that is asked


def _is_feature(profile: Profile) -> bool:
    usable = profile.numeric or profile.category
    return usable and len(profile.labels) > 1 and not profile.missing and not profile.identifier


def _preset(profiles: Sequence[Profile], grouped: Sequence[Family]) -> str:
    """The field that most names speak for; none where none speaks."""
    inside = columns_inside(grouped)
    names = [*(p.name for p in profiles if p.name not in inside), *(family.name for family in grouped)]
    votes = {
        field: sum(words.rank(name, listed) is not None for name in names) for field, listed in words.fields()
    }
    best = max(votes, key=lambda name: votes[name])
    return best if votes[best] else "general"


def left_out(found: Guess, profiles: Sequence[Profile]) -> list[str]:
    """What is not compared although its name says that people may be compared by it."""
    return left_out_of([*found.attributes, *_role_columns(found)], profiles)


def _spoken(profiles: Sequence[Profile], grouped: Sequence[Family]) -> list[tuple[str, Profile]]:
    """Columns with the names that speak for them: of an attribute written as several, the column that means yes."""
    inside = columns_inside(grouped)
    meant = {column: family.name for family in grouped if (column := _meaning_yes(family))}
    return [
        (meant.get(profile.name, profile.name), profile)
        for profile in profiles
        if profile.name not in inside or profile.name in meant
    ]


def _meaning_yes(family: Family) -> str | None:
    """The column of the label that means yes."""
    label = meaning_yes(tuple(family.columns), family.name)
    return None if label is None else family.columns[label]


def _best(named: Sequence[tuple[str, Profile]], part: str) -> str | None:
    listed = words.words_for("roles", part)
    ranked = [
        (place, not readable(profile), name.lower() != listed[place].lstrip("="), index, profile.name)
        for index, (name, profile) in enumerate(named)
        if (place := words.rank(name, listed)) is not None
    ]
    return min(ranked)[-1] if ranked else None


def _is_score(profile: Profile) -> bool:
    return (
        profile.numeric
        and len(profile.labels) > 4
        and not (profile.identifier and profile.low >= 0 and profile.high > 1000)
    )


def _threshold(preset: str, profile: Profile) -> tuple[float | str, str]:
    if preset == "employment":
        return "median", "the share above the sample median is compared, as Local Law 144 asks for scores"
    if profile.low >= 1 and profile.high == 10:
        return 5, "a guess: the middle of a score from 1 to 10; put the cut-off that is used"
    if profile.low >= 0 and profile.high <= 1:
        return 0.5, "a guess: put the cut-off that is used"
    return "median", "a guess: scores above the sample median; put the cut-off that is used"
