"""Means of real values: empirical likelihood, moments, other treatments of a target."""
