"""Commands of evaluations."""
