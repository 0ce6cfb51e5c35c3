"""Inter-annotator agreement, and ratings that need a check."""
