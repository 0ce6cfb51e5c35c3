"""How far a difference can be trusted: queries, judgments and engines at once."""
