"""Search engines: one query in, ranked documents out; snapshots of them as runs."""
