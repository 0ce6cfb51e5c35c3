"""The client of a server's REST API, and a server's project with the interface of a stored one."""

from rankgate.store.client.client import Client

__all__ = ["Client"]
