"""What the pages of the papers say in words is what their tables show; a number typed into one is a setting."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest

from fairtrial.papers._studies.parts.keeping import template

DOCS = Path(__file__).parents[2] / "docs" / "papers"
NUMBER = re.compile(r"[-−+]?(?:\d[\d,]*)?\.?\d+(?:e[-+]?\d+)?")
# Where a number stands in the prose around the tables, it is a setting, a bound, or the name of a part of the paper.
LABELS = re.compile(
    r"(?:Figures?|Tables?|Theorems?|Remark|Propositions?|Algorithms?|Corollary|Assumption|Appendix|section|footnote|"
    r"arXiv:|\bH\.|\bE\.|\bB\.)\s*(?:[A-Z]\.)?[\d.]+(?:\s*\([ab]\))?"
    r"(?:(?:,| and| to|–)\s*[\d.]+(?![\d,]*%))*"
)
SETTINGS = {
    # σ, the penalty, the starts, the ridge, the bound of "significant", p_bias; data sets of the comparison with AIF360
    "conditional_bias_scan": "1 500 0.01 0.0001 100 0 2 25 .05 0.5 40",
    # sizes and groups of the designs, levels, the grid, the printed power at τ = 0.1, people of the reference, minimum
    "elfa": "5 1 10 20 50 500 5% 0.3 2 0.1 .4805 0.001 854 95% 30 0 25",
    "improvability": "2025 1 0.0000 0.0001 48,784 40 16,099 5%",
    "improvability_section": "",
    "shapley_rawls": "0.5 .05 .01 .001 .898 .95",
    "transport": "2021 25 45 70 30 5% 1 16.6%",
    # the code of "Black" in earlier public code, and how many people have it
    "transport_others": "−0.31685 1,720 1,885 33 23",
}


def prose(name: str) -> str:
    """A template's words: without code, links, fields and the names of the paper's parts."""
    text = "".join(said for said, *_ in string.Formatter().parse(template(name)))
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"`[^`]*`|\]\([^)]*\)|\$[^$]*\$|^#.*$", "", text, flags=re.MULTILINE)
    return LABELS.sub("", " ".join(text.split()))


@pytest.mark.parametrize("name", SETTINGS)
def test_a_typed_number_is_a_setting(name: str) -> None:
    """A result is written from the numbers: in a template it is a field."""
    typed = re.findall(r"(?<![\w₀-₉])[-−]?(?:\d[\d,]*\d|\d)?(?:\.\d+)?%?(?<=[\d%])", prose(name))
    assert {one for one in typed if one} == set(SETTINGS[name].split())


def table(page: str, after: str = "") -> list[list[str]]:
    """The rows of the first table below the line that holds `after`."""
    lines = (DOCS / f"{page}.md").read_text(encoding="utf-8").splitlines()
    start = next(place for place, line in enumerate(lines) if after in line)
    rows: list[list[str]] = []
    for line in lines[start:]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            break
    return rows[2:]


def numbers(cells: list[str]) -> list[float]:
    found = [one for cell in cells for one in NUMBER.findall(cell)]
    return [float(one.replace(",", "").replace("−", "-")) for one in found]


def test_the_overview_adds_the_pages_times_up() -> None:
    minutes = re.compile(r"([\d.]+)\s+minutes\s+of\s+processor\s+time")
    pages = [path for path in sorted(DOCS.glob("*.md")) if path.stem not in ("index", "disputes")]
    told = [float(found[1]) for page in pages if (found := minutes.search(page.read_text(encoding="utf-8")))]
    assert len(told) == len(pages) == 5
    [overview] = minutes.findall((DOCS / "index.md").read_text(encoding="utf-8"))
    assert float(overview) == round(sum(told))


def test_transport_table_4() -> None:
    """ "Needs about a hundred rows …; with thirty it rejects four times as often"; the pooled one is conservative."""
    rows = {(row[0], row[1]): numbers(row[2:5]) for row in table("transport", "## Table 4")}
    assert 3.5 <= rows["30", "article"][1] / 0.05 <= 4.9
    assert rows["100", "article"][1] <= 0.065
    assert max(rows["30", "pooled"][k] - level for k, level in enumerate((0.1, 0.05, 0.01))) < 0


def test_transport_tables_1_to_3() -> None:
    """What is said of Arrhythmia, COMPAS and Drug."""
    rows, shares, at = table("transport", "## Tables 1–3"), {}, ["", ""]
    for row in rows:
        at = [row[k] or at[k] for k in (0, 1)]
        shares[at[0].split(",")[0], at[1], row[2]] = numbers(row[3:6])
    naive, fair = "naive SVM", "Donini et al."
    ours, printed = shares["Arrhythmia", naive, "article's test"], shares["Arrhythmia", naive, "printed"]
    assert max(abs(a - b) for a, b in zip(ours[:2], printed[:2], strict=True)) < 3.5
    assert shares["COMPAS", naive, "article's test"] == [100.0] * 3
    assert all(
        a < b
        for a, b in zip(*(shares["Drug", naive, kind] for kind in ("article's test", "printed")), strict=True)
    )
    for data in ("Arrhythmia", "COMPAS"):
        constrained, free = (shares[data, kind, "article's test"] for kind in (fair, naive))
        assert all(a < b / 4 for a, b in zip(constrained, free, strict=True))


def test_transport_figure_1_has_no_empty_number() -> None:
    text = (DOCS / "transport.md").read_text(encoding="utf-8")
    assert "nan" not in re.findall(r"\w+", text)
    assert "none (none" not in text


def test_elfa_curves() -> None:
    """ "At n = 20 the χ² law is too short for either noise"; the last column of Table 1 is nearer to .95."""
    rows = table("elfa", "Shares rejected of")
    at_20 = [numbers(row[4:5])[0] for row in rows if row[1] == "20" and row[2] == "H0: ε = 0.05"]
    assert len(at_20) == 2
    assert min(at_20) > 0.05 + 2 * (0.05 * 0.95 / 2000) ** 0.5
    signed, by_size = zip(*(numbers(row[-2:]) for row in table("elfa", "## Table 1")), strict=True)
    assert sum(map(abs, (0.95 - one for one in by_size))) < sum(map(abs, (0.95 - one for one in signed)))


def test_elfa_headline() -> None:
    """ "With the reference's people taken into account the 95% interval includes zero"."""
    valid = next(row for row in table("elfa", "## COMPAS: the headline") if "valid" in row[0])
    low, high = numbers(valid[1:2])
    assert low < 0 < high
    assert numbers(valid[2:3])[0] > 0


def curves(after: str) -> dict[str, list[float]]:
    return {row[0]: numbers(row[1:]) for row in table("conditional_bias_scan", after)}


def test_scan_recovers_what_it_looks_for() -> None:
    """ "Every scan beats GerryFair's auditor and Multiaccuracy Boost on the bias that it looks for"; not on either."""
    for after, kind in (
        ("raised by μ_sep (Figure 1", "separation"),
        ("lowered by μ_suf (Figure 1", "sufficiency"),
    ):
        found = curves(after)
        rivals = [max(pair) for pair in zip(found["GerryFair"], found["Multiaccuracy Boost"], strict=True)]
        for of in ("predictions", "recommendations"):
            assert all(a > b for a, b in zip(found[f"{kind}, {of}"][2:], rivals[2:], strict=True))
    suf = curves("lowered by μ_suf (Figure 1")
    strongest = suf["Multiaccuracy Boost"][4]
    assert all(suf[f"separation, {of}"][4] - strongest < 0.15 for of in ("predictions", "recommendations"))
    best = max(suf[f"sufficiency, {of}"][-1] for of in ("predictions", "recommendations"))
    assert suf["plain bias scan"][-1] > best - 0.1


def test_improvability_near_its_kink() -> None:
    """ "Rejects up to four times too often"; the smooth form gives up some power near a fair candidate."""
    sizes = [numbers(row[2:]) for row in table("improvability", "## The size of the fairness component")]
    assert 3.5 <= max(article for article, _ in sizes) / 0.05 <= 4.4
    assert max(smooth for _, smooth in sizes) < 0.06
    power = [numbers(row) for row in table("improvability", "## Appendix E")]
    assert next(row[2] > row[3] for row in power if row[:2] == [100.0, 0.0])
    assert max(abs(row[2] - row[3]) for row in power if row[1] >= 1.0) < 0.015


def test_shapley_after_mitigation() -> None:
    """ "No difference is significant, as printed"; on the test rows the printed numbers come near, on others not."""
    assert not any("*" in cell for row in table("shapley_meets_rawls", "## Table 6") for cell in row)
    rows = {row[1]: numbers(row[2:3])[0] for row in table("shapley_meets_rawls", "## Table 5")[:4]}
    printed, test, train = (
        rows[name] for name in ("printed", *(f"AIF360, fitted on the {k} rows" for k in ("test", "training")))
    )
    assert abs(test - printed) < 0.03 < abs(train - printed)
