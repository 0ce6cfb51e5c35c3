"""The work of raters: batches, tasks, ratings, preferences."""
