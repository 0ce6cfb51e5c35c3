"""The Python verbs of judging."""
