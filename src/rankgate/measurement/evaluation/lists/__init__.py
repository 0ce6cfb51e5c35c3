"""Inputs of metrics on lists: catalogue, training, top items, resampled users."""
