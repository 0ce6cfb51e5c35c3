"""The Python verbs of evaluation."""
