"""The tables of the store, grouped by their contents; migrations create them."""

from rankgate.store.tables import model_tables, people_tables, rating_tables, record_tables
from rankgate.store.tables.columns import METADATA

__all__ = ["METADATA", "model_tables", "people_tables", "rating_tables", "record_tables"]
