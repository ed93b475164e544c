"""Results → one self-contained HTML page, with tables and charts as files beside it."""

from fairtrial.trial.report.writing import render, write_all, write_report

__all__ = ["render", "write_all", "write_report"]
