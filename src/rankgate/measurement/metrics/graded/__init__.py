"""Metrics that weigh grades: discounted gain and models of how people read a ranking."""
