"""Effects of unjudged documents on a comparison, and documents to judge next."""
