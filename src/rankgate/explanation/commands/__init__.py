"""The commands of explanation."""
