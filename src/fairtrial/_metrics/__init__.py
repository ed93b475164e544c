"""What is compared: roles, metrics and criteria, groups and targets as values."""
