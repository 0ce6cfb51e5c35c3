"""Pools of documents to judge, samples of pools, and the documents that pools miss."""
