"""Scheduled jobs: commands of rankgate that run by the clock, and record what they find."""
