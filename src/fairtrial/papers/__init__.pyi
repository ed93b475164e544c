# The papers' rooms: what `fairtrial.papers.X` finds, on first use.
from . import elfa as elfa
