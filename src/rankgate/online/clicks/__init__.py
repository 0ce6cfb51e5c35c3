"""Click models: what clicks say of documents, and of how users look at lists."""
