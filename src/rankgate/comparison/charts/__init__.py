"""Charts of comparisons."""
