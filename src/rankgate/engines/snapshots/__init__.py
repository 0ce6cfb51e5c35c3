"""Snapshots: queries asked, answers kept, runs written."""
