"""The forms of a document: text, Markdown, LaTeX, CSV, JSON and HTML tables."""
