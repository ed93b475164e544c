"""Numbers: pure functions on NumPy arrays, in the notation of the papers they cite."""
