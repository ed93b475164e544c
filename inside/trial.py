"""What the tests, the board and the side trees use of trial beside the public names."""

import fairtrial.trial.report
import fairtrial.trial.report.writing
import fairtrial.trial.spec.load
from fairtrial.trial import Event as Event
from fairtrial.trial import Trial as Trial
from fairtrial.trial import load_results as load_results
from fairtrial.trial import run as run
from fairtrial.trial.difference import difference as difference
from fairtrial.trial.family import Entry as Entry
from fairtrial.trial.family import conclude as conclude
from fairtrial.trial.family import correct as correct
from fairtrial.trial.family import corrected_claims as corrected_claims
from fairtrial.trial.forms import form_schema as form_schema
from fairtrial.trial.forms import property_schema as property_schema
from fairtrial.trial.in_people import in_people as in_people
from fairtrial.trial.in_people import plain_metric as plain_metric
from fairtrial.trial.keeping import FOLDER as FOLDER
from fairtrial.trial.keeping import MADE_FROM as MADE_FROM
from fairtrial.trial.keeping import Keeper as Keeper
from fairtrial.trial.keeping import mentioned as mentioned
from fairtrial.trial.presets import complete as complete
from fairtrial.trial.publishing.joining import join_levels as join_levels
from fairtrial.trial.publishing.scrubbing import scrub as scrub
from fairtrial.trial.publishing.scrubbing import three_digits as three_digits
from fairtrial.trial.publishing.solvable import Known as Known
from fairtrial.trial.rederived import contradictions as contradictions
from fairtrial.trial.report import difference_page as difference_page
from fairtrial.trial.report import public_summary_page as public_summary_page
from fairtrial.trial.report import render as render
from fairtrial.trial.report import write_report as write_report
from fairtrial.trial.report.builder import build_page as build_page
from fairtrial.trial.report.builder import build_section as build_section
from fairtrial.trial.report.builder import not_asked as not_asked
from fairtrial.trial.report.certificate import certificate_page as certificate_page
from fairtrial.trial.report.chart_numbers import chart_lines as chart_lines
from fairtrial.trial.report.close_ups import drawn as drawn
from fairtrial.trial.report.excel import write_excel as write_excel
from fairtrial.trial.report.findings import findings as findings
from fairtrial.trial.report.first_screen import first_screen as first_screen
from fairtrial.trial.report.glossary import WORDS as WORDS
from fairtrial.trial.report.glossary import entries as entries
from fairtrial.trial.report.glossary import term_of as term_of
from fairtrial.trial.report.markdown import summary_markdown as summary_markdown
from fairtrial.trial.report.one_gap import strongest_in_people as strongest_in_people
from fairtrial.trial.report.one_gap import why_numbers_differ as why_numbers_differ
from fairtrial.trial.report.pdf import find_chromium as find_chromium
from fairtrial.trial.report.pdf import print_pdf as print_pdf
from fairtrial.trial.report.tables import build_table as build_table
from fairtrial.trial.report.tables import csv_text as csv_text
from fairtrial.trial.report.tables import safe_cell as safe_cell
from fairtrial.trial.report.tables import write_parquet as write_parquet
from fairtrial.trial.results_file import check_schema as check_schema
from fairtrial.trial.running import LOCK as LOCK
from fairtrial.trial.running import locked as locked
from fairtrial.trial.shared_people import correlation_of as correlation_of
from fairtrial.trial.shared_people import find_dependence as find_dependence
from fairtrial.trial.shared_people import influence_of as influence_of
from fairtrial.trial.spec import load_spec as load_spec
from fairtrial.trial.spec import open_audit as open_audit
from fairtrial.trial.spec.argument_kinds import admits_groups as admits_groups
from fairtrial.trial.spec.argument_kinds import admits_metrics as admits_metrics
from fairtrial.trial.spec.faults import SpecFaults as SpecFaults
from fairtrial.trial.spec.guess import guess as guess
from fairtrial.trial.spec.key_lines import KeyLines as KeyLines
from fairtrial.trial.spec.key_lines import describe as describe
from fairtrial.trial.spec.label_words import good_for_a_person as good_for_a_person
from fairtrial.trial.spec.label_words import meaning_yes as meaning_yes
from fairtrial.trial.spec.name_words import held_by as held_by
from fairtrial.trial.spec.profile import ROWS as ROWS
from fairtrial.trial.spec.profile import profile_file as profile_file
from fairtrial.trial.spec.sections import Names as Names
from fairtrial.trial.spec.sections import read_sections as read_sections
from fairtrial.trial.spec.sections import section_keys as section_keys
from fairtrial.trial.spec.speech import TOML as TOML
from fairtrial.trial.spec.tables import data_keys as data_keys
from fairtrial.trial.spec.tables import role_keys as role_keys
from fairtrial.trial.spec.tables import run_keys as run_keys

load_load_spec = fairtrial.trial.spec.load.load_spec
report_certificate_page = fairtrial.trial.report.certificate_page
writing_render = fairtrial.trial.report.writing.render
