"""What a user's type checker sees: results by name, and choices that are refused when misspelt."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

USER = """
import fairtrial
from fairtrial import Audit, certify

audit = Audit("people.csv", decision="hired", groups=["sex"])
result = certify(audit, "selection_rate", tolerance=0.05)
reveal_type(result)
reveal_type(fairtrial.measure(audit, ["fpr", "tpr"]).verdict.text)
reveal_type(fairtrial.run("audit.toml"))
fairtrial.papers.elfa.certify(audit, "fpr", likelihood="empirica")
"""
CHECKERS = {
    "mypy": ["mypy", "--strict", "--cache-dir", str(Path(__file__).parents[2] / ".mypy_cache" / "user")],
    "basedpyright": ["basedpyright", "--pythonpath", sys.executable, "--level", "error"],
}


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_type_checkers_see_the_public_names(checker: str, tmp_path: Path) -> None:
    pytest.importorskip(checker, reason="the extra 'lint' is not installed, as in `make test-lowest`")
    user = tmp_path / "user.py"
    user.write_text(USER, encoding="utf-8")
    command = [sys.executable, "-m", *CHECKERS[checker], user.name]
    seen = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout
    faults = [line for line in seen.splitlines() if "error" in line and "user.py:" in line]
    assert len(faults) == 1, seen
    assert '"empirica"' in seen or "'empirica'" in seen, seen
    for name in ("CertifyResult", "str", "Trial") if checker == "mypy" else ():
        assert any("Revealed" in line and name in line for line in seen.splitlines()), seen
