"""The spec of a trial: one small file from which every number of its report can be made again."""

from fairtrial._trial.spec.load import Spec, load_spec
from fairtrial._trial.spec.open_audit import open_audit
from fairtrial._trial.spec.sections import Section

__all__ = ["Section", "Spec", "load_spec", "open_audit"]
