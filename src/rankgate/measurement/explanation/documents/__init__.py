"""Documents of explanations: tables and sentences."""
