"""Who finds the less discriminatory rule? fairtrial's search beside fairlearn and AIF360, given the same time.

    pip install -r benchmarks/requirements-alternatives.txt      (an environment that also has fairtrial)
    python benchmarks/alternatives.py [--keep FILE] [--seconds N] [--write] [problem ...]

Every method gets the same training rows and 5 seconds of one processor; its settings are tried in a fixed order until
the time is over, each out of fold. fairtrial's search takes what it takes, which is less. All choose alike: the least
gap among the settings whose accuracy out of fold is at most a point below the status quo's. Then everything is measured
on rows that nobody saw: accuracy, gap, the difference from fairtrial's rule with paired intervals, and fairtrial's own
test of each rule. Finished methods are kept in FILE and not run again; --write puts the tables into docs/improve.md.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

MARGIN = 0.01  # of accuracy, in points
FOLDS = 3
SECONDS = 5.0  # of one processor, for each method
DRAWS = 4000
DOCS = Path(__file__).resolve().parent.parent / "docs" / "improve.md"
MARKS = ("<!-- alternatives -->", "<!-- end of alternatives -->")


@dataclass
class Problem:
    """People with two groups, and where the status quo, the search and the test get their rows."""

    name: str
    metric: str
    data: pd.DataFrame  # columns: features, group (a or b), outcome
    features: list[str]
    sizes: tuple[int, int, int]
    truth: Callable[[pd.DataFrame], tuple[np.ndarray, np.ndarray]] | None = None

    def parts(self) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        order = np.random.default_rng(0).permutation(len(self.data))
        first, second, third = self.sizes
        cuts = [order[:first], order[first : first + second], order[first + second : first + second + third]]
        return tuple(self.data.iloc[np.sort(cut)].reset_index(drop=True) for cut in cuts)  # type: ignore[return-value]


# -- the problems -------------------------------------------------------------------------------------------------


def adult(metric: str) -> Problem:
    import fairtrial

    data = pd.DataFrame(fairtrial.load("adult"))
    numbers = ["age", "education_num", "hours_per_week", "capital_gain", "capital_loss"]
    labels = ["workclass", "marital_status", "occupation"]
    data = data.assign(
        group=np.where(data["sex"] == "Male", "a", "b"), outcome=(data["income"] == ">50K").astype(int)
    )
    data = data.dropna(subset=[*numbers, *labels])
    return Problem(f"Adult, {WORDS[metric]}", metric, data, [*numbers, *labels], (6000, 6000, 20_000))


def compas(metric: str) -> Problem:
    import fairtrial

    data = pd.DataFrame(fairtrial.load("compas"))
    data = data[data["race"].isin(["African-American", "Caucasian"])]
    data = data.assign(
        group=np.where(data["race"] == "African-American", "a", "b"), outcome=data["two_year_recid"]
    )
    features = ["age", "priors_count", "juv_fel_count", "juv_misd_count", "sex", "c_charge_degree"]
    return Problem(f"COMPAS, {WORDS[metric]}", metric, data, features, (1500, 2300, 2350))


def synthetic(metric: str) -> Problem:
    """Merit, a proxy of the group that matters as well, and noise: the best rule at every gap is known."""
    rng = np.random.default_rng(1)
    merit, proxy, noise = rng.normal(size=(3, 40_000))
    group = rng.random(40_000) < _sigmoid(1.5 * proxy)
    outcome = rng.random(40_000) < _sigmoid(2.0 * merit + 1.2 * proxy)
    data = pd.DataFrame({"merit": merit, "proxy": proxy, "noise": noise, "outcome": outcome.astype(int)})
    data["group"] = np.where(group, "a", "b")

    def truth(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        positive = _sigmoid(2.0 * frame["merit"].to_numpy() + 1.2 * frame["proxy"].to_numpy())
        share = _sigmoid(1.5 * frame["proxy"].to_numpy())
        return 2 * positive - 1, share / 0.5 - (1 - share) / 0.5

    features = ["merit", "proxy", "noise"]
    return Problem(f"synthetic, {WORDS[metric]}", metric, data, features, (6000, 6000, 28_000), truth)


WORDS = {"selection_rate": "selection rate", "tpr": "true positive rate"}
PROBLEMS: dict[str, Callable[[], Problem]] = {
    "synthetic": lambda: synthetic("selection_rate"),
    "compas": lambda: compas("selection_rate"),
    "adult": lambda: adult("selection_rate"),
    "compas-tpr": lambda: compas("tpr"),
    "adult-tpr": lambda: adult("tpr"),
}


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


# -- the methods --------------------------------------------------------------------------------------------------

Decide = Callable[[pd.DataFrame], np.ndarray]


def prepared(base: Any, features: list[str], data: pd.DataFrame) -> Any:
    """A pipeline from the columns to a base classifier."""
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    labels = [name for name in features if not pd.api.types.is_numeric_dtype(data[name])]
    numbers = [name for name in features if name not in labels]
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((StandardScaler(), numbers), (encode, labels)), base)


def bases() -> dict[str, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    boosted = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, random_state=0)
    return {"logistic": LogisticRegression(max_iter=200), "boosted": boosted}


class Prepared:
    """Numbers of the features, the encoder fitted on training rows: fairlearn's estimators take arrays."""

    def __init__(self, problem: Problem, train: pd.DataFrame) -> None:
        self.features = problem.features
        self.encoder = prepared("passthrough", self.features, train)[:-1].fit(train[self.features])

    def __call__(self, data: pd.DataFrame) -> np.ndarray:
        return np.asarray(self.encoder.transform(data[self.features]))


