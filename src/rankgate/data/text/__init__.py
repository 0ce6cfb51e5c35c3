"""Lines, records, cells and JSON: the parts of file formats."""
