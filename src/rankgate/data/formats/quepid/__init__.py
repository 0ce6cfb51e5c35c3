"""Quepid's files."""
