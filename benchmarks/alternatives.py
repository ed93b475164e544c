"""Who finds the less discriminatory rule? fairtrial's search beside fairlearn and AIF360, given the same time.

    pip install -r benchmarks/requirements-alternatives.txt      (an environment that also has fairtrial)
    python benchmarks/alternatives.py [--keep FILE] [--seconds N] [--write] [problem ...]

The rows of each data set are dealt into parts; each part is held out once, and from the others come the rows of the
status quo and those to search on. Every method gets the same rows and the same time of one processor; its settings are
tried in a fixed order until the time is over, each out of fold. fairtrial's search takes what it takes, which is less.
All choose alike: the least gap among the settings whose accuracy out of fold is at most a point below the status quo's.
Each rival is also compared with the rule of fairtrial's search that has the least gap at the rival's accuracy out of
fold or above: as fair at the same accuracy? Everything is measured on the held-out rows, over all parts. Rivals
that are finished are kept in FILE and not run again; --write puts the tables into docs/improve.md.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

from rivals import MARGIN, RIVALS, Decide, Problem, accuracy, bases, gap, prepared, rival  # noqa: E402

SECONDS = 6.0  # of one processor, for each method and part
DRAWS = 4000
DOCS = Path(__file__).resolve().parent.parent / "docs" / "improve.md"
MARKS = ("<!-- alternatives -->", "<!-- end of alternatives -->")


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
    return Problem(f"Adult, {WORDS[metric]}", metric, data, [*numbers, *labels], (6000, 6000), 2)


def compas(metric: str) -> Problem:
    import fairtrial

    data = pd.DataFrame(fairtrial.load("compas"))
    data = data[data["race"].isin(["African-American", "Caucasian"])]
    data = data.assign(
        group=np.where(data["race"] == "African-American", "a", "b"), outcome=data["two_year_recid"]
    )
    features = ["age", "priors_count", "juv_fel_count", "juv_misd_count", "sex", "c_charge_degree"]
    return Problem(f"COMPAS, {WORDS[metric]}", metric, data, features, (1500, 2600), 3)


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
    return Problem(f"synthetic, {WORDS[metric]}", metric, data, features, (6000, 6000), 2, truth)


WORDS = {"selection_rate": "selection rate", "tpr": "true positive rate"}
PROBLEMS: dict[str, Callable[[], Problem]] = {
    "compas": lambda: compas("selection_rate"),
    "synthetic": lambda: synthetic("selection_rate"),
    "adult": lambda: adult("selection_rate"),
    "compas-tpr": lambda: compas("tpr"),
    "adult-tpr": lambda: adult("tpr"),
}


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


# -- fairtrial's search -------------------------------------------------------------------------------------------


class Search:
    """fairtrial's search on the training rows: every rule that it tried, out of fold, and any of them fitted."""

    def __init__(self, problem: Problem, train: pd.DataFrame, old: np.ndarray, *, by_group: bool) -> None:
        from fairtrial import Audit
        from inside.improve import prepare, splits, terms, variants_of

        terms.installed = lambda: False  # its own candidates alone
        started = time.process_time()
        frame = train[[*problem.features, "group", "outcome"]].assign(decision=old.astype(int))
        audit = Audit(
            frame, outcome="outcome", decision="decision", groups="group", features=problem.features
        )
        request = _asked(audit, problem, by_group)
        ready = prepare(audit, request)
        self.contest = ready.contest
        everyone = np.arange(len(train))
        self.found = splits.search(ready.contest, ready.candidates, [(everyone, None)], request)
        self.variants = variants_of(ready.contest, ready.candidates)
        self.seconds = time.process_time() - started

    @property
    def least(self) -> int:
        """The least discriminatory rule within the margin."""
        found = self.found.least_discriminatory(0)
        return self.tested if found is None else found

    @property
    def tested(self) -> int:
        """The rule that improve would put to the test."""
        return int(self.found.best(0))

    def at_accuracy(self, wanted: float) -> int:
        """The least gap among rules that are as accurate as this, out of fold; else the most accurate one."""
        reached, gaps = (self.found.arrays[name][0] for name in ("accuracy", "gaps"))
        enough = reached[:, 0, -1] >= wanted
        return int(
            np.argmin(np.where(enough, gaps[:, 0], np.inf)) if enough.any() else np.argmax(reached[:, 0, -1])
        )

    def decide(self, which: int) -> Decide:
        from inside.improve import fitted

        candidate, name = self.variants[which]
        rule = fitted(self.contest, candidate, None, np.random.default_rng(0))[name]
        return lambda rows: rule.predict(rows).astype(float)

    def told(self, which: int) -> dict[str, Any]:
        return {"setting": self.variants[which][1], "seconds": self.seconds, "tried": len(self.variants)}


