"""The pictures of explanation."""
