"""What the tests, the board and the side trees use of watch beside the public names."""

from fairtrial._watch import sentences as sentences
from fairtrial._watch.monitor import Monitor as Monitor
from fairtrial._watch.request import WatchRequest as WatchRequest
from fairtrial._watch.state_file import StateFile as StateFile
from fairtrial._watch.state_file import _hash as _hash
from fairtrial._watch.state_file import _line as _line
from fairtrial._watch.state_file import open_state as open_state
from fairtrial._watch.state_file import to_arrays as to_arrays
from fairtrial._watch.updating import Options as Options
from fairtrial._watch.updating import question as question
