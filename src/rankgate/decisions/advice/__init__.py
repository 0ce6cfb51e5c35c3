"""Recommend metrics and a gate policy for a collection."""
