"""What unjudged documents could change, and what to judge next."""
