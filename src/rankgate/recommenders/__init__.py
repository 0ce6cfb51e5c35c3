"""Splits of interaction logs, and scorecards: accuracy, coverage, novelty, diversity, fairness."""
