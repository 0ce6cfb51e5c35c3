"""Where records are kept: a folder of a repository, a store, or a server."""
