"""Charts of results from logs, clicks and experiments."""
