"""Judging with a store: files brought in and out, batches, ratings and judgments."""
