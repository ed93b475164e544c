"""Cells too small to judge alone: what can be said of each, of a list of them, and of all together."""
