"""The whole trial: one spec in, every question answered, one verdict after correction."""

from fairtrial.trial.record import Answer, Trial
from fairtrial.trial.results_file import load_results
from fairtrial.trial.running import Event, run

__all__ = ["Answer", "Event", "Trial", "load_results", "run"]
