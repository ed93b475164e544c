"""Pages of the papers: `python -m fairtrial.papers._studies elfa --full --out docs/papers`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairtrial.papers._reproduction import Asked
from fairtrial.papers._studies.parts import keeping
from fairtrial.papers._studies.parts.drawing import drawn

OWN_CODE = "\n## In your own code\n"  # written by hand, and left as it is


def _elfa(asked: Asked) -> tuple[str, dict[str, Any]]:
    from fairtrial.papers._studies import elfa

    return elfa.page(asked)


def _transport(asked: Asked) -> tuple[str, dict[str, Any]]:
    from fairtrial.papers._studies import transport

    return transport.page(asked)


def _conditional_bias_scan(asked: Asked) -> tuple[str, dict[str, Any]]:
    from fairtrial.papers._studies import conditional_bias_scan

    return conditional_bias_scan.page(asked)


def _shapley_rawls(asked: Asked) -> tuple[str, dict[str, Any]]:
    from fairtrial.papers._studies import shapley_rawls

    return shapley_rawls.page(asked)


def _improvability(asked: Asked) -> tuple[str, dict[str, Any]]:
    from fairtrial.papers._studies import improvability

    return improvability.page(asked)


# The page's name, which a link may rest on, and what makes it.
PAGES: dict[str, tuple[str, Callable[[Asked], tuple[str, dict[str, Any]]]]] = {
    "elfa": ("elfa", _elfa),
    "transport": ("transport", _transport),
    "conditional_bias_scan": ("conditional_bias_scan", _conditional_bias_scan),
    "shapley_rawls": ("shapley_meets_rawls", _shapley_rawls),
    "improvability": ("improvability", _improvability),
}


def write(name: str, asked: Asked, out: Path) -> None:
    """One page with its figures; a section on one's own code stays as it is in the page that was there."""
    page, make = PAGES[name]
    text, figures = make(asked)
    path = out / f"{page}.md"
    known = path.read_text(encoding="utf-8") if path.exists() else ""
    _, head, own = known.partition(OWN_CODE)
    out.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text.rstrip()}\n{head}{own}", encoding="utf-8")
    for figure, chart in figures.items():
        svg = chart if isinstance(chart, str) else drawn(chart)
        (out / f"{figure}.svg").write_text(svg, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fairtrial.papers._studies", description=__doc__)
    parser.add_argument("papers", nargs="*", choices=[*PAGES, []], help="which pages; all of them by default")
    parser.add_argument("--full", action="store_true", help="the papers' own numbers of repeats")
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the full repeats; the page says how many"
    )
    parser.add_argument("--data", type=Path, default=None, help="folder of the files that are not bundled")
    parser.add_argument("--jobs", type=int, default=1, help="parallel workers of random forests")
    parser.add_argument("--out", type=Path, default=Path("papers"), help="folder of the pages and figures")
    given = parser.parse_args()
    keeping.FOLDER = Path(".cache/papers")
    total = 0.0
    for name in given.papers or PAGES:
        print(f"fairtrial: {name}", flush=True)
        keeping.start()
        write(name, Asked(given.full, given.data, given.share, given.jobs), given.out)
        print(f"fairtrial: {name}, {keeping.spent()}", flush=True)
        total += keeping.seconds()
    print(f"fairtrial: all of it, {total / 60:.1f} minutes of processor time", flush=True)


if __name__ == "__main__":
    main()
