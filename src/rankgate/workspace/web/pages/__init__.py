"""What the server does: each handler takes a request and gives a reply."""
