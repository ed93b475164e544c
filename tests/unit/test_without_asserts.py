"""`python -O` leaves `assert` out and changes nothing: what is refused stays refused, and numbers stay."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import fairtrial

def audit(**roles):
    return fairtrial.Audit(fairtrial.load("ricci"), decision="passed", groups=["race"], **roles)

CALLS = [
    lambda: audit(favourable="pass").check(),
    lambda: audit(order=["0", "1"], favourable="2").check(),
    lambda: fairtrial.measure(audit(), "fpr"),
    lambda: fairtrial.certify(audit(), "selection_rate", target={"race": "nobody"}),
    lambda: fairtrial.scan(audit(), "selection_rate", protected={"race": "B"}, direction="sideways"),
    lambda: fairtrial.plan("selection_rate", each_period=50, rate=0.5),
    lambda: fairtrial.improve(audit(), candidates=["passed"]),
    lambda: (audit().cuts(), audit().score_bins()),
    lambda: fairtrial.measure(audit(), "selection_rate").estimates,
    lambda: fairtrial.certify(audit(), "selection_rate").verdict.text,
]
for call in CALLS:
    try:
        print("answer:", call())
    except fairtrial.InputError as error:
        print("refused:", type(error).__name__, repr(str(error)))
"""


def test_numbers_and_refusals_are_the_same_without_asserts() -> None:
    said, silent = (
        subprocess.run(
            [sys.executable, *options, "-c", PROGRAM], capture_output=True, text=True, check=True
        ).stdout
        for options in ([], ["-O"])
    )
    assert silent == said
    assert [line.split(":")[0] for line in said.splitlines()] == ["refused"] * 7 + ["answer"] * 3
