"""The Python verbs of reports."""
