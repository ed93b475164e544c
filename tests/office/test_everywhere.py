"""The fifteen office habits on the command line, in audit.toml and on the page: the same roles, asked for or right."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairtrial
from fairtrial import Audit, InputError
from inside.web import look
from office.makers import MAKERS, NAMES, PEOPLE

MAKER_NAMES = [maker.__name__ for maker in MAKERS]
COUNTS = {"weiblich": 2, "männlich": 2, "divers": 1}


@pytest.mark.parametrize("maker", MAKERS, ids=MAKER_NAMES)
def test_the_command_line_and_the_file(
    maker: Callable[[Path], Path], tmp_path: Path, typed: Callable[..., tuple[int, str, str]]
) -> None:
    path, out = maker(tmp_path), tmp_path / "audit.toml"
    code, told, err = typed("init", str(path), "--yes", "--out", str(out))
    assert code == 0, err
    data = tomllib.loads(out.read_text(encoding="utf-8"))["data"]
    assert (data["decision"], data["groups"], data["favourable"]) == ("Eingestellt", ["Geschlecht"], 1)
    assert "--decision    Eingestellt" in told
    out.write_text(
        f'[data]\nsource = "{path.name}"\ndecision = "Eingestellt"\nscore = "Treffer %"\ngroups = ["Geschlecht"]\n'
        '[report]\nsuppress_below = 0\n[measure]\nmetric = ["selection_rate", "mean_score"]\nminimum = 1\n',
        encoding="utf-8",
    )
    trial = fairtrial.run(out)
    assert trial.complete
    rows = trial.answers[0].result.estimates
    rates = {row["group"]: (row["n"], row["rate"]) for row in rows if row["metric"] == "selection_rate"}
    assert rates == {"weiblich": (2, 1.0), "männlich": (2, 0.0), "divers": (1, 1.0)}
    scores = {row["group"]: row["rate"] for row in rows if row["metric"] == "mean_score"}
    assert scores == {"weiblich": 72.5, "männlich": 3.75, "divers": 62.25}


@pytest.mark.parametrize("maker", MAKERS, ids=MAKER_NAMES)
def test_the_page(maker: Callable[[Path], Path], tmp_path: Path) -> None:
    seen = look.looked_at(maker(tmp_path))
    assert [one["name"] for one in seen["columns"]] == list(NAMES)
    assert seen["rows"] == seen["people"] == len(PEOPLE)
    items = {item["key"]: item for card in seen["cards"] for item in card["items"]}
    assert (items["decision"]["value"], items["groups"]["value"]) == ("Eingestellt", ["Geschlecht"])
    direction = next(one for one in items["decision"]["choices"] if one["value"] == "Eingestellt")["then"][0]
    assert direction["value"] == "1"
    sexes = next(one for one in seen["columns"] if one["name"] == "Geschlecht")
    assert dict(zip(sexes["labels"], sexes["counts"], strict=True)) == COUNTS
    pay = next(one for one in seen["columns"] if one["name"] == "Gehalt")
    assert (pay["numeric"], pay["low"], pay["high"]) == (True, 1234.25, 99999.75)


@settings(max_examples=25, deadline=None)
@given(
    titles=st.integers(0, 3), gap=st.booleans(), merged=st.booleans(), total=st.booleans(), remark=st.booleans(),
    texts=st.booleans(), seed=st.integers(0, 10_000),
)  # fmt: skip
def test_any_sheet_gives_its_table_or_one_message(
    titles: int, gap: bool, merged: bool, total: bool, remark: bool, texts: bool, seed: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    """Titles, blank lines, merged header cells, totals and remarks, numbers as numbers or as texts."""
    import openpyxl

    choose = random.Random(seed)
    people = [
        (choice, choose.randint(0, 1), round(choose.uniform(0, 9_000), 2))
        for choice in choose.choices(["Ann", "Bo", "Cé"], k=12)
    ]
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for place in range(titles):
        sheet.append([f"Title {place}"])
    if gap:
        sheet.append([])
    if merged:
        sheet.append(["Person", "Result", None])
        sheet.merge_cells(start_row=sheet.max_row, end_row=sheet.max_row, start_column=2, end_column=3)
    sheet.append(["Name", "Hired", "Pay"])
    for name, hired, pay in people:
        sheet.append([name, hired, f"{pay:,.2f} €" if texts else pay])
    if total:
        sheet.append(["Total", sum(row[1] for row in people), sum(row[2] for row in people)])
    if remark:
        sheet.append([])
        sheet.append(["Source: personnel"])
    path = tmp_path_factory.mktemp("sheet") / "people.xlsx"
    book.save(path)
    try:
        found = Audit(path, decision="Hired", score="Pay", groups="Name").rows(columns=("Pay", "Hired"))
    except InputError as error:
        if len(error.faults) > 1 or not error.faults[0].cure:
            raise
        return
    assert found.columns["Pay"].tolist() == [pay for _, _, pay in people]
    assert found.columns["Hired"].tolist() == [hired for _, hired, _ in people]