def _asked(audit: Any, problem: Problem, by_group: bool) -> Any:
    """What improve would be asked, caught before it answers."""
    from inside.improve import answer
    from validity.improve_asked import improve

    caught: list[Any] = []

    def stop(audit: Any, request: Any, returns: Any) -> Any:
        caught.append(request)
        raise InterruptedError

    answered, answer.answer = answer.answer, stop
    kind = ["portfolio", "group-thresholds"] if by_group else "portfolio"
    try:
        improve(audit, problem.metric, candidates=kind, blind=not by_group, everyone=True, margin=MARGIN,
                absolute=True, jobs=1)  # fmt: skip
    except InterruptedError:
        pass
    finally:
        answer.answer = answered
    return caught[0]


# -- measuring ----------------------------------------------------------------------------------------------------


def differences(problem: Problem, data: pd.DataFrame, mine: np.ndarray, other: np.ndarray) -> dict[str, Any]:
    """Draws of the other's accuracy and gap less ours, of the same people."""
    rng = np.random.default_rng(3)
    cells = pd.DataFrame({"group": data["group"], "outcome": data["outcome"], "mine": mine, "other": other})
    counts = cells.groupby(list(cells)).size()
    frame = counts.reset_index()
    weight = rng.multinomial(len(data), counts.to_numpy() / len(data), size=DRAWS).astype(float)
    right = [(frame[name] == frame["outcome"]).to_numpy(dtype=float) for name in ("mine", "other")]
    gaps = [gap(problem, frame, frame[name].to_numpy(), weight) for name in ("mine", "other")]
    return {
        "accuracy": (weight @ right[1] - weight @ right[0]) / len(data),
        "gap": np.asarray(gaps[1]) - np.asarray(gaps[0]),
    }


