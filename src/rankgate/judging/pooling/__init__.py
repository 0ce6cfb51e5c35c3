"""Pools of documents to judge, samples of pools, and documents missing from pools."""
