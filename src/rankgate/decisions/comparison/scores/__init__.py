"""Values of queries that another tool computed, read from its files."""
