"""Shared parts of the command line: options, progress, output. Depends on no capability."""
