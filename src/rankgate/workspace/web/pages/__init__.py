"""Handlers of the server: functions from a request to a reply."""
