"""The scan's numbers: scores, search, null draws."""
