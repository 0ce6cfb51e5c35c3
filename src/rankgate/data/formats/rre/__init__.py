"""Ratings of the Rated Ranking Evaluator (RRE)."""
