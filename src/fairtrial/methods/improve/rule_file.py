"""A rule as a file: written by skops without pickle, and read with a fixed list of types that may be made.

The file says which types it holds; which of them are made is decided by the list below alone. What is not on it, a
function, a class of another package, is refused by name before anything is made of it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fairtrial.errors import Fault, InputError, MissingExtra
from fairtrial.results.output import check_output_file
from fairtrial.work.whole_files import write_whole

_OURS = "fairtrial.methods.improve.candidates"
# Our own types, and those inside fitted scikit-learn models that skops does not trust by itself.
TRUSTED = (
    f"{_OURS}.rules.Rule",
    f"{_OURS}.rules.Reading",
    f"{_OURS}.scorers.ColumnScore",
    f"{_OURS}.scorers.Frontier",
    f"{_OURS}.scorers.GroupMargin",
    f"{_OURS}.scorers.Linear",
    f"{_OURS}.scorers.MeanOfClasses",
    f"{_OURS}.scorers.ModelScore",
    f"{_OURS}.scorers.SignedLinear",
    f"{_OURS}.scorers.Standardised",
    f"{_OURS}.scorers.TwoRegressions",
    f"{_OURS}.tuned.Tuned",
    "numpy.dtype",
    "sklearn._loss.link.Interval",
    "sklearn._loss.link.LogitLink",
    "sklearn._loss.link.IdentityLink",
    "sklearn._loss.link.MultinomialLogit",
    "sklearn._loss.loss.HalfBinomialLoss",
    "sklearn._loss.loss.HalfMultinomialLoss",
    "sklearn._loss.loss.HalfSquaredError",
    "sklearn._loss._loss.CyHalfBinomialLoss",
    "sklearn._loss._loss.CyHalfMultinomialLoss",
    "sklearn._loss._loss.CyHalfSquaredError",
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
)


def save_object(rule: Any, path: str | os.PathLike[str]) -> Path:
    """Write a rule; refuse one that could not be read again."""
    skops = skops_io()
    target = check_output_file("save", path)
    try:
        content = skops.dumps(rule)
    except Exception as error:
        raise _cannot_save(rule, str(error)) from error
    foreign = _foreign(skops.get_untrusted_types(data=content))
    if foreign:
        raise _cannot_save(rule, f"it holds {', '.join(foreign)}, which no file is trusted to make")
    write_whole(target, content)
    return target


def _cannot_save(rule: Any, why: str) -> InputError:
    fault = Fault(
        "",
        f"cannot be saved: {why}",
        subject=f"the rule {rule.name!r}",
        cure="Keep what it was made of and fit it anew where it is needed",
    )
    return InputError("save", fault)


def read_object(path: str | os.PathLike[str]) -> Any:
    """What a file holds, made of trusted types only."""
    skops = skops_io()
    source = Path(path)
    if not source.is_file():
        raise InputError("load_rule", Fault("path", "must be a file", got=str(path)))
    try:
        foreign = _foreign(skops.get_untrusted_types(file=source))
        if foreign:
            required = f"holds {', '.join(foreign)}, which are not trusted; it was not read"
            raise InputError(
                "load_rule",
                Fault(
                    "path",
                    required,
                    subject=f"{str(path)!r}",
                    cure="read files that the save() of a rule has written",
                ),
            )
        return skops.load(source, trusted=list(TRUSTED))
    except InputError:
        raise
    except Exception as error:
        fault = Fault(
            "path",
            f"cannot be read as a rule: {error}",
            subject=f"{str(path)!r}",
            cure="name a file that improve has saved",
        )
        raise InputError("load_rule", fault) from error


def _foreign(types: list[str]) -> list[str]:
    return sorted(set(types) - set(TRUSTED))


def skops_io() -> Any:
    """The library that writes and reads rules."""
    try:
        import skops.io  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtra("rules are saved and read with skops: install fairtrial[export]") from None
    return skops.io
