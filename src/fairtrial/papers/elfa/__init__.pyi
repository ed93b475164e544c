# What `fairtrial.papers.elfa.X` finds, on first use.
from ._gaps import bartlett_factor as bartlett_factor
from ._gaps import known_log_ratio as known_log_ratio
from ._gaps import paper_gaps as paper_gaps
from ._intervals import IntervalBands as IntervalBands
from ._intervals import interval_bands as interval_bands
from ._plug_in import plug_in_test as plug_in_test
from ._plug_in import vector_log_ratio as vector_log_ratio
from ._region import region_test as region_test
from ._reproduce import reproduce as reproduce
from .method import PaperCertificate as PaperCertificate
from .method import PaperFlags as PaperFlags
from .method import certify as certify
from .method import flag as flag
