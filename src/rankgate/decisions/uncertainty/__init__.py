"""Total error of a difference over queries, judgments and snapshots."""
