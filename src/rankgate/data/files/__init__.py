"""Convert, validate and describe files of judgments and runs."""
