"""Search engines, which answer a query with ranked documents, and snapshots of engines as runs."""
