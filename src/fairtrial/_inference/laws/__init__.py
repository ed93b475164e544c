"""A group's gap to its target: one estimate, one interval, one test."""
