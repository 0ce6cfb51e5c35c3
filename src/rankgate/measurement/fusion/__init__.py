"""Fusion: several runs merged into one, by scores, ranks, votes or trained weights."""
