"""All scenarios of the board."""

from __future__ import annotations

from truth import answers, hiring, lending, models, partly, scores, several
from truth.scenario import Scenario

SCENARIOS: list[Scenario] = [
    *lending.SCENARIOS,
    *partly.SCENARIOS,
    *hiring.SCENARIOS,
    *several.SCENARIOS,
    *scores.SCENARIOS,
    *models.SCENARIOS,
    *answers.SCENARIOS,
]
