"""Click models: what clicks show about documents, and how users look at lists."""
