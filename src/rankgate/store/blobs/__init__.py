"""Runs, judgments and results, which the store keeps as blobs."""
