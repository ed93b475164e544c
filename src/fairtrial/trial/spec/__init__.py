"""The spec of a trial: one small file from which every number of its report can be made again."""

from fairtrial.trial.spec.load import Spec, load_spec
from fairtrial.trial.spec.sections import METHODS, Method, Section

__all__ = ["METHODS", "Method", "Section", "Spec", "load_spec"]
