"""From a table to counts and rows: the only part that knows dataframes and files."""
