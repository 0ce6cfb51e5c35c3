"""Judging with a store: import, export, batches, ratings and judgments."""
