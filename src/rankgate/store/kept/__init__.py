"""What is kept as blobs: runs, judgments, results."""
