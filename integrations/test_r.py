"""The R code of the docs reads results.json."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fairtrial._trial import Trial

PAGE = Path(__file__).parents[1] / "docs" / "at-home.md"


@pytest.mark.skipif(
    shutil.which("Rscript") is None, reason="R is not here: Debian's r-base-core, installed by root"
)
def test_results_are_read_in_r(trial: Trial, tmp_path: Path) -> None:
    trial.save(tmp_path / "audit-report")
    code = re.search(r"```r\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    (tmp_path / "read.R").write_text(code.group(1), encoding="utf-8")
    told = subprocess.run(
        ["Rscript", "read.R"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    rates = {row["group"]: row["rate"] for row in trial.results["measure"].estimates}
    assert trial.verdict.text.split(".")[0] in told
    assert re.search(rf"^\d+ +W +68 +{rates['W']:.4f}", told, re.MULTILINE), told
    assert re.search(r"^\d+ +B +27 +NA", told, re.MULTILINE), told  # too few: what is not told is NA