def reduction(problem: Problem, train: pd.DataFrame, base: Any, setting: float, *, grid: bool) -> Decide:
    """fairlearn's ExponentiatedGradient at one ε, or GridSearch at one weight of the constraint."""
    from fairlearn import reductions

    encode = Prepared(problem, train)
    kind = (
        reductions.DemographicParity
        if problem.metric == "selection_rate"
        else reductions.TruePositiveRateParity
    )
    if grid:
        model = reductions.GridSearch(base, kind(), constraint_weight=setting, grid_size=15)
    else:
        model = reductions.ExponentiatedGradient(base, kind(difference_bound=setting), max_iter=30)
    model.fit(encode(train), train["outcome"].to_numpy(), sensitive_features=train["group"].to_numpy())
    seeded = {} if grid else {"random_state": 0}
    return lambda data: np.asarray(model.predict(encode(data), **seeded), dtype=float)


def thresholds(problem: Problem, train: pd.DataFrame, base: Any, setting: float) -> Decide:
    """fairlearn's ThresholdOptimizer: decides by group."""
    from fairlearn.postprocessing import ThresholdOptimizer

    encode = Prepared(problem, train)
    kind = "demographic_parity" if problem.metric == "selection_rate" else "true_positive_rate_parity"
    model = ThresholdOptimizer(
        estimator=base,
        constraints=kind,
        objective="accuracy_score",
        predict_method="predict_proba",
        tol=setting or None,
    )
    model.fit(encode(train), train["outcome"].to_numpy(), sensitive_features=train["group"].to_numpy())
    return lambda data: np.asarray(
        model.predict(encode(data), sensitive_features=data["group"].to_numpy(), random_state=0), dtype=float
    )


def reweighing(problem: Problem, train: pd.DataFrame, base: Any, setting: float) -> Decide:
    """AIF360's reweighing, then the base classifier; the setting is its threshold."""
    from aif360.algorithms.preprocessing import Reweighing
    from aif360.datasets import BinaryLabelDataset

    encode = Prepared(problem, train)
    frame = pd.DataFrame(
        {"outcome": train["outcome"].astype(float), "group": (train["group"] == "a").astype(float)}
    )
    data = BinaryLabelDataset(df=frame, label_names=["outcome"], protected_attribute_names=["group"])
    weights = Reweighing([{"group": 0.0}], [{"group": 1.0}]).fit_transform(data).instance_weights
    base.fit(encode(train), train["outcome"].to_numpy(), sample_weight=weights)
    return lambda rows: (base.predict_proba(encode(rows))[:, 1] >= setting).astype(float)


