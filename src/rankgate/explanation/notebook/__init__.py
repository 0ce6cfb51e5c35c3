"""The Python verbs of explanation."""
