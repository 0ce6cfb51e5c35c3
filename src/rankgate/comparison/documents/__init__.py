"""Documents of comparison results."""
