"""Elasticsearch's ranking evaluation API."""
