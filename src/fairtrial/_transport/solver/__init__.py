"""The projection's numbers: programs, distances, p-values."""
