"""Lines, records, cells and JSON: what file formats are made of."""
