"""Rankings that belong together: what belongs to which task, and the scores of tasks."""
