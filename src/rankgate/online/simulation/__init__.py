"""Clicks that are simulated: by declared users, or by a click model that was learned from a log."""
