"""What the tests and the board use of unmeasured factors beside the public names."""

from fairtrial._inference.laws.model_gaps import Expected as Expected
from fairtrial._inference.sensitivity import bounds_at as bounds_at
from fairtrial._inference.sensitivity import odds_to_explain as odds_to_explain
from fairtrial._inference.sensitivity import odds_to_move as odds_to_move
from fairtrial._inference.sensitivity import share_to_move as share_to_move
