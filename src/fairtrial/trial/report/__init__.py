"""Results → one self-contained HTML page, with tables and charts as files beside it."""

from fairtrial.trial.report.certificate import certificate_page, write_certificate
from fairtrial.trial.report.difference_page import difference_page, write_difference
from fairtrial.trial.report.markdown import card_markdown, summary_markdown
from fairtrial.trial.report.public_summary import public_summary_page, write_public_summary
from fairtrial.trial.report.writing import render, write_all, write_report

__all__ = [
    "card_markdown",
    "certificate_page",
    "difference_page",
    "public_summary_page",
    "render",
    "summary_markdown",
    "write_all",
    "write_certificate",
    "write_difference",
    "write_public_summary",
    "write_report",
]
