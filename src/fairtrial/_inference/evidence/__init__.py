"""What a gap can be inferred from."""
