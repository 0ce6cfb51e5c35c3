"""Files of OpenSearch's search relevance."""
