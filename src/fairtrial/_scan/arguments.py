"""The options of scan and scan_all, declared once for both, and what both pass on of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, Protocol, TypeAlias

from fairtrial import _options as options
from fairtrial._errors import Fault, InputError, Set, Words, choice_fault
from fairtrial._metrics.groups import A_GROUP, Group
from fairtrial._options import Option
from fairtrial._work import Progress


class Classifier(Protocol):
    """A classifier as scikit-learn makes them: fitted with sample weights, asked for probabilities."""

    def fit(self, *args: Any, **kwargs: Any) -> Any: ...
    def predict_proba(self, *args: Any, **kwargs: Any) -> Any: ...


def zero_or_one(text: str) -> int | str:
    """'0' and '1' as numbers, anything else as the text it is.

    >>> zero_or_one("1"), zero_or_one("any")
    (1, 'any')
    """
    return int(text) if text in ("0", "1") else text


OneGroup: TypeAlias = Mapping[str, Any] | Group
Protected = Annotated[
    OneGroup,
    Option("The protected class, such as race=African-American.", form=options.group, must=A_GROUP),
]
Reference = Annotated[
    OneGroup | None,
    Option(
        "Compare with this group only, such as race=Caucasian, not with everybody else.",
        form=options.group,
        must=A_GROUP,
    ),
]
Attributes = Annotated[
    str | Sequence[str] | None,
    Option(
        "Attributes of which every value is scanned as the protected class; default: the audit's groups.",
        many=True,
    ),
]
Features = Annotated[
    str | Sequence[str] | None,
    Option(
        "Attributes that subgroups are built from; default: the audit's features, else its other groups.",
        many=True,
        flag="feature",
    ),
]
AlsoFeatures = Annotated[
    str | Sequence[str] | None,
    Option(
        "Attributes that subgroups are built from besides those scanned; default: the audit's features.",
        many=True,
        flag="feature",
    ),
]
Within = Annotated[
    str | Sequence[str] | None,
    Option("Attributes that are controlled for without being searched.", many=True),
]
Ranges = Annotated[
    bool,
    Option("Whether numbers and ordered categories are searched as ranges, such as age 18 to 24."),
]
Score = Annotated[
    Literal["matched", "article"],
    Option(
        "'matched' compares like with like; 'article' is the article's likelihood ratio.",
        flag="scan-score",  # --score names the column of the audit
    ),
]
Direction = Annotated[
    Literal["above", "below", "harmed", "differs"] | None,
    Option(
        "Rates above what comparable people get, below, on the side that harms by the audit's favourable decision, or "
        "either (differs); default: harmed where that is known, else the side that hurts by the metric."
    ),
]
Condition = Annotated[
    Literal[0, 1, "any"] | None,
    Option("0, 1, or any for both values at once, instead of the metric's own condition.", form=zero_or_one),
]
Penalty = Annotated[
    float | None,
    Option(
        "What every listed value, or every range, of a subgroup costs its score; default: 1, with the matched score "
        "half the logarithm of the most values of an unordered feature where that is more.",
        least=0,
        most=1e9,
    ),
]
Search = Annotated[
    Literal["auto", "exact", "depth-2", "restarts"],
    Option(
        "All subgroups ('exact'), those that restrict at most two features ('depth-2'), or, with the article's score, "
        "climbs ('restarts'); 'auto' is exact where every draw affords it."
    ),
]
Restarts = Annotated[
    int, Option("From how many starts the article's score climbs without proof.", least=1, most=100_000)
]
NullName: TypeAlias = Literal["ladder", "stratified", "bootstrap", "propensity", "global"]
Null = Annotated[
    NullName | None,
    Option(
        "How luck is simulated: 'stratified' needs no model to be right; 'ladder' takes it, or 'propensity' where too "
        "few can move; none skips it."
    ),
]
NeededNull = Annotated[
    NullName,
    Option(
        "How luck is simulated: 'stratified' needs no model to be right; 'ladder' takes it, or 'propensity' where too "
        "few can move."
    ),
]
NullModelName: TypeAlias = Literal["blocks", "pairwise", "saturated", "main"]
NullModel = Annotated[NullModelName, Option("The model that a bootstrap or propensity null draws from.")]
Permutations = Annotated[int, Option("How often luck is drawn.", least=19, most=10_000_000)]
EnoughPermutations = Annotated[
    int | Literal["enough"],
    Option(
        "How often luck is drawn in each scan; 'enough' lets a clear finding survive the correction.",
        least=19,
        most=10_000_000,
    ),
]
Sequential = Annotated[bool, Option("Whether a scan that is clearly not significant stops drawing early.")]
Top = Annotated[int, Option("How many subgroups are listed.", least=1, most=1000)]
Sigma = Annotated[
    float | Literal["estimated"],
    Option("The spread of log-odds in the article's score of mean scores.", above=0),
]
Expectation = Annotated[
    Literal["logistic", "doubly-robust", "score"] | Classifier,
    Option(
        "The article's expected rates: how they are fitted, or the score itself, which makes calibration a plain bias "
        "scan; in Python also a scikit-learn classifier."
    ),
]
Propensity = Annotated[
    Literal["logistic"] | Classifier,
    Option("How the article's score fits class membership; in Python also a scikit-learn classifier."),
]
Ridge = Annotated[float, Option("The ridge of the article's and of named null models.", above=0)]
Unsupported = Annotated[
    Literal["flag", "drop"],
    Option("People without a counterpart outside the class, in the article's score: counted, or left out."),
]
Scores = Annotated[
    Literal["exact", "bins"],
    Option("Every distinct score, or the audit's score bins, as events and in the article's models."),
]
Probability = Annotated[
    Literal["score", "outcome-rate"],
    Option("'outcome-rate' reads a score that is no probability as the outcome rate of those who have it."),
]
Neighbours = Annotated[
    int,
    Option(
        "How many people with neighbouring scores make one stratum where the score is the condition.", least=2
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanSettings:
    """The options of one scan, as they are declared."""

    ranges: Ranges
    score: Score
    direction: Direction
    condition: Condition
    penalty: Penalty
    search: Search
    restarts: Restarts
    null: Null
    null_model: NullModel
    top: Top
    sigma: Sigma
    expectation: Expectation
    propensity: Propensity
    ridge: Ridge
    unsupported: Unsupported
    scores: Scores
    probability: Probability
    neighbours: Neighbours
    confidence_level: float

    def recorded_models(self) -> dict[str, str]:
        """The models in words; a classifier with its own settings."""
        models = {"expectation": self.expectation, "propensity": self.propensity}
        return {name: model if isinstance(model, str) else repr(model) for name, model in models.items()}

    def to_dict(self) -> dict[str, Any]:
        """Everything that the numbers depend on."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | self.recorded_models()


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawSettings:
    """How luck is drawn; 0 permutations are as many as the correction over scans needs."""

    permutations: int
    seed: int
    sequential: bool = False
    jobs: int | None = None
    progress: Callable[[Progress], None] | None = None


