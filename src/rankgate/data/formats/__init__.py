"""File formats: one file for each, with what their readers and writers share."""
