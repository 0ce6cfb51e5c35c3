"""Requests to servers: templates, secrets, transport, threads."""
