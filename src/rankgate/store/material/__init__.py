"""What is judged: projects, queries, documents."""
