"""Logs of interactions: read, split, and made into judgments."""
