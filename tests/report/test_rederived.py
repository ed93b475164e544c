"""The numbers of a trial that asks every question agree with each other, by the check that strangers' files meet."""

from __future__ import annotations

from typing import Any

import pytest

from fairtrial.trial.rederived import contradictions


@pytest.mark.slow
def test_a_whole_trial_does_not_contradict_itself(content: dict[str, Any]) -> None:
    assert contradictions(content) == []
