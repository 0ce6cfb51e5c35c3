"""Logs of searches, impressions, clicks and sales as one table of events."""
