"""Alignment of rankings with judgments: order, ties, cutoffs, and blocks of whole queries."""
