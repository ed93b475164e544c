"""A small trial that every integration logs."""

from __future__ import annotations

import pytest

import fairtrial
from fairtrial._trial import Trial


@pytest.fixture(scope="session")
def trial() -> Trial:
    """Two questions on the firefighters."""
    return fairtrial.run(
        {
            "data": {"dataset": "ricci", "decision": "passed", "groups": ["race"]},
            "report": {"title": "Promotion: <b>1</b>"},
            "measure": {"metric": "selection_rate"},
            "certify": {"metric": "selection_rate", "tolerance": 0.1},
        }
    )
