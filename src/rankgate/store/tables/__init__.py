"""The tables of the store, by what they hold; migrations make them."""

from rankgate.store.tables import facts, material, people, results, work
from rankgate.store.tables.columns import METADATA

__all__ = ["METADATA", "facts", "material", "people", "results", "work"]
