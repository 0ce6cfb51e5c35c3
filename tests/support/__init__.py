"""What several tests need: readers of golden tables, collections, snapshots."""
