"""The commands ``engines`` and ``snapshot``."""
