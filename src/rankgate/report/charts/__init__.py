"""Pictures of results: one kind a file, drawn by Altair, offline, the same bytes every time."""
