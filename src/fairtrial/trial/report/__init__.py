"""Results → one self-contained HTML page, with tables and charts as files beside it."""

from fairtrial.trial.report.markdown import card_markdown, summary_markdown
from fairtrial.trial.report.writing import render, write_all, write_report

__all__ = ["card_markdown", "render", "summary_markdown", "write_all", "write_report"]
