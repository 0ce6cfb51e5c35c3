"""People of a store: users, raters, sessions, tokens, the audit log."""
