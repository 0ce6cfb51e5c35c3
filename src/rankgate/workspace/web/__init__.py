"""The server of a store: pages where people rate and manage, and the same as a REST API."""
