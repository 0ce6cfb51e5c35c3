"""Runs, judgments and results that the store keeps as blobs."""
