"""Scheduled jobs: rankgate commands that run on a schedule and record their results."""
