"""SearchTweak's files."""
