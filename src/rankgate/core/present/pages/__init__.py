"""HTML pages and notebook output: parts, styles and scripts."""
