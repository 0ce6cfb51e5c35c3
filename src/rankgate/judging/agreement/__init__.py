"""How far raters agree, and which ratings need a look."""
