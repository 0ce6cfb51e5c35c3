"""Descriptions of files: format, contents, overlap, the share judged."""
