"""Rankings that belong together: the tasks of rankings, and the scores of tasks."""
