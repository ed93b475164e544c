"""improve's options one by one, for grids of designs: each stands by itself and they are put together as the function
takes them. Those that only the article's own function has are asked of it, with the valid test of the gap.
"""

from __future__ import annotations

from typing import Any

OF_THE_ARTICLE = (
    "aggregate",
    "folds",
    "independent_given",
    "permissible",
    "train_share",
    "weights",
    "component",
)
LIMITS = ("capacity", "blind", "banned", "rising", "falling")
STATED = ("threshold", "sign", "earlier")


def improve(audit: Any, metric: Any = "selection_rate", keep: Any = "accuracy", **asked: Any) -> Any:
    """The answer of improve, or of the article's own function where it alone has an option that is asked for."""
    import fairtrial

    options = together(**asked)
    if any(name in options for name in OF_THE_ARTICLE):
        return fairtrial.papers.improvability.improve(
            audit, metric, keep, **{"component": "smooth", **options}
        )
    return fairtrial.improve(audit, metric, keep, **options)


def together(
    *,
    margin: Any = None,
    absolute: bool = False,
    everyone: bool = False,
    reduction: float = 0.0,
    **asked: Any,
) -> dict[str, Any]:
    """Options as improve takes them: margins of everyone and in units, the gap's, limits, statements."""
    if everyone or reduction:
        named = dict(margin) if isinstance(margin, dict) else {}
        common = 0.0 if margin is None or named else margin
        named |= {"everyone" if everyone else "each": common}
        margin = {**named, **({"gap": -reduction} if reduction else {})}
    if absolute:
        margin = {"absolute": 0.0 if margin is None else margin}
    limits = {name: asked.pop(name) for name in LIMITS if name in asked}
    stated = {name: asked.pop(name) for name in STATED if name in asked}
    if "candidates" in asked:
        asked["candidates"] = _brought(asked["candidates"], stated)
    return {
        **asked,
        **({} if margin is None else {"margin": margin}),
        **({"constraints": limits} if limits else {}),
    }


def _brought(candidates: Any, stated: dict[str, Any]) -> Any:
    """Columns are rules that were fixed beforehand, and so is all for which something was stated."""
    from fairtrial import Fixed
    from inside.improve import BUILT_IN

    listed = list(candidates) if isinstance(candidates, list | tuple) else [candidates]
    if stated:
        built_in = [one for one in listed if isinstance(one, str) and one in BUILT_IN]
        return [Fixed([one for one in listed if one not in built_in], **stated), *built_in]
    return [Fixed(one) if isinstance(one, str) and one not in BUILT_IN else one for one in listed]
