"""Drop-in replacements for the APIs of other libraries."""
