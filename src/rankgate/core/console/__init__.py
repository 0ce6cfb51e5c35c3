"""Shared parts of the command line: options, progress, output. Knows no capability."""
