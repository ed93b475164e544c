"""One test over all groups, and the region that belongs to it."""