# name -> (whether it decides by group, how, settings in the order in which they are tried)
RIVALS: dict[str, tuple[bool, Any, tuple[float, ...]]] = {
    "ExponentiatedGradient": (
        False,
        lambda *a: reduction(*a, grid=False),
        (0.1, 0.05, 0.15, 0.02, 0.2, 0.01),
    ),
    "GridSearch": (False, lambda *a: reduction(*a, grid=True), (0.5, 0.25, 0.75, 0.9)),
    "AIF360 reweighing": (False, reweighing, (0.5, 0.45, 0.55, 0.4, 0.6)),
    "ThresholdOptimizer": (True, thresholds, (0.0, 0.02, 0.05, 0.1)),
}


def rival(
    problem: Problem, train: pd.DataFrame, old: np.ndarray, name: str, seconds: float
) -> dict[str, Any]:
    """The setting that a rival would choose within the time, and how it decides."""
    from sklearn.base import clone

    _, made, settings = RIVALS[name]
    fold = np.random.default_rng(2).permutation(len(train)) % FOLDS
    started, tried = time.process_time(), []
    for base_name, setting in ((base, setting) for setting in settings for base in bases()):
        if tried and time.process_time() - started > seconds:
            break
        decision = np.empty(len(train))
        for held in range(FOLDS):
            decide = made(
                problem, train[fold != held].reset_index(drop=True), clone(bases()[base_name]), setting
            )
            decision[fold == held] = decide(train[fold == held].reset_index(drop=True))
        tried.append((base_name, setting, accuracy(train, decision), gap(problem, train, decision)))
    within = [one for one in tried if one[2] >= accuracy(train, old) - MARGIN]
    base_name, setting, *_ = (
        min(within, key=lambda one: one[3]) if within else max(tried, key=lambda one: one[2])
    )
    decide = made(problem, train, clone(bases()[base_name]), setting)
    spent = time.process_time() - started
    return {"decide": decide, "setting": f"{base_name}, {setting:g}", "seconds": spent, "tried": len(tried)}


def ours(problem: Problem, train: pd.DataFrame, old: np.ndarray, *, by_group: bool) -> dict[str, Any]:
    """fairtrial's search on the training rows: its least discriminatory rule within the margin, and what it tests."""
    from fairtrial.data.audit import Audit
    from fairtrial.methods.improve import answer, splits
    from fairtrial.methods.improve.candidates import listing
    from fairtrial.methods.improve.candidates.preparation import prepare
    from fairtrial.methods.improve.method import improve
    from fairtrial.methods.improve.search import fitted, variants_of

    listing.installed = lambda: False  # its own candidates alone
    frame = train[[*problem.features, "group", "outcome"]].assign(decision=old.astype(int))
    audit = Audit(frame, outcome="outcome", decision="decision", groups="group", features=problem.features)
    caught: dict[str, Any] = {}

    def stop(audit: Any, wanted: Any, settings: Any) -> Any:
        caught.update(wanted=wanted, settings=settings)
        raise InterruptedError

    answered, answer.answer = answer.answer, stop
    kind = ["portfolio", "group-thresholds"] if by_group else "portfolio"
    started = time.process_time()
    try:
        improve(audit, "accuracy", problem.metric, candidates=kind, blind=not by_group, pooled=True, margin=MARGIN,
                margin_kind="absolute", jobs=1)  # fmt: skip
    except InterruptedError:
        answer.answer = answered
    ready = prepare(audit, caught["wanted"])
    everyone = np.arange(len(train))
    found = splits.search(ready.contest, ready.candidates, [(everyone, None)], caught["settings"])
    least, tested = found.least_discriminatory(0), found.best(0)
    rules = {}
    for what, which in (("decide", tested if least is None else least), ("tested", tested)):
        candidate, name = variants_of(ready.contest, ready.candidates)[which]
        rule = fitted(ready.contest, candidate, None, np.random.default_rng(0))[name]
        rules[what] = (lambda rows, rule=rule: rule.predict(rows).astype(float)), name
    return {
        "decide": rules["decide"][0], "setting": rules["decide"][1], "tested": rules["tested"],
        "seconds": time.process_time() - started, "tried": len(found.names),
    }  # fmt: skip


