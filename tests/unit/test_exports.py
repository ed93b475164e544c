"""What leaves a trial besides its page: certificate, workbook, the law's public summary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fairtrial
from fairtrial import InputError
from inside.trial import Trial, load_results, public_summary_page, write_excel
from inside.trial import report_certificate_page as certificate_page

ODD = "=cmd() <b>|"


def spec(tolerance: float, **more: Any) -> dict[str, Any]:
    return {
        "data": {"decision": "hired", "groups": ["group"], "favourable": 1},
        "report": {"title": "Hiring <b>", "author": "A. Auditor", "decision": "Whether to go on."},
        "certify": {"metric": "selection_rate", "tolerance": tolerance},
        **more,
    }


def people(second: float) -> dict[str, list[Any]]:
    hired = [1] * 2000 + [0] * 2000 + [1] * round(4000 * second) + [0] * round(4000 * (1 - second))
    return {"hired": hired, "group": [ODD] * 4000 + ["other"] * 4000}


@pytest.fixture(scope="module")
def certified() -> Trial:
    return fairtrial.run(spec(0.05), data=people(0.5))


def test_the_certificate_names_everything_it_rests_on(certified: Trial, tmp_path: Path) -> None:
    page = certified.certificate(tmp_path / "certificate.html").read_text(encoding="utf-8")
    content = certified.to_dict()
    for text in (
        "selection rate", "=cmd() &lt;b&gt;|", "other", "difference in points", "5.0 points", "95%",
        content["data"]["digest"], content["run"]["started"][:10], "A. Auditor", "Hiring &lt;b&gt;", "everyone else",
    ):  # fmt: skip
        assert text in page, text
    assert "<b>" not in page
    assert "<script" not in page
    assert "script-src 'none'" in page.replace("&#39;", "'")


@pytest.mark.parametrize(("second", "said"), [(0.3, "violated"), (0.455, "undetermined")])
def test_what_is_not_certified_has_no_certificate(second: float, said: str, tmp_path: Path) -> None:
    trial = fairtrial.run(spec(0.05), data=people(second))
    assert trial.verdict.code == said
    with pytest.raises(InputError, match=said) as refused:
        trial.certificate(tmp_path / "certificate.html")
    assert trial.verdict.text.rstrip(".")[:60] in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_a_file_that_was_changed_has_no_certificate(certified: Trial) -> None:
    """A verdict that was written into the file is not borne out by its numbers."""
    content = fairtrial.run(spec(0.05), data=people(0.3)).to_dict()
    content["verdict"]["code"] = "certified"
    with pytest.raises(InputError, match="contradict"):
        certificate_page(content)
    incomplete = certified.to_dict() | {"status": "incomplete"}
    with pytest.raises(InputError, match="not every question"):
        certificate_page(incomplete)


def test_the_certificate_names_the_ratio_and_the_strata() -> None:
    rows = {**people(0.5), "job": ["a", "b"] * 4000}
    asked = spec(
        0.05, certify={"metric": "selection_rate", "tolerance": 0.8, "scale": "ratio", "within": ["job"]}
    )
    asked["data"]["features"] = ["job"]
    page = certificate_page(fairtrial.run(asked, data=rows).to_dict())
    assert "a ratio of 0.8 to 1.25" in page
    assert "Among people alike in" in page


def test_the_workbook_holds_numbers_as_numbers_and_no_formula(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    trial = fairtrial.run(spec(0.05, measure={"metric": "selection_rate"}), data=people(0.3))
    book = openpyxl.load_workbook(write_excel(trial.to_dict(), tmp_path / "audit.xlsx"))
    assert book.sheetnames == ["Summary", "measure", "certify"]
    cells = [cell for sheet in book for line in sheet.iter_rows() for cell in line]
    assert not [cell.coordinate for cell in cells if cell.data_type == "f"]
    assert not [cell.value for cell in cells if isinstance(cell.value, str) and cell.value.startswith("=")]
    sheet = book["measure"]
    head = [cell.value for cell in sheet[4]]
    row = dict(zip(head, [cell.value for cell in sheet[5]], strict=True))
    estimate = trial.results["measure"].estimates[0]
    assert row["rate"] == pytest.approx(estimate["rate"])
    assert row["difference low"] == pytest.approx(estimate["difference_low"])
    notes = [cell.value for cell in sheet["A"] if cell.value]
    assert any("95%" in str(text) for text in notes), "the intervals' level is told"
    assert (
        any(note.text in notes for note in trial.results["measure"].notes)
        or not trial.results["measure"].notes
    )


def test_the_public_summary_has_what_the_law_lists() -> None:
    rows = {"hired": [1, 0, 1, 1] * 200, "sex": ["F", "F", "M", "M"] * 200,
            "race": [None if number % 50 == 0 else "AB"[number % 2] for number in range(800)]}  # fmt: skip
    law = {"table": "local-law-144", "about": {"tool": "Screener", "distribution_date": "2026-01-01"}}
    asked = {
        "data": {"decision": "hired", "groups": ["sex", "race"], "favourable": 1, "missing": "drop"},
        "tabulate": law,
    }  # fmt: skip
    trial = fairtrial.run(asked, data=rows)
    page = public_summary_page(trial.to_dict())
    for text in (
        "Screener",
        "2026-01-01",
        "Selection rate by sex",
        "Selection rate by race",
        "Impact ratio",
        "unknown category",
    ):
        assert text in page, text
    assert "<dd>16</dd>" in page, "people of an unknown category"
    with pytest.raises(InputError, match="local-law-144"):
        public_summary_page(fairtrial.run(spec(0.05), data=people(0.5)).to_dict())


def test_saved_results_give_the_same_certificate(certified: Trial, tmp_path: Path) -> None:
    certified.save(tmp_path)
    assert certificate_page(load_results(tmp_path)) == certificate_page(certified.to_dict())
