"""The client of a server's REST API, and a project of a server used as one of a store."""

from rankgate.store.client.client import Client

__all__ = ["Client"]
