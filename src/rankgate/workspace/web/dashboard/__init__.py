"""Pages of recorded results: overview, records, queries, trends and comments."""
