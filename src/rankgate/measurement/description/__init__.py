"""Files described: format, contents, overlap, the share judged."""
