"""Every call of the snapshot."""

from __future__ import annotations

from snapshot.case import Case
from snapshot.cases_gaps import certify_cases, flag_cases, measure_cases, plan_cases
from snapshot.cases_models import explain_cases, improve_cases
from snapshot.cases_outputs import command_cases, frame_cases, run_cases, text_cases
from snapshot.cases_search import scan_cases, transport_cases
from snapshot.faults_data import audit_faults
from snapshot.faults_groups import group_faults, scan_faults
from snapshot.faults_models import explain_faults, improve_faults, spec_faults, transport_faults


def all_cases() -> list[Case]:
    """Every case in order; names are unique."""
    makers = (
        measure_cases, certify_cases, flag_cases, plan_cases, scan_cases, transport_cases, explain_cases, improve_cases,
        frame_cases, text_cases, run_cases, command_cases, audit_faults, group_faults, scan_faults, transport_faults,
        explain_faults, improve_faults, spec_faults,
    )  # fmt: skip
    found: dict[str, Case] = {}
    for maker in makers:
        for case in maker():
            if case.name in found:
                raise ValueError(f"two cases are named {case.name!r}")
            found[case.name] = case
    return list(found.values())
