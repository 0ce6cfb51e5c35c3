"""The web server of a store: pages for rating and management, and the REST API."""
