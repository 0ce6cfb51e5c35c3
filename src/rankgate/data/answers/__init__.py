"""Answers of search engines: documents, failures, and the JSON paths of each product."""
