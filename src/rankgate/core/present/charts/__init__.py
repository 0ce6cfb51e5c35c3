"""Shared parts of pictures, drawn by Altair, offline, the same bytes every time."""
