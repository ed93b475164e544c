"""Amri-Jouidel, Kemel and Mussard, "Shapley meets Rawls" (arXiv:2603.26476): Tables 1 to 6 on the Adult data.

    python examples/papers/shapley_meets_rawls.py           # a lighter ensemble, about a minute or two
    python examples/papers/shapley_meets_rawls.py --full    # the paper's five classifiers, B = 1,000, several minutes

The paper keeps gender in every coalition's classifier. Beside its tables stand the two other readings of the same
question: models that never see gender, and gender as a player of its own. Tables 5 and 6 need fairlearn.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import fairtrial

FEATURES = ["age", "education_num", "hours_per_week", "marital"]
MEMBERS = ["equal_surplus", "shapley", "solidarity", "consensus", "lsp"]
WOMEN = {"sex": "Female"}
# Table 3: contribution to the gap (men minus women) and the printed interval
PRINTED = {
    "equal_surplus": [
        (0.817, 0.707, 0.928),
        (-0.152, -0.337, 0.033),
        (0.218, 0.100, 0.337),
        (-0.402, -0.598, -0.205),
    ],
    "shapley": [
        (0.430, 0.366, 0.493),
        (0.067, -0.035, 0.169),
        (0.281, 0.217, 0.344),
        (-0.296, -0.439, -0.152),
    ],
    "solidarity": [
        (0.131, 0.105, 0.157),
        (0.042, 0.010, 0.074),
        (0.087, 0.061, 0.113),
        (-0.019, -0.059, 0.021),
    ],
    "consensus": [
        (0.624, 0.549, 0.698),
        (-0.043, -0.176, 0.091),
        (0.250, 0.170, 0.329),
        (-0.349, -0.508, -0.190),
    ],
    "lsp": [(0.409, 0.340, 0.479), (0.076, -0.025, 0.178), (0.288, 0.219, 0.357), (-0.292, -0.434, -0.151)],
}


def people():
    """The 45,222 complete rows, marital status in the paper's three levels, and a stratified 70/30 split."""
    frame = fairtrial.load("adult", backend="pandas").dropna().reset_index(drop=True)
    together = frame["marital_status"].isin(["Married-civ-spouse", "Married-AF-spouse"])
    never = frame["marital_status"].eq("Never-married")
    frame["marital"] = np.where(together, "married", np.where(never, "never married", "other"))
    random = np.random.default_rng(0)
    in_test = np.zeros(len(frame), dtype=bool)
    for _, rows in frame.groupby(["sex", "income"]).indices.items():
        in_test[random.permutation(rows)[: round(0.3 * rows.size)]] = True
    return frame, in_test


