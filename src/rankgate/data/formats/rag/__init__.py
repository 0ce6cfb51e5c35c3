"""Files of retrieval for language models: contexts, answers with citations, nuggets, agents."""
