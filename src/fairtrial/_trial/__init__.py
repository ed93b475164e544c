"""The whole trial: one spec in, every question answered, one verdict after correction."""

from fairtrial._trial.record import Answer, Trial
from fairtrial._trial.results_file import load_results
from fairtrial._trial.running import Event, run

__all__ = ["Answer", "Event", "Trial", "load_results", "run"]
