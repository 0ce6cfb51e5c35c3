"""Choose documents to judge next, to settle a comparison at the least cost."""
