"""What the tests, the board and the side trees use of trial beside the public names."""

import fairtrial._report
import fairtrial._trial.spec.load
from fairtrial._report import difference_page as difference_page
from fairtrial._report import public_summary_page as public_summary_page
from fairtrial._report import render as render
from fairtrial._report import summary_markdown as summary_markdown
from fairtrial._report import write_report as write_report
from fairtrial._report.builder import build_page as build_page
from fairtrial._report.builder import build_section as build_section
from fairtrial._report.builder import not_asked as not_asked
from fairtrial._report.certificate import certificate_page as certificate_page
from fairtrial._report.described import WORDS as WORDS
from fairtrial._report.described import entries as entries
from fairtrial._report.described import term_of as term_of
from fairtrial._report.excel import write_excel as write_excel
from fairtrial._report.findings import findings as findings
from fairtrial._report.first_screen import first_screen as first_screen
from fairtrial._report.one_gap import drawn as drawn
from fairtrial._report.one_gap import strongest_in_people as strongest_in_people
from fairtrial._report.one_gap import why_numbers_differ as why_numbers_differ
from fairtrial._report.pdf import find_chromium as find_chromium
from fairtrial._report.pdf import print_pdf as print_pdf
from fairtrial._report.tables import build_table as build_table
from fairtrial._report.tables import chart_lines as chart_lines
from fairtrial._report.tables import csv_text as csv_text
from fairtrial._report.tables import safe_cell as safe_cell
from fairtrial._report.tables import write_parquet as write_parquet
from fairtrial._trial.difference import difference as difference
from fairtrial._trial.family import FamilyEntry as FamilyEntry
from fairtrial._trial.family import conclude as conclude
from fairtrial._trial.family import correct as correct
from fairtrial._trial.family import corrected_claims as corrected_claims
from fairtrial._trial.in_people import in_people as in_people
from fairtrial._trial.in_people import plain_metric as plain_metric
from fairtrial._trial.keeping import FOLDER as FOLDER
from fairtrial._trial.keeping import MADE_FROM as MADE_FROM
from fairtrial._trial.keeping import Keeper as Keeper
from fairtrial._trial.keeping import mentioned as mentioned
from fairtrial._trial.presets import complete as complete
from fairtrial._trial.publishing.scrubbing import scrub as scrub
from fairtrial._trial.publishing.scrubbing import three_digits as three_digits
from fairtrial._trial.publishing.tables import Known as Known
from fairtrial._trial.publishing.tables import join_levels as join_levels
from fairtrial._trial.record import Trial as Trial
from fairtrial._trial.rederived import contradictions as contradictions
from fairtrial._trial.results_file import check_schema as check_schema
from fairtrial._trial.results_file import load_results as load_results
from fairtrial._trial.running import LOCK as LOCK
from fairtrial._trial.running import Event as Event
from fairtrial._trial.running import locked as locked
from fairtrial._trial.running import run as run
from fairtrial._trial.shared_people import correlation_of as correlation_of
from fairtrial._trial.shared_people import find_dependence as find_dependence
from fairtrial._trial.shared_people import influence_of as influence_of
from fairtrial._trial.spec import open_audit as open_audit
from fairtrial._trial.spec.guess import guess as guess
from fairtrial._trial.spec.key_lines import KeyLines as KeyLines
from fairtrial._trial.spec.key_lines import SpecFaults as SpecFaults
from fairtrial._trial.spec.key_lines import describe as describe
from fairtrial._trial.spec.load import load_spec as load_spec
from fairtrial._trial.spec.name_words import good_for_a_person as good_for_a_person
from fairtrial._trial.spec.name_words import held_by as held_by
from fairtrial._trial.spec.name_words import meaning_yes as meaning_yes
from fairtrial._trial.spec.profile import ROWS as ROWS
from fairtrial._trial.spec.profile import profile_file as profile_file
from fairtrial._trial.spec.sections import Names as Names
from fairtrial._trial.spec.sections import read_sections as read_sections
from fairtrial._trial.spec.sections import section_keys as section_keys
from fairtrial._trial.spec.speech import TOML as TOML
from fairtrial._trial.spec.tables import admits_groups as admits_groups
from fairtrial._trial.spec.tables import admits_metrics as admits_metrics
from fairtrial._trial.spec.tables import data_keys as data_keys
from fairtrial._trial.spec.tables import role_keys as role_keys
from fairtrial._trial.spec.tables import run_keys as run_keys
from fairtrial._trial.words import FileWords as FileWords
from fairtrial._web.specs import form_schema as form_schema
from fairtrial._web.specs import property_schema as property_schema

load_load_spec = fairtrial._trial.spec.load.load_spec
report_certificate_page = fairtrial._report.certificate_page
writing_render = fairtrial._report.render
