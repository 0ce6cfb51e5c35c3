"""The material of judging: projects, queries, documents."""