# -- measuring ----------------------------------------------------------------------------------------------------


def accuracy(data: pd.DataFrame, decision: np.ndarray) -> float:
    return float(np.mean(decision == data["outcome"].to_numpy()))


def gap(
    problem: Problem, data: pd.DataFrame, decision: np.ndarray, weight: np.ndarray | None = None
) -> float:
    """|level of a − level of b|; with weights (draws, rows) one for each draw."""
    given = np.ones(len(data)) if problem.metric == "selection_rate" else data["outcome"].to_numpy()
    weight = np.ones((1, len(data))) if weight is None else weight
    levels = []
    for name in "ab":
        inside = given * (data["group"] == name).to_numpy()
        levels.append((weight @ (inside * decision)) / (weight @ inside))
    found = np.abs(levels[0] - levels[1])
    return float(found[0]) if found.size == 1 else found


def paired(problem: Problem, data: pd.DataFrame, mine: np.ndarray, other: np.ndarray) -> dict[str, Any]:
    """95% bootstrap intervals of the other's accuracy and gap less ours, from draws of the same people."""
    rng, differences = np.random.default_rng(3), []
    keys = (
        pd.DataFrame({"g": data["group"], "y": data["outcome"], "mine": mine, "other": other})
        .groupby(["g", "y", "mine", "other"])
        .size()
    )
    cells = keys.reset_index()
    frame = cells.rename(columns={"g": "group", "y": "outcome"})
    weight = rng.multinomial(len(data), keys.to_numpy() / len(data), size=DRAWS).astype(float)
    right = [(frame[name] == frame["outcome"]).to_numpy(dtype=float) for name in ("mine", "other")]
    differences.append((weight @ right[1] - weight @ right[0]) / len(data))
    gaps = [gap(problem, frame, frame[name].to_numpy(), weight) for name in ("mine", "other")]
    differences.append(np.asarray(gaps[1]) - np.asarray(gaps[0]))
    return {
        name: [float(v) for v in np.quantile(values, [0.025, 0.975])]
        for name, values in zip(("accuracy", "gap"), differences, strict=True)
    }


def verdict(
    problem: Problem, data: pd.DataFrame, old: np.ndarray, decision: np.ndarray, by_group: bool
) -> float:
    """fairtrial's test of the rule as a challenger on all held-out rows: a point of accuracy conceded."""
    from fairtrial.data.audit import Audit
    from fairtrial.methods.improve.method import improve

    frame = data[["group", "outcome"]].assign(decision=old.astype(int), other=decision.astype(int))
    audit = Audit(frame, outcome="outcome", decision="decision", groups="group")
    return improve(
        audit, "accuracy", problem.metric, candidates="other", fitted_elsewhere=True, pooled=True, margin=MARGIN,
        margin_kind="absolute", sign={"group": "a"}, blind=not by_group,
    ).p_value  # fmt: skip


def possible(problem: Problem, data: pd.DataFrame, wanted: float) -> float | None:
    """The accuracy of the best blind rule with this gap, where the truth is known."""
    if problem.truth is None:
        return None
    gain, adds = problem.truth(data)
    base = float(np.mean((1 - gain) / 2))
    best = 0.0
    for price in np.linspace(0, 2, 201):
        decision = gain > price * adds
        if abs(float(np.mean(adds * decision))) <= wanted:
            best = max(best, base + float(np.mean(gain * decision)))
    return best or None


# -- running ------------------------------------------------------------------------------------------------------


