"""Reports from one or more results, and all kinds of charts."""
