"""UMBRELA's requests and judgments."""
