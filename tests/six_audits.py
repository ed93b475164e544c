"""Six audits whose pages are looked at: three known ones, a wide file, a thousand groups, and nothing to be found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fairtrial
from inside.trial import Trial

Spec = dict[str, Any]


def compas() -> tuple[Spec, None]:
    return {
        "data": {
            "dataset": "compas", "outcome": "two_year_recid", "score": "decile_score", "threshold": 5,
            "groups": ["race", "sex"], "favourable": 0,
        },
        "report": {
            "title": "COMPAS in Broward County",
            "decision": "Whether scores of 5 and above may weigh against a person's release before trial.",
        },
        "measure": {"metric": ["fpr", "fnr", "ppv"], "by": ["race"], "target": {"race": "Caucasian"}},
        "certify": {"metric": "fpr", "by": ["race"], "target": {"race": "Caucasian"}, "tolerance": 0.05},
        "flag": {"metric": "fpr", "direction": "above", "depth": 2},
    }, None  # fmt: skip


def ricci() -> tuple[Spec, None]:
    return {
        "data": {"dataset": "ricci", "decision": "passed", "groups": ["race"], "favourable": 1},
        "report": {
            "title": "Promotion examinations in New Haven, 2003",
            "decision": "Whether the list of those who passed may be used for promotions.",
            "suppress_below": 0,  # court exhibits that anybody can read
        },
        "measure": {"metric": ["selection_rate"], "by": ["race"], "target": {"race": "W"}, "minimum": 10},
        "certify": {"metric": "selection_rate", "by": ["race"], "target": {"race": "W"}, "tolerance": 0.8,
                    "scale": "ratio", "minimum": 10},
        "flag": {"metric": "selection_rate", "direction": "below", "minimum": 10},
    }, None  # fmt: skip


def adult() -> tuple[Spec, None]:
    return {
        "data": {"dataset": "adult", "decision": "income", "positive": {"decision": ">50K"},
                 "groups": ["sex", "race"], "features": ["occupation"], "favourable": 1, "missing": "drop"},
        "report": {
            "title": "Incomes above 50,000 dollars in the census of 1994",
            "decision": "Whether a model that learns from these incomes may set credit limits.",
        },
        "measure": {"metric": ["selection_rate"], "by": ["sex", "race"]},
        "certify": {"metric": "selection_rate", "by": ["sex"], "target": {"sex": "Male"}, "within": ["occupation"],
                    "tolerance": 0.05},
        "flag": {"metric": "selection_rate", "direction": "below", "depth": 2},
    }, None  # fmt: skip


def loans() -> tuple[Spec, Any]:
    """A lender's file of 40 columns, with the outcome known of granted loans only."""
    frame = fairtrial.load("loans")
    random = np.random.default_rng(40)
    for number in range(40 - len(frame.columns)):
        frame[f"field_{number + 1}"] = random.normal(size=len(frame)).round(2)
    features = [name for name in frame.columns if name not in ("ethnicity", "approved", "repaid")]
    return {
        "data": {"source": "loans.csv", "decision": "approved", "positive": {"decision": "yes", "outcome": "yes"},
                 "outcome": "repaid", "groups": ["ethnicity"], "features": features,
                 "favourable": 1, "missing": "drop", "bins": {"income": 3, "debt_ratio": 3}},
        "report": {
            "title": "Consumer loans", "decision": "Whether the score may go on deciding who gets a loan.",
        },
        "measure": {"metric": ["selection_rate", "ppv"], "by": ["ethnicity"], "target": {"ethnicity": "majority"}},
        "certify": {"metric": "selection_rate", "by": ["ethnicity"], "tolerance": 0.05},
        "flag": {"metric": "selection_rate", "direction": "below", "within": ["income", "debt_ratio"]},
    }, frame  # fmt: skip


def thousand() -> tuple[Spec, Any]:
    """A thousand branches, thirty of which refuse far more people."""
    random = np.random.default_rng(1000)
    branch = np.repeat(np.arange(1000), 60)
    chance = np.where(branch < 30, 0.3, 0.6)
    decision = (random.uniform(size=branch.size) < chance).astype(int)
    frame = pd.DataFrame({"branch": [f"b{number:03d}" for number in branch], "granted": decision})
    return {
        "data": {"source": "branches.csv", "decision": "granted", "groups": ["branch"], "favourable": 1},
        "report": {"title": "A thousand branches", "decision": "Which branches are to be visited."},
        "measure": {"metric": ["selection_rate"], "by": ["branch"]},
        "flag": {"metric": "selection_rate", "direction": "differs"},
    }, frame  # fmt: skip


def nothing() -> tuple[Spec, Any]:
    """A decision by lot: there is nothing to be found."""
    random = np.random.default_rng(7)
    frame = pd.DataFrame({
        "sex": random.choice(["female", "male"], 400), "region": random.choice(["north", "south", "west"], 400),
        "invited": (random.uniform(size=400) < 0.4).astype(int),
    })  # fmt: skip
    return {
        "data": {"source": "invitations.csv", "decision": "invited", "groups": ["sex", "region"], "favourable": 1},
        "report": {"title": "Invitations by lot", "decision": "Whether the lottery goes on as it is."},
        "measure": {"metric": ["selection_rate"], "by": ["sex", "region"]},
        "certify": {"metric": "selection_rate", "by": ["sex"], "tolerance": 0.05},
        "flag": {"metric": "selection_rate", "direction": "differs", "depth": 2},
    }, frame  # fmt: skip


AUDITS = {one.__name__: one for one in (compas, ricci, adult, loans, thousand, nothing)}


def run_audit(name: str, out: Path | None = None, **report: Any) -> Trial:
    """One of the six, from its data to its report; `report` changes what its spec says of the page."""
    spec, frame = AUDITS[name]()
    spec["report"].update(report)
    given = {} if frame is None else {"data": frame}
    trial = fairtrial.run(spec, out=out, **given)
    assert trial.complete, [answer.error for answer in trial.answers]
    return trial
