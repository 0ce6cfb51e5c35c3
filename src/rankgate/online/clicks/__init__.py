"""Click models: the relevance of documents, and the attention of users, by clicks on lists."""
