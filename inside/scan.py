"""What the tests, the board and the side trees use of scan beside the public names."""

import fairtrial._scan.solver.matched
from fairtrial._scan import answer as answer
from fairtrial._scan import every_class as every_class
from fairtrial._scan.answer import ENOUGH_EXCEEDANCES as ENOUGH_EXCEEDANCES
from fairtrial._scan.matched_scan import Rung as Rung
from fairtrial._scan.matched_scan import _blocks as _blocks
from fairtrial._scan.matched_scan import rung_of as rung_of
from fairtrial._scan.request import ScanRequest as ScanRequest
from fairtrial._scan.request import ask as ask
from fairtrial._scan.result import ScanEachResult as ScanEachResult
from fairtrial._scan.scan_data import inside_unit_interval as inside_unit_interval
from fairtrial._scan.scan_data import read_data as read_data
from fairtrial._scan.solver import blocks as blocks
from fairtrial._scan.solver import matched as matched
from fairtrial._scan.solver import matched_search as matched_search
from fairtrial._scan.solver.blocks import fit_class as fit_class
from fairtrial._scan.solver.blocks import fit_event as fit_event
from fairtrial._scan.solver.joint import joint_sets as joint_sets
from fairtrial._scan.solver.joint import tables_of as tables_of
from fairtrial._scan.solver.matched import ContrastDraw as ContrastDraw
from fairtrial._scan.solver.matched import MatchedTable as MatchedTable
from fairtrial._scan.solver.matched import PersonTable as PersonTable
from fairtrial._scan.solver.matched import contrast_of as contrast_of
from fairtrial._scan.solver.matched_search import MatchedSearch as MatchedSearch
from fairtrial._scan.solver.matched_search import plan_matched as plan_matched
from fairtrial._scan.solver.person_strata import PersonRows as PersonRows
from fairtrial._scan.solver.person_strata import PersonStrata as PersonStrata
from fairtrial._scan.solver.scan_table import CountedRows as CountedRows
from fairtrial._scan.solver.scan_table import ScanTable as ScanTable
from fairtrial._scan.solver.scan_table import as_codes as as_codes
from fairtrial._scan.solver.scan_table import build_table as build_table
from fairtrial._scan.solver.scan_table import distinct_rows as distinct_rows
from fairtrial._scan.solver.scan_table import log_odds as log_odds
from fairtrial._scan.solver.scan_table import observed_moments as observed_moments
from fairtrial._scan.solver.scan_table import totals as totals
from fairtrial._scan.solver.two_way import WideSearch as WideSearch
from fairtrial._scan.solver.two_way import best_in_tables as best_in_tables
from fairtrial._scan.solver.two_way import pairs_of as pairs_of
from fairtrial._scan.solver.two_way import two_way_tables as two_way_tables
from fairtrial._scan.solver.value_sets import Attribute as Attribute
from fairtrial._scan.solver.value_sets import Direction as Direction
from fairtrial._scan.solver.value_sets import attributes_of as attributes_of
from fairtrial._scan.solver.value_sets import subgroup_count as subgroup_count
from fairtrial._scan.solver.value_sets import usual_price as usual_price
from fairtrial._scan.subgroups import selected_rate_interval as selected_rate_interval

matched_stratified = fairtrial._scan.solver.matched.stratified
