"""The programs of the TREC web track: ndeval and gdeval."""
