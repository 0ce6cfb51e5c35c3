"""The commands ``rankgate online …``."""
