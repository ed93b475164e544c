"""Root finding, resampling of cells, logistic regression."""
