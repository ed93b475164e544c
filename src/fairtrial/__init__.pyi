# The public names: what `fairtrial.X` finds, on first use (see __init__.py), and what type checkers see.
from .data.audit import Audit as Audit
from .datasets import load as load
from .errors import FairtrialError as FairtrialError
from .errors import FairtrialWarning as FairtrialWarning
from .errors import InputError as InputError
from .methods.certify.method import certify as certify
from .methods.certify.result import CertifyResult as CertifyResult
from .methods.declaration import read_result as read_result
from .methods.explain.method import compare as compare
from .methods.explain.method import explain as explain
from .methods.explain.result import CompareResult as CompareResult
from .methods.explain.result import ExplainResult as ExplainResult
from .methods.flag.method import flag as flag
from .methods.flag.result import FlagResult as FlagResult
from .methods.improve.method import improve as improve
from .methods.measure.method import measure as measure
from .methods.measure.result import MeasureResult as MeasureResult
from .methods.plan.method import plan as plan
from .methods.plan.result import PlanResult as PlanResult
from .methods.scan.method import scan as scan
from .methods.scan.method import scan_all as scan_all
from .methods.scan.result import ScanAllResult as ScanAllResult
from .methods.scan.result import ScanResult as ScanResult
from .methods.transport.method import transport as transport
from .metrics.metric import Metric as Metric
from .metrics.table import CRITERIA as CRITERIA
from .metrics.table import METRICS as METRICS
from .metrics.values import role as role
from .results.result import Result as Result
from .trial.record import Trial as Trial
from .trial.running import run as run

__version__: str
