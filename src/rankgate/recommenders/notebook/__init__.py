"""The Python verbs of recommenders."""
