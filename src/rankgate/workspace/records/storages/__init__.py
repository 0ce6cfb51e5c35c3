"""Storages of records: a folder of a repository, a store, or a server."""
