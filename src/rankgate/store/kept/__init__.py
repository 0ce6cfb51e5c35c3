"""Runs, judgments and results, which are kept as blobs."""
