"""The questions of a trial, one folder each."""
