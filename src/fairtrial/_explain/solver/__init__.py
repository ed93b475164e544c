"""Values of cooperative games and their errors."""
