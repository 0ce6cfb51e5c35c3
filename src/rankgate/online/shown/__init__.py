"""Lists of results that a log shows, as runs."""