def ensemble(full: bool):
    """Soft voting of class-balanced classifiers; the forest, the slowest of the five, only with --full."""
    svm = CalibratedClassifierCV(LinearSVC(class_weight="balanced", random_state=0), cv=3)
    parts = [
        ("tree", DecisionTreeClassifier(max_depth=6, class_weight="balanced", random_state=0)),
        ("svm", make_pipeline(StandardScaler(), svm)),
        ("logistic", make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced"))),
        (
            "boosting",
            HistGradientBoostingClassifier(
                class_weight="balanced", max_iter=100 if full else 50, random_state=0
            ),
        ),
    ]
    if full:
        parts.append(
            ("forest", RandomForestClassifier(n_estimators=100, class_weight="balanced", random_state=0))
        )
    return VotingClassifier(parts, voting="soft")


def contributions(result, part, group=None):
    rows = [row for row in result.estimates if row["part"] == part and group in (None, row["group"])]
    return [(row["value"], row.get("value_low"), row.get("value_high")) for row in rows]


def show(label, values, form="{:>16}"):
    print(f"  {label:<30}" + "".join(form.format(text) for text in values))


def span(entry):
    value, low, high = entry
    return f"{value:+.3f}" if low is None else f"{value:+.3f} [{low:+.2f},{high:+.2f}]"


def first_stage(before):
    print(
        "\nTable 1: values of the groups, v = TPR / 0.5  (printed: v 1.61; 1.047, 0.565; Solidarity 0.926, 0.685)"
    )
    for name in ("shapley", "solidarity"):
        men, women = (entry["values"][name] for entry in before[name].details["groups"])
        print(f"  {name:<12} v {men + women:.3f}   men {men:.3f}   women {women:.3f}")
    gap = before["shapley"].gap
    print(
        f"  gap {gap['value']:.3f}, 95% interval [{gap['value_low']:.3f}, {gap['value_high']:.3f}]"
        "   (printed: 0.482 [0.407, 0.557], whose pooled variance covers .898, not .95)"
    )


def second_stage(before, draws):
    print("\nTable 2: contributions to the groups' values")
    for name in MEMBERS:
        for group in ("Male", "Female"):
            entries = contributions(before[name], "contribution to the value", group)
            show(f"{name} {group}", [span(entry) for entry in entries], "{:>24}")
    print("\nTable 3: contributions to the gap, our interval, the bootstrap's, and the printed one")
    for name in MEMBERS:
        ours = contributions(before[name], "contribution to the gap")
        for k, feature in enumerate(FEATURES):
            low, high = np.quantile(draws[name][:, k], [0.025, 0.975])
            value, printed_low, printed_high = PRINTED[name][k]
            printed = f"{value:+.3f} [{printed_low:+.2f},{printed_high:+.2f}]"
            same = "" if np.sign(value) == np.sign(ours[k][0]) else "  other sign"
            show(f"{name} {feature}", [span(ours[k]), f"[{low:+.2f},{high:+.2f}]", printed], "{:>24}")
            if same:
                print(f"  {'':<30}{same}")


def bootstrap(frame, in_test, decisions, draws):
    """Resample the test people within gender and outcome and decompose again: what Table 3 compares with."""
    from fairtrial.methods.explain.solver.esl import b_sequence, coefficients

    test = frame[in_test]
    tables = {name: coefficients(b_sequence(name, 4)) for name in MEMBERS}
    scale = {name: b_sequence(name, 2)[1] / 0.5 for name in MEMBERS}
    random = np.random.default_rng(1)
    positives = [
        np.flatnonzero((test["sex"] == sex) & (test["income"] == ">50K")) for sex in ("Male", "Female")
    ]
    found = {name: np.empty((draws, 4)) for name in MEMBERS}
    for b in range(draws):
        rates = [decisions[random.choice(rows, rows.size)].mean(axis=0) for rows in positives]
        for name in MEMBERS:
            found[name][b] = scale[name] * (tables[name] @ (rates[0] - rates[1]))
    return found


class Recorded:
    """Coalition decisions made once and asked for many times."""

    def __init__(self, make):
        self.make, self.known = make, {}

    def __call__(self, names):
        if names not in self.known:
            self.known[names] = self.make(names)
        return self.known[names]


def coalition_table(frame, names, gender):
    """The columns a coalition sees, categories as 0/1."""
    columns = []
    for name in names:
        if name == "marital":
            columns += [frame["marital"].eq(level) for level in ("married", "never married", "other")]
        else:
            columns.append(frame[name])
    if gender:
        columns += [frame["sex"].eq("Female"), frame["sex"].eq("Male")]
    return np.column_stack([np.asarray(column, dtype=float) for column in columns])


def refitted(frame, in_test, model):
    target = frame["income"].eq(">50K").to_numpy().astype(int)

    def make(names):
        table = coalition_table(frame, names, gender=True)
        return clone(model).fit(table[~in_test], target[~in_test]).predict(table[in_test])

    return Recorded(make)


def mitigated(frame, in_test, model):
    """fairlearn's post-processing for equalized odds around every coalition's classifier."""
    from fairlearn.postprocessing import ThresholdOptimizer

    target = frame["income"].eq(">50K").to_numpy().astype(int)
    sex = frame["sex"].to_numpy()

    def make(names):
        table = coalition_table(frame, names, gender=True)
        fitted = clone(model).fit(table[~in_test], target[~in_test])
        rule = ThresholdOptimizer(
            estimator=fitted, constraints="equalized_odds", objective="balanced_accuracy_score", prefit=True,
            predict_method="predict_proba",
        )  # fmt: skip
        rule.fit(table[~in_test], target[~in_test], sensitive_features=sex[~in_test])
        return rule.predict(table[in_test], sensitive_features=sex[in_test], random_state=0)

    return Recorded(make)


def readings(audit, model, in_test, before):
    """The same features under three places for gender: the paper's headline depends on it."""
    print("\nWhere gender stands: Shapley contributions to the gap (men minus women)")
    blind = fairtrial.explain(audit, "tpr", model=model, test=in_test, reference=WOMEN, sensitive="absent")
    player = fairtrial.explain(audit, "tpr", model=model, test=in_test, reference=WOMEN, sensitive="player")
    show("", [*FEATURES, "sex", "gap"])
    for label, result in [
        ("always in (the paper)", before["shapley"]),
        ("absent", blind),
        ("a player", player),
    ]:
        values = [f"{value:+.3f}" for value, *_ in contributions(result, "contribution to the gap")]
        values += [""] * (len(FEATURES) + 1 - len(values))
        show(label, [*values, f"{result.gap['value']:+.3f}"])
    print(
        "  Models that never see gender lean on marital status; with gender as a player, gender carries the gap."
    )


def mitigation(audit, frame, in_test, model, before):
    try:
        after_rule = mitigated(frame, in_test, model)
    except ImportError:
        print("\nTables 5 and 6 need fairlearn: pip install 'fairtrial[fair]'")
        return
    settings = {"test": in_test, "reference": WOMEN, "sensitive": "always", "features": FEATURES}
    after = {
        name: fairtrial.explain(audit, "tpr", coalitions=after_rule, allocation=name, **settings)
        for name in MEMBERS
    }
    print("\nTable 5: after mitigation  (printed: v 1.365; 0.706, 0.659; gap 0.047 [-0.028, 0.122])")
    men, women = (entry["values"]["shapley"] for entry in after["shapley"].details["groups"])
    gap = after["shapley"].gap
    print(
        f"  v {men + women:.3f}   men {men:.3f}   women {women:.3f}"
        f"   gap {gap['value']:.3f} [{gap['value_low']:.3f}, {gap['value_high']:.3f}]"
    )
    print("\nTable 6: contributions to the gap after mitigation")
    for name in MEMBERS:
        show(name, [span(entry) for entry in contributions(after[name], "contribution to the gap")], "{:>24}")
    change = fairtrial.compare(before["shapley"], after["shapley"])
    print("\nBefore and after, paired on the same people (points)")
    print(f"  {change.verdict.text}\n  {change.details['drivers_text']}")


def main(full: bool) -> None:
    warnings.filterwarnings("ignore", module="sklearn")
    frame, in_test = people()
    model = ensemble(full)
    audit = fairtrial.Audit(frame, outcome="income", positive=">50K", groups="sex", features=FEATURES)
    rule = refitted(frame, in_test, model)
    settings = {"test": in_test, "reference": WOMEN, "sensitive": "always"}
    started = time.perf_counter()
    before = {
        name: fairtrial.explain(audit, "tpr", coalitions=rule, allocation=name, **settings)
        for name in MEMBERS
    }
    fitting = time.perf_counter() - started
    count = frame[in_test & frame["income"].eq(">50K")]["sex"].value_counts()
    evaluated = f"{len(frame):,} people, {in_test.sum():,} evaluated"
    print(f"{evaluated}, positives {count['Male']:,} men and {count['Female']:,} women")
    first_stage(before)
    masks = [tuple(FEATURES[k] for k in range(4) if mask >> k & 1) for mask in range(16)]
    decisions = np.column_stack([rule(names) if names else np.zeros(in_test.sum()) for names in masks])
    started = time.perf_counter()
    draws = bootstrap(frame, in_test, decisions, 1000 if full else 300)
    resampling = time.perf_counter() - started
    second_stage(before, draws)
    started = time.perf_counter()
    for name in MEMBERS:
        fairtrial.explain(audit, "tpr", coalitions=rule, allocation=name, **settings)
    inference = time.perf_counter() - started
    print("\nTable 4: times  (printed: 8 minutes against 1 h 18 to 1 h 39 per value)")
    print(
        f"  fits and inference {fitting:.1f} s; both stages again, five values, decisions known {inference:.2f} s; "
        f"bootstrap of {len(draws['lsp']):,} draws {resampling:.1f} s"
    )
    readings(audit, model, in_test, before)
    mitigation(audit, frame, in_test, model, before)


PAGE = """# Shapley meets Rawls

Amri-Jouidel, Kemel and Mussard, *Shapley meets Rawls: an integrated framework for measuring and explaining unfairness*:
Tables 1 to 6 on the Adult data, {settings}. Written by `make papers`. The numbers the paper prints stand in each table
beside ours; intervals are fairtrial's influence intervals, with a bootstrap of the same decomposition to check them.

```text
{output}
```

## What differs from the paper, and why

- **The printed second-stage intervals are too wide** (1.7 to 3.3 times ours). Ours agree with the bootstrap, and their
  coverage is on the [validity board](../validity.md).
- **The first-stage interval of the paper uses the pooled variance** and covers .898 instead of .95; fairtrial gives the
  interval of [certify](../certify.md) for the same gap.
- **The drivers depend on where gender stands.** The paper keeps it in every coalition's classifier. With models that
  never see gender, age no longer drives the gap and marital status does; with gender as a player, gender carries it.
- **Feature tests are not tests of the criterion**: equal rates can hide opposite contributions (Proposition 3.1's "if
  and only if" does not hold). The verdict is the first stage's.

Not reproduced: the level of Table 5. fairlearn's ThresholdOptimizer stands in for the mitigation of the paper, and its
value of the grand coalition differs; the gap after mitigation agrees. Of Table 3's twenty signs, those marked "other
sign" differ; their intervals contain zero, here or in print. Table 4's times are of other machines.
"""


class Tee(io.StringIO):
    """Prints, and remembers what was printed."""

    def write(self, text: str) -> int:
        sys.__stdout__.write(text)
        return super().write(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="the paper's five classifiers and B = 1,000")
    parser.add_argument("--out", type=Path, default=None, help="write the page into this folder")
    arguments = parser.parse_args()
    printed = Tee()
    with contextlib.redirect_stdout(printed):
        main(arguments.full)
    if arguments.out is not None:
        settings = (
            "with the paper's five classifiers" if arguments.full else "quick form (a lighter ensemble)"
        )
        arguments.out.mkdir(parents=True, exist_ok=True)
        page = PAGE.format(settings=settings, output=printed.getvalue().strip())
        (arguments.out / "shapley_meets_rawls.md").write_text(page, encoding="utf-8")
