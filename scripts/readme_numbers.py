"""Put the headline numbers of docs/validity.md and docs/benchmarks.md into README.md.

python3 scripts/readme_numbers.py

`make validity` and `make bench` call it after writing their pages, so the README never says anything they do not.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START, END = "<!-- numbers of the pages: start -->", "<!-- numbers of the pages: end -->"
VERDICT = re.compile(r"\d+ of \d+ lines of fairtrial hold; \d+ of \d+ published variants fail")
GOALS = re.compile(r"\*\*(\d+ of \d+ goals are met)\.\*\*")
# How the work of a row begins, its peer, and how the README names the peer.
SHOWN = [
    ("4 rates × 24 groups, 1,000,000 rows, pandas", "fairlearn MetricFrame", "fairlearn"),
    ("4 rates × 24 groups, 1,000,000 rows, pandas", "aif360 ClassificationMetric", "AIF360"),
    ("4 rates × 24 groups, 1,000,000 rows, pandas", "aequitas get_crosstabs", "Aequitas"),
    ("empirical likelihood intervals of 20 means", "statsmodels DescStatUV", "statsmodels"),
    ("4 groups, 1,000,000 rows", "HiGHS dual simplex, presolve off", "HiGHS"),
    ("COMPAS, best of 189 subgroups", "aif360 bias_scan, 500 restarts", "AIF360's bias_scan"),
    ("explain: 8 features, tpr", "bootstrap, B = 1,000", "a bootstrap of 1,000 draws"),
    ("bootstrap of accuracy, 24,000 rows", "resampling rows", "resampling rows"),
]


def _form(validity: str) -> str:
    """Whether the page is of the board's long form, or of the short one that leaves lines out."""
    return "long" if ", long form," in validity else "short"


def numbers(validity: str, race: str) -> str:
    """The README's lines about both pages."""
    validity = " ".join(validity.split())  # a line may end anywhere in a sentence
    verdict, goals = VERDICT.search(validity), GOALS.search(race)
    if verdict is None or goals is None:
        raise SystemExit(
            "readme_numbers: the pages do not say how many lines hold or how many goals are met."
        )
    rows = [
        [cell.strip() for cell in line.strip("| \n").split(" | ")]
        for line in race.splitlines()
        if " | " in line
    ]
    lines = [
        f"Validity board, {_form(validity)} form: {verdict.group(0)}, as they should. Race: {goals.group(1)};",
        "how many times faster fairtrial is at the same work in one run:",
        "",
        "| work | compared with | ratio |",
        "|---|---|---:|",
    ]
    for work, peer, name in SHOWN:
        found = [row for row in rows if len(row) >= 7 and row[0].startswith(work) and row[2] == peer]
        if len(found) != 1:
            raise SystemExit(
                f"readme_numbers: {len(found)} rows of the race are about {work!r} and {peer!r}."
            )
        lines.append(f"| {found[0][0].removeprefix('explain: ')} | {name} | {found[0][4]} |")
    return "\n".join(lines)


def with_numbers(readme: str, validity: str, race: str) -> str:
    """The README with the block between its marks written anew."""
    before, rest = readme.split(START)
    _, after = rest.split(END)
    return f"{before}{START}\n{numbers(validity, race)}\n{END}{after}"


def main() -> None:
    readme, docs = ROOT / "README.md", ROOT / "docs"
    pages = [(docs / name).read_text(encoding="utf-8") for name in ("validity.md", "benchmarks.md")]
    readme.write_text(with_numbers(readme.read_text(encoding="utf-8"), *pages), encoding="utf-8")


if __name__ == "__main__":
    main()
