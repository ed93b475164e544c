"""Rates from counts: intervals, gaps, exact tails, small tables."""
