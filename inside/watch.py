"""What the tests, the board and the side trees use of watch beside the public names."""

from fairtrial.methods.watch import sentences as sentences
from fairtrial.methods.watch.asked import Asked as Asked
from fairtrial.methods.watch.monitor import Monitor as Monitor
from fairtrial.methods.watch.snapshot import to_arrays as to_arrays
from fairtrial.methods.watch.state_file import StateFile as StateFile
from fairtrial.methods.watch.state_file import _hash as _hash
from fairtrial.methods.watch.state_file import _line as _line
from fairtrial.methods.watch.state_file import open_state as open_state
from fairtrial.methods.watch.updating import Options as Options
from fairtrial.methods.watch.updating import question as question
