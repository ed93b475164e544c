"""Seeded fuzzers: odd calls and odd files get the right answer or one clear fault, never a foreign error."""
