"""Defaults from ``rankgate.toml``, and ``rankgate config``, which shows them."""
