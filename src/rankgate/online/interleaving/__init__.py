"""Mix the lists of two or more systems, and read from clicks which one users prefer."""
