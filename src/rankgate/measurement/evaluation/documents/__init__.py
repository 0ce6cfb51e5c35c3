"""Documents of evaluations: tables and sentences."""
