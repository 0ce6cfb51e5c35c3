"""Metrics on rankings that are used together: contexts, calls of agents, sessions, variations."""
