"""Metrics of relevant and non-relevant documents in a ranking, one small file per family."""
