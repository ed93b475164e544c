"""Tests of an improvement, splits, exact search."""
