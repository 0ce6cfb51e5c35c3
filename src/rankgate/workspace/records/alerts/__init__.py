"""Alerts: rules over the recorded history, and the messages that they send."""
