"""The doors to the inside: one facade per room, so that moving code changes these files and no test."""
