"""Alerts: rules over the recorded history, and the messages of alerts."""
