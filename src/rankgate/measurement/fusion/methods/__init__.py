"""Fusion methods, a small function each: by scores, by ranks, by votes, and trained ones."""
