"""What commands take from ``rankgate.toml``, and ``rankgate config``, which shows it."""