def verdict(
    problem: Problem, data: pd.DataFrame, old: np.ndarray, decision: np.ndarray, by_group: bool
) -> float:
    """fairtrial's test of the rule as a challenger on all held-out rows: a point of accuracy conceded."""
    from fairtrial import Audit
    from validity.improve_asked import improve

    frame = data[["group", "outcome"]].assign(decision=old.astype(int), other=decision.astype(int))
    audit = Audit(frame, outcome="outcome", decision="decision", groups="group")
    return improve(
        audit, problem.metric, candidates="other", everyone=True, margin=MARGIN,
        absolute=True, sign={"group": "a"}, blind=not by_group,
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

QUO = "status quo"


def lines(problem: Problem, k: int, kept: dict[str, Any], seconds: float) -> Iterator[str]:
    """Every method on one part of a problem; rivals that are kept are not run again."""
    first, train, test = problem.part(k)
    status = prepared(bases()["logistic"], problem.features, first)
    status.fit(first[problem.features], first["outcome"])
    old, old_test = (status.predict(part[problem.features]).astype(float) for part in (train, test))
    kept[QUO] = {"accuracy": accuracy(test, old_test), "gap": gap(problem, test, old_test)}
    measured = Measured(problem, test, old_test)
    searches = {by_group: Search(problem, train, old, by_group=by_group) for by_group in (False, True)}
    for by_group, search in searches.items():
        for words, which in (("", search.least), (", as tested", search.tested)):
            name = f"fairtrial{', by group' if by_group else ''}{words}"
            kept[name] = measured.of(search.told(which), search.decide(which)(test), by_group)
    yield "fairtrial"
    for name, (by_group, _, _) in RIVALS.items():
        if name not in kept:
            found = rival(problem, train, old, name, seconds)
            decision = found.pop("decide")(test)
            kept[name] = measured.of(found, decision, by_group) | {"decision": decision.astype(int).tolist()}
        kept[name] |= measured.beside(searches[by_group], kept[name])
        yield name


class Measured:
    """What a rule comes to on held-out rows."""

    def __init__(self, problem: Problem, test: pd.DataFrame, old: np.ndarray) -> None:
        self.problem, self.test, self.old = problem, test, old

    def of(self, found: dict[str, Any], decision: np.ndarray, by_group: bool) -> dict[str, Any]:
        size = gap(self.problem, self.test, decision)
        return {
            **found, "accuracy": accuracy(self.test, decision), "gap": size,
            "p_value": verdict(self.problem, self.test, self.old, decision, by_group),
            "possible": None if by_group else possible(self.problem, self.test, size),
        }  # fmt: skip

    def beside(self, search: Search, other: dict[str, Any]) -> dict[str, Any]:
        """Ours with the least gap at the other's accuracy out of fold, and draws of the differences."""
        which = search.at_accuracy(other["out_of_fold"])
        mine = search.decide(which)(self.test)
        draws = differences(self.problem, self.test, mine, np.array(other["decision"], dtype=float))
        same = {"setting": search.variants[which][1], "accuracy": accuracy(self.test, mine)}
        return {
            "same": {**same, "gap": gap(self.problem, self.test, mine)},
            "draws": {part: np.round(values, 5).tolist() for part, values in draws.items()},
        }


def table(name: str, parts: list[dict[str, Any]]) -> list[str]:
    """One problem's table: means over its parts, intervals of the means."""

    def mean(method: str, *path: str) -> float:
        values = []
        for part in parts:
            value = part[method]
            for key in path:
                value = value[key]
            values.append(value)
        return float(np.mean(values))

    known = parts[0]["fairtrial"]["possible"] is not None
    head = "| rule | tried, seconds | accuracy | gap | shown | ours at its accuracy | accuracy, less ours "
    head += "| gap, less ours |"
    found = [
        f"**{name}** (status quo: accuracy {mean(QUO, 'accuracy'):.3f}, gap {mean(QUO, 'gap'):.3f})", "",
        head + (" best possible at this gap |" if known else ""), "|---" * (9 if known else 8) + "|",
    ]  # fmt: skip
    for method, row in parts[0].items():
        if method == QUO:
            continue
        shown = sum(part[method]["p_value"] < 0.05 for part in parts)
        cells = [method, f"{mean(method, 'tried'):.0f}, {mean(method, 'seconds'):.0f}"]
        cells += [f"{mean(method, what):.3f}" for what in ("accuracy", "gap")]
        cells += [f"{shown} of {len(parts)}", *_beside(method, parts, mean)]
        if known:
            cells.append("" if row["possible"] is None else f"{mean(method, 'possible'):.3f}")
        found.append("| " + " | ".join(cells) + " |")
    return [*found, ""]


def _beside(method: str, parts: list[dict[str, Any]], mean: Callable[..., float]) -> list[str]:
    """Ours at the same accuracy out of fold, and 95% intervals of the differences' means over the parts."""
    if "same" not in parts[0][method]:
        return ["", "", ""]
    cells = [f"{mean(method, 'same', 'accuracy'):.3f}, {mean(method, 'same', 'gap'):.3f}"]
    for what in ("accuracy", "gap"):
        draws = np.mean([part[method]["draws"][what] for part in parts], axis=0)
        low, high = np.quantile(draws, [0.025, 0.975])
        cells.append(f"{low:+.3f} to {high:+.3f}")
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = ", ".join(PROBLEMS)
    parser.add_argument("problems", nargs="*", default=[], help=f"of {names}; all when left out")
    parser.add_argument("--keep", type=Path, default=Path("alternatives.json"), help="finished methods")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of one processor, for each method")
    parser.add_argument("--write", action="store_true", help="put the tables into the docs")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = json.loads(given.keep.read_text()) if given.keep.exists() else {}
    for name in given.problems or PROBLEMS:
        problem = PROBLEMS[name]()
        parts = kept.setdefault(problem.name, [{} for _ in range(problem.parts)])
        for k, part in enumerate(parts):
            for done in lines(problem, k, part, given.seconds):
                given.keep.write_text(json.dumps(kept))
                print(f"{problem.name}, part {k + 1}: {done}", flush=True)
        print("\n".join(table(problem.name, parts)), flush=True)
    if given.write:
        text, (start, end) = DOCS.read_text(), MARKS
        before, after = text.split(start)[0], text.split(end)[1]
        tables = "\n".join(line for name, parts in kept.items() for line in table(name, parts))
        DOCS.write_text(f"{before}{start}\n{tables}{end}{after}")


if __name__ == "__main__":
    main()
