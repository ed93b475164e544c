"""Every number, text and fault of the public functions on fixed inputs, kept while the package is rebuilt."""
