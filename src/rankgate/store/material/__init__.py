"""The data to judge: projects, queries and documents."""
