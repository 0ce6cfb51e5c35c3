"""TREC files and their relatives: fields between blanks."""
