"""Documents in all their forms: text, Markdown, LaTeX, CSV, JSON, HTML, without any capability."""