def check_settings(who: str, settings: ScanSettings) -> None:
    """What a declaration cannot tell: classifiers, and options that belong to the other score."""
    expectation = _model_fault("expectation", settings.expectation, ("logistic", "doubly-robust", "score"))
    propensity = _model_fault("propensity", settings.propensity, ("logistic",))
    faults = [fault for fault in (expectation, propensity) if fault]
    faults = faults or _faults_of_the_other_score(settings)
    if faults:
        raise InputError(who, faults)


_ARTICLE_ONLY = {
    "expectation": "logistic", "propensity": "logistic", "sigma": "estimated", "unsupported": "flag",
}  # fmt: skip


def _faults_of_the_other_score(settings: ScanSettings) -> list[Fault]:
    if settings.score == "article":
        deep = settings.search == "depth-2"
        return (
            [
                Fault(
                    "search",
                    "belongs to the matched score",
                    got="depth-2",
                    cure=Words("leave out {}", Set("score")),
                )
            ]
            if deep
            else []
        )
    asked = [name for name, usual in _ARTICLE_ONLY.items() if getattr(settings, name) != usual]
    asked += ["search"] if settings.search == "restarts" else []
    cure = Words("give {} with it", Set("score", "article"))
    needs = "belongs to the article's score"
    return [Fault(name, needs, got=_shown(settings, name), cure=cure) for name in asked]


def _shown(settings: ScanSettings, name: str) -> Any:
    value = getattr(settings, name)
    return value if isinstance(value, str | int | float) else type(value).__name__


def _model_fault(argument: str, model: object, named: tuple[str, ...]) -> Fault | None:
    if isinstance(model, str):
        return choice_fault(argument, model, named)
    if hasattr(model, "fit") and hasattr(model, "predict_proba"):
        return None
    return Fault(argument, f"must be one of {list(named)} or a classifier with predict_proba", got=model)
