"""The commands ``record`` and ``history``."""
