"""Charts that a notebook shows without a network.

Altair's own output fetches its scripts from elsewhere. Here a front end that can draw Vega-Lite itself gets the spec,
and every other one the drawn picture.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from altair import TopLevelMixin


def offline(chart: TopLevelMixin) -> TopLevelMixin:
    """The same chart, of a kind that is shown without anything being fetched."""
    shown: Any = chart.copy(deep=False)  # type: ignore[attr-defined]
    kind: Any = type(chart)
    object.__setattr__(shown, "__class__", _offline_kind(kind))
    return shown  # type: ignore[no-any-return]


@cache
def _offline_kind(kind: type) -> type:
    return type(kind.__name__, (kind,), {"_repr_mimebundle_": _bundle, "__module__": kind.__module__})


def _bundle(self: Any, include: object = None, exclude: object = None, **options: object) -> dict[str, Any]:
    """What a notebook may show, from the richest to plain text."""
    import altair

    from fairtrial._results.charts.drawing import ChartFailed, cleaned, svg

    spec = cleaned(self.to_dict())
    shown: dict[str, Any] = {
        f"application/vnd.vegalite.v{altair.SCHEMA_VERSION.lstrip('v').split('.')[0]}+json": spec,
        "text/plain": f"<{type(self).__name__}>",
    }
    try:
        shown["image/svg+xml"] = svg(spec)
    except ChartFailed as error:
        shown["text/plain"] = str(error)
    return shown
