"""Handlers of the server: each takes a request and gives a reply."""
