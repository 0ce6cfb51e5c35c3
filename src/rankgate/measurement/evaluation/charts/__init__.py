"""Charts of evaluations."""
