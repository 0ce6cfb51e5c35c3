"""Who works with a store: users, raters, sessions, tokens, the audit log."""
