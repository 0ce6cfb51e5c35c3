"""One page from any result or folder of results, and every kind of picture."""
