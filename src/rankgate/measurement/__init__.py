"""Measurement of rankings: metrics, statistics, scoring, and the verbs that use them."""
