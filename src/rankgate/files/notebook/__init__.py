"""The Python verbs of files."""
