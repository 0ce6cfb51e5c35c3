"""Pools of documents to judge, samples of them, and what a pool misses."""