def lines(problem: Problem, kept: dict[str, Any], save: Callable[[], None], seconds: float) -> Iterator[None]:
    """Every method on one problem; what is kept is not run again."""
    first, train, test = problem.parts()
    status = prepared(bases()["logistic"], problem.features, first).fit(
        first[problem.features], first["outcome"]
    )
    old, old_test = (status.predict(part[problem.features]).astype(float) for part in (train, test))
    kept["status quo"] = {"accuracy": accuracy(test, old_test), "gap": gap(problem, test, old_test)}
    mine: dict[bool, np.ndarray] = {}
    for by_group in (False, True):
        name = "fairtrial, by group" if by_group else "fairtrial"
        if name not in kept:
            found = ours(problem, train, old, by_group=by_group)
            kept[name] = measured(problem, test, old_test, found, found["decide"](test), by_group)
            decision, chosen = found["tested"]
            again = {**found, "setting": chosen}
            kept[f"{name}, as tested"] = measured(problem, test, old_test, again, decision(test), by_group)
            save()
            yield
        mine[by_group] = np.array(kept[name]["decision"])
    for name, (by_group, _, _) in RIVALS.items():
        if name in kept:
            continue
        found = rival(problem, train, old, name, seconds)
        decision = found["decide"](test)
        kept[name] = measured(problem, test, old_test, found, decision, by_group)
        kept[name]["paired"] = paired(problem, test, mine[by_group], decision)
        save()
        yield


def measured(
    problem: Problem,
    test: pd.DataFrame,
    old: np.ndarray,
    found: dict[str, Any],
    decision: np.ndarray,
    by_group: bool,
) -> dict[str, Any]:
    size = gap(problem, test, decision)
    return {
        "accuracy": accuracy(test, decision), "gap": size, "p_value": verdict(problem, test, old, decision, by_group),
        "possible": None if by_group else possible(problem, test, size), "setting": found["setting"],
        "seconds": found["seconds"], "tried": found["tried"], "decision": decision.astype(int).tolist(),
    }  # fmt: skip


def table(name: str, kept: dict[str, Any]) -> list[str]:
    """One problem's table."""
    quo = kept["status quo"]
    known = any(row.get("possible") for row in kept.values())
    head = "| rule | tried, seconds | accuracy | gap | accuracy, less ours | gap, less ours | p of the test |"
    found = [
        f"**{name}** (status quo: accuracy {quo['accuracy']:.3f}, gap {quo['gap']:.3f})", "",
        head + (" best possible accuracy at this gap |" if known else ""), "|---" * (8 if known else 7) + "|",
    ]  # fmt: skip
    for method, row in kept.items():
        if method == "status quo":
            continue
        less = row.get("paired")
        intervals = [
            f"{less[part][0]:+.3f} to {less[part][1]:+.3f}" if less else "" for part in ("accuracy", "gap")
        ]
        p = "< .001" if row["p_value"] < 0.001 else f"{row['p_value']:.3f}"
        verdict = f"**{p}**" if row["p_value"] < 0.05 else p
        cells = [method, f"{row['tried']}, {row['seconds']:.0f}", f"{row['accuracy']:.3f}", f"{row['gap']:.3f}",
                 *intervals, verdict]  # fmt: skip
        if known:
            cells.append("" if row["possible"] is None else f"{row['possible']:.3f}")
        found.append("| " + " | ".join(cells) + " |")
    return [*found, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "problems", nargs="*", default=[], help=f"of {', '.join(PROBLEMS)}; all when left out"
    )
    parser.add_argument("--keep", type=Path, default=Path("alternatives.json"), help="finished methods")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of one processor, for each method")
    parser.add_argument("--write", action="store_true", help="put the tables into the docs")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = json.loads(given.keep.read_text()) if given.keep.exists() else {}
    for name in given.problems or PROBLEMS:
        problem = PROBLEMS[name]()
        here = kept.setdefault(problem.name, {})
        for _ in lines(problem, here, lambda: given.keep.write_text(json.dumps(kept)), given.seconds):
            print(f"{problem.name}: {list(here)[-1]}", flush=True)
        print("\n".join(table(problem.name, here)), flush=True)
    if given.write:
        text, (start, end) = DOCS.read_text(), MARKS
        before, after = text.split(start)[0], text.split(end)[1]
        tables = "\n".join(line for name, here in kept.items() for line in table(name, here))
        DOCS.write_text(f"{before}{start}\n{tables}{end}{after}")


if __name__ == "__main__":
    main()
